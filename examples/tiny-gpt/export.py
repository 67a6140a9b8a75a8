# SPDX-License-Identifier: Apache-2.0
"""Writes the trained weights as GGUF, the file that llama.cpp serves.

train.py calls write_gguf at its end; by hand: export.py FOLDER FILE, FOLDER being a complete
checkpoint or the outputs of a finished run. Weights stay float32: the served model then computes
what the trainer does.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import gguf

import tensors
from model import Config, TinyGpt
from text import END_OF_TEXT

# A base model, not tuned to talk: a conversation is rendered as its plain lines.
CHAT_TEMPLATE = "{% for message in messages %}{{ message.content }}\n{% endfor %}"


def add_architecture(writer: gguf.GGUFWriter, c: Config) -> None:
    writer.add_name("tiny-gpt")
    writer.add_context_length(c.context)
    writer.add_embedding_length(c.width)
    writer.add_block_count(c.layers)
    writer.add_feed_forward_length(c.hidden)
    writer.add_head_count(c.heads)
    writer.add_head_count_kv(c.kv_heads)
    writer.add_layer_norm_rms_eps(c.norm_epsilon)
    writer.add_rope_dimension_count(c.head_width)
    writer.add_rope_freq_base(c.rope_base)
    writer.add_vocab_size(c.vocabulary)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def token_type(token: str, learnt: bool) -> gguf.TokenType:
    if not learnt:
        return gguf.TokenType.UNUSED
    return gguf.TokenType.CONTROL if token == END_OF_TEXT else gguf.TokenType.NORMAL


def add_tokenizer(writer: gguf.GGUFWriter, tokenizer: dict[str, Any], vocabulary: int) -> None:
    names = {index: token for token, index in tokenizer["model"]["vocab"].items()}
    tokens = [names.get(i, f"<unused{i}>") for i in range(vocabulary)]
    merges = tokenizer["model"]["merges"]
    end = tokenizer["model"]["vocab"][END_OF_TEXT]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([token_type(token, i in names) for i, token in enumerate(tokens)])
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    writer.add_bos_token_id(end)
    writer.add_eos_token_id(end)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def write_gguf(path: Path, net: TinyGpt, tokenizer: dict[str, Any]) -> None:
    """tokenizer: the parsed tokenizer.json. The file appears whole or not at all."""
    draft = path.with_name(path.name + ".tmp")
    writer = gguf.GGUFWriter(draft, "llama")
    add_architecture(writer, net.config)
    add_tokenizer(writer, tokenizer, net.config.vocabulary)
    for name, weight in net.state_dict().items():
        writer.add_tensor(name, weight.detach().float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    draft.replace(path)


def load(folder: Path) -> tuple[TinyGpt, dict[str, Any]]:
    net = TinyGpt(Config())
    net.load_state_dict(tensors.read_tensors(folder / "weights.safetensors"))
    return net, json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))


def main() -> None:
    p = argparse.ArgumentParser(description="Write trained weights as GGUF.", allow_abbrev=False)
    p.add_argument("folder", type=Path, help="complete checkpoint, or outputs of a finished run")
    p.add_argument("file", type=Path, help="GGUF file to write")
    arguments = p.parse_args()
    write_gguf(arguments.file, *load(arguments.folder))
    print(f"{arguments.file}: {arguments.file.stat().st_size} bytes")


if __name__ == "__main__":
    main()

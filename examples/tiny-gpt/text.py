# SPDX-License-Identifier: Apache-2.0
"""Text to tokens to batches.

The tokenizer is a byte-level BPE with GPT-2's splitting rule, which llama.cpp knows as model
"gpt2", pre-tokenizer "gpt-2". A batch is a function of (seed, step, rank) alone: a run that goes on
from a checkpoint sees the very batches that the uninterrupted one sees.
"""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor

END_OF_TEXT = "<|endoftext|>"


def make_tokenizer(text: str, vocabulary: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def read_text(path: Path, characters_min: int = 10_000) -> str:
    text = path.read_text(encoding="utf-8")
    if len(text) < characters_min:
        raise ValueError(
            f"--text: {path} must have at least {characters_min} characters, has {len(text)}"
        )
    return text


def draw_batch(
    tokens: Tensor, context: int, size: int, seed: int, step: int, rank: int
) -> tuple[Tensor, Tensor]:
    """Returns inputs and targets, each (size, context)."""
    generator = torch.Generator().manual_seed((seed * 1_000_003 + step) * 1_009 + rank)
    starts = torch.randint(0, len(tokens) - context - 1, (size,), generator=generator).tolist()
    inputs = torch.stack([tokens[s : s + context] for s in starts])
    targets = torch.stack([tokens[s + 1 : s + context + 1] for s in starts])
    return inputs, targets

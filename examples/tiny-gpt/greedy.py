# SPDX-License-Identifier: Apache-2.0
"""The trainer's own greedy continuation: what a server of the exported weights must answer at
temperature 0.

Prints one JSON line a prompt: {"prompt", "text", "tokens", "margin"}. The margin is the smallest
distance between the best and the second-best logit on the way; where it is near 0, two right
programs may differ by rounding alone, so compare prompts whose margin is not small.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from tokenizers import Tokenizer

from export import load
from model import TinyGpt


@torch.no_grad()
def continue_greedily(net: TinyGpt, ids: list[int], count: int) -> tuple[list[int], float]:
    """Returns the new ids and the smallest margin."""
    margin, start = float("inf"), len(ids)
    for _ in range(count):
        best = net(torch.tensor([ids[-net.config.context :]]))[0, -1].topk(2)
        margin = min(margin, (best.values[0] - best.values[1]).item())
        ids = ids + [int(best.indices[0])]
    return ids[start:], margin


def main() -> None:
    p = argparse.ArgumentParser(description="Continue prompts greedily.", allow_abbrev=False)
    p.add_argument("folder", type=Path, help="complete checkpoint, or outputs of a finished run")
    p.add_argument("--tokens", type=int, default=24)
    p.add_argument("prompts", nargs="+")
    arguments = p.parse_args()
    torch.set_num_threads(1)
    net, tokenizer_json = load(arguments.folder)
    tokenizer = Tokenizer.from_str(json.dumps(tokenizer_json))
    for prompt in arguments.prompts:
        new, margin = continue_greedily(net, tokenizer.encode(prompt).ids, arguments.tokens)
        line = {
            "prompt": prompt,
            "text": tokenizer.decode(new),
            "tokens": len(new),
            "margin": round(margin, 4),
        }
        print(json.dumps(line))


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""A tiny language model of llama's shape: RMS norm, rotary positions, grouped queries, SwiGLU.

It has llama's shape so that its weights can be written as GGUF and served by llama.cpp as they are
(export.py). Attention is written out because PyTorch 1.13 has no fused one. Rotary positions turn
neighbouring pairs (2i, 2i+1), which is llama.cpp's order for this architecture: no permutation at
export.
"""

from __future__ import annotations

import dataclasses
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclasses.dataclass(frozen=True)
class Config:
    vocabulary: int = 512
    context: int = 256
    width: int = 64
    layers: int = 2
    heads: int = 2
    kv_heads: int = 1
    hidden: int = 192
    norm_epsilon: float = 1e-5
    rope_base: float = 10000.0

    @property
    def head_width(self) -> int:
        return self.width // self.heads


class RmsNorm(nn.Module):
    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x: (batch, heads, positions, head width)."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    positions = q.shape[-2]
    future = torch.ones(positions, positions, dtype=torch.bool).triu(1)
    scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    return scores.masked_fill(future, float("-inf")).softmax(-1) @ v


class Block(nn.Module):
    def __init__(self, c: Config) -> None:
        super().__init__()
        self.c = c
        kv_width = c.head_width * c.kv_heads
        self.attn_norm = RmsNorm(c.width, c.norm_epsilon)
        self.attn_q = nn.Linear(c.width, c.width, bias=False)
        self.attn_k = nn.Linear(c.width, kv_width, bias=False)
        self.attn_v = nn.Linear(c.width, kv_width, bias=False)
        self.attn_output = nn.Linear(c.width, c.width, bias=False)
        self.ffn_norm = RmsNorm(c.width, c.norm_epsilon)
        self.ffn_gate = nn.Linear(c.width, c.hidden, bias=False)
        self.ffn_up = nn.Linear(c.width, c.hidden, bias=False)
        self.ffn_down = nn.Linear(c.hidden, c.width, bias=False)

    def split_heads(self, x: Tensor, heads: int) -> Tensor:
        return x.view(x.shape[0], x.shape[1], heads, self.c.head_width).transpose(1, 2)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        c, shared_by = self.c, self.c.heads // self.c.kv_heads
        h = self.attn_norm(x)
        q = rotate(self.split_heads(self.attn_q(h), c.heads), cos, sin)
        k = rotate(self.split_heads(self.attn_k(h), c.kv_heads), cos, sin)
        v = self.split_heads(self.attn_v(h), c.kv_heads)
        attended = attend(q, k.repeat_interleave(shared_by, 1), v.repeat_interleave(shared_by, 1))
        x = x + self.attn_output(attended.transpose(1, 2).reshape(x.shape))
        h = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))


class TinyGpt(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.token_embd = nn.Embedding(config.vocabulary, config.width)
        self.blk = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.output_norm = RmsNorm(config.width, config.norm_epsilon)
        self.output = nn.Linear(config.width, config.vocabulary, bias=False)
        pairs = torch.arange(0, config.head_width, 2).float() / config.head_width
        angles = torch.outer(torch.arange(config.context).float(), config.rope_base**-pairs)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.08)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens: (batch, positions) -> logits: (batch, positions, vocabulary)."""
        positions = tokens.shape[1]
        x = self.token_embd(tokens)
        for block in self.blk:
            x = block(x, self.cos[:positions], self.sin[:positions])
        return self.output(self.output_norm(x))

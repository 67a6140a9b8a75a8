# SPDX-License-Identifier: Apache-2.0
"""What the ride says: numbered steps with their why and their time, the commands typed, and what
came of them."""

from __future__ import annotations

import contextlib
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence

WIDTH = 100


class Narrator:
    def __init__(self) -> None:
        self.started = time.monotonic()
        self.number = 0
        self.colour = sys.stdout.isatty()

    def paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def line(self, text: str = "") -> None:
        print(text, flush=True)

    @contextlib.contextmanager
    def step(self, title: str, why: str) -> Iterator[None]:
        self.number += 1
        started = time.monotonic()
        self.line()
        self.line(self.paint("1", f"{self.number}. {title}"))
        for line in textwrap.wrap(why, WIDTH - 3):
            self.line(f"   {line}")
        yield
        self.line(self.paint("2", f"   took {time.monotonic() - started:.1f} s"))

    def command(self, words: Sequence[str]) -> None:
        self.line(self.paint("36", f"   $ {' '.join(words)}"))

    def result(self, text: str) -> None:
        for line in text.rstrip().splitlines():
            self.line(f"     {line}")

    def table(self, title: str, rows: Sequence[tuple[str, str]]) -> None:
        self.line()
        self.line(self.paint("1", title))
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            self.line(f"   {name.ljust(width)}  {value}")

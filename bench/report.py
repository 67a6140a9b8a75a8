# SPDX-License-Identifier: Apache-2.0
"""Rows of measurements, as JSON and as a table; used by every bench/NAME/run.py.

A row has the keys measure, value, unit, bar, met, peer, peer_value, ratio, setup. `bar` is text: "<= 300", ">= 4000",
or with a trailing "x" ("<= 2.5 x") when it is the ratio to the peer that is judged. `met` is null without a bar.
`ratio` is value / peer_value. `peer` names what was measured beside it in the same run: another program or a raw limit.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import platform
import re
import sys

KEYS = ("measure", "value", "unit", "bar", "met", "peer", "peer_value", "ratio", "setup")


@dataclasses.dataclass(frozen=True)
class Row:
    measure: str
    value: float | None
    unit: str
    bar: str | None = None
    met: bool | None = None
    peer: str | None = None
    peer_value: float | None = None
    ratio: float | None = None
    setup: str = ""


def judge(bar: str | None, value: float | None, ratio: float | None) -> bool | None:
    """Whether a bar is met. A value that could not be measured meets no bar."""
    if bar is None:
        return None
    match = re.fullmatch(r"(<=|>=)\s*([\d.]+)(\s*x)?", bar)
    if not match:
        raise ValueError(f"bar must read like '<= 300' or '>= 0.5 x', is {bar!r}")
    judged = ratio if match[3] else value
    if judged is None:
        return False
    return judged <= float(match[2]) if match[1] == "<=" else judged >= float(match[2])


def make_row(measure, value, unit, *, bar=None, peer=None, peer_value=None, setup=None) -> Row:
    ratio = value / peer_value if value is not None and peer_value else None
    return Row(measure, value, unit, bar, judge(bar, value, ratio), peer, peer_value, ratio,
               machine() if setup is None else setup)


def machine() -> str:
    """What a reader needs to compare figures: cores, processor, memory, kernel, load."""
    def first(path, pattern, default="?"):
        match = re.search(pattern, pathlib.Path(path).read_text()) if pathlib.Path(path).exists() else None
        return match[1].strip() if match else default
    processor = first("/proc/cpuinfo", r"model name\s*:(.*)")
    memory = int(first("/proc/meminfo", r"MemTotal:\s*(\d+)", "0")) // (1 << 20)
    return (f"{os.cpu_count()} cores ({processor}), {memory} GiB, Linux {platform.release()}, "
            f"load {os.getloadavg()[0]:.1f}")


def number(value: float | None) -> str:
    if value is None:
        return "-"
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def table(rows: list[Row]) -> str:
    head = ["measure", "value", "bar", "", "peer", "ratio"]
    lines = [[row.measure, f"{number(row.value)} {row.unit}".strip(), row.bar or "",
              {True: "met", False: "NOT MET", None: ""}[row.met],
              f"{row.peer} {number(row.peer_value)}" if row.peer else "", number(row.ratio) if row.ratio is not None else ""]
             for row in rows]
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in [head, *lines]]
    setups = list(dict.fromkeys(row.setup for row in rows if row.setup))
    return "\n".join([text[0], "-" * len(text[0]), *text[1:], *(f"on: {setup}" for setup in setups)])


class Report:
    """Collects rows: say() what is going on, add() each figure, finish() once."""

    def __init__(self, name: str, json_path: str | None = None):
        self.name, self.json_path, self.rows = name, json_path, []

    def say(self, text: str) -> None:
        print(f"   {text}", flush=True)

    def add(self, measure, value, unit, **more) -> Row:
        row = make_row(measure, value, unit, **more)
        self.rows.append(row)
        self.say(f"{measure}: {number(value)} {unit}")
        return row

    def finish(self) -> int:
        """Writes and shows the rows. Exit status 0 as long as everything could be measured, met or not."""
        print("\n" + table(self.rows))
        if self.json_path:
            text = json.dumps([dataclasses.asdict(row) for row in self.rows], indent=2)
            pathlib.Path(self.json_path).write_text(text + "\n")
            print(f"rows: {self.json_path}")
        return 1 if not self.rows or any(row.value is None for row in self.rows) else 0


def parser(description: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--json", metavar="FILE", help="also write the rows there")
    return made


if __name__ == "__main__":
    sys.exit("report.py is a library; run ./dev bench")

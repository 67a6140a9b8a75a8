# SPDX-License-Identifier: Apache-2.0
"""Witnesses outside of the product: tasks append what they did to files, and the ledger's rows are read with sqlite3.

A task writes one line at each turn: `start TASK PID`, then `end TASK PID` when it is through, or `term TASK PID` when it was told
to stop. TASK is generation, job, epoch and rank, so that a second start of the same one stands in the file twice.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    what: str
    task: str
    pid: int

    @property
    def epoch(self) -> int:
        return int(self.task.split("-")[2][1:])

    @property
    def rank(self) -> int:
        return int(self.task.split("-")[3][1:])


def command(folder: Path, work: str) -> list[str]:
    """A task that runs `work` between its lines. The trap runs once the command in front has died of the same signal."""
    say = f'echo "$1 $TANDEM_TASK $$" >> "{folder}/$TANDEM_JOB"'
    return ["sh", "-c", f"say() {{ {say}; }}; trap 'say term; exit 143' TERM; say start; {work}; say end"]


def read(folder: Path) -> dict[str, list[Line]]:
    """Job -> lines."""
    found = {}
    for path in folder.iterdir():
        rows = [line.split() for line in path.read_text().splitlines()]
        found[path.name] = [Line(row[0], row[1], int(row[2])) for row in rows if len(row) == 3]
    return found


def started_twice(folder: Path) -> list[str]:
    twice = []
    for lines in read(folder).values():
        starts = [line.task for line in lines if line.what == "start"]
        twice += sorted({task for task in starts if starts.count(task) > 1})
    return twice


def ledger_faults(database: Path) -> list[str]:
    """At each moment, from a device's first interval to its last, what is booked on it is exactly one device."""
    store = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    end = store.execute("SELECT time_ms FROM meta").fetchone()[0]
    columns = "node, device, milli, from_ms, to_ms, state, owner_name"
    rows = store.execute(f"SELECT {columns} FROM usage WHERE device >= 0 AND node != ''").fetchall()
    rows += [
        (*row[:4], end, *row[5:])
        for row in store.execute(f"SELECT {columns} FROM open_intervals WHERE device >= 0 AND node != ''").fetchall()
    ]
    store.close()
    steps: dict[tuple[str, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for node, device, milli, begin, until, _state, _owner in rows:
        steps[node, device][begin] += milli
        steps[node, device][max(begin, until)] -= milli
    faults = [] if rows else ["the ledger has no interval on any device"]
    for (node, device), changes in sorted(steps.items()):
        booked = 0
        moments = sorted(changes)
        for moment in moments[:-1]:
            booked += changes[moment]
            if booked != 1000:
                faults.append(f"device {device} of {node}: {booked} of 1000 booked from {moment} on")
                break
    return faults

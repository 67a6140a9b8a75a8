#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scheduler: plans of the engine alone on 10,000 nodes, and what a real server makes of them, beside published figures.

Engine rows are processor time of the one thread of a program without a store and an API (engine.cc says what each is
measured on).
Peers' figures are those they publish; what each of them includes stands in docs/performance.md.
"""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINARIES = pathlib.Path(os.environ.setdefault("TANDEM_BIN", str(ROOT / "build/release/bin")))
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/support")]
import report  # noqa: E402

TEN_THOUSAND = "10,000 nodes x 8"
# row -> measure, unit, bar, peer, the peer's figure, what it is measured on
ENGINE = {
    "place_singles": ("engine: placements of single devices", "placements/s", ">= 500000", "Armada, 16 threads, in memory", 53_000,
                      f"{TEN_THOUSAND}, 3-level tree, 50 leaves, 20 shapes, a label each, device ids, undo log on; one plan"),
    "place_singles_as_core": ("engine: the same in batches of 1,000 as core drives it", "placements/s", None, None, None,
                              "with demands, entries and occupants put, and the log forgotten after each batch"),
    "gang_busy_nodes": ("engine: gang of 1,000 x 8, 80 % of nodes busy, p99", "ms", "<= 5", "kube-scheduler, 3 x 1,000 pods", 1_000, TEN_THOUSAND),
    "gang_busy_devices": ("engine: gang of 1,000 x 8, 80 % of devices busy at random, proved no, p99", "ms", "<= 5", None, None, TEN_THOUSAND),
    "proved_hopeless": ("engine: 80 devices, proved not to fit even with preemption, p99", "ms", "<= 5", "KAI, 500 nodes", 249_500,
                        f"{TEN_THOUSAND}, no quota, one device of each node held by work that is never preempted"),
    "reclaim_all": ("engine: 4,000 victims for 4,000 that wait, to the last claim", "ms", "<= 50", "KAI, whole cycle", 59_300,
                    "500 nodes, eviction rates not limited"),
    "nothing_woken": ("engine: 100,000 wait, nothing woken, p99", "ms", "<= 0.2", None, None, TEN_THOUSAND),
    "all_awake": ("engine: 100,000 wait, all 50,000 classes looked at again", "ms", "<= 50", None, None, f"{TEN_THOUSAND}, 1,000 shapes x 50 queues"),
    "backfill": ("engine: backfill over 100,000 that wait, exact times", "ms", "<= 100", "Slurm, 500 jobs a pass, 60 s steps", 30_000,
                 f"{TEN_THOUSAND}, 79,000 run with a stated end each and are not preempted; in 50 queues a gang of 1,000 x 8 before 2,000 others"),
    "why": ("engine: why, p99", "ms", "<= 1", None, None, f"{TEN_THOUSAND}, 2,000 of 100,000 that wait, in 1,000 shapes"),
    "why_proved": ("engine: that wait and have a proved verdict", "%", ">= 100", None, None, f"{TEN_THOUSAND}, 2,000 asked of 100,000 that wait"),
}


def bench_engine(rows: report.Report, only: list[str]) -> None:
    """`only`: rows of the engine; empty: all."""
    ran = subprocess.run([BINARIES / "sched-engine", *only], capture_output=True, text=True, timeout=600)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    for line in ran.stdout.splitlines():
        row, value, detail = line.split(" ", 2)
        measure, unit, bar, peer, peer_value, setup = ENGINE[row]
        rows.add(measure, float(value), unit, bar=bar, peer=peer, peer_value=peer_value, setup=f"{report.machine()}; {setup}; {detail}")


def main() -> int:
    parser = report.parser(__doc__.split("\n")[0])
    parser.add_argument("--only", choices=("engine",), action="append")
    parser.add_argument("--row", action="append", default=[], help="of the engine; default: all")
    given = parser.parse_args()
    rows = report.Report("sched", given.json)
    wanted = given.only or ("engine",)
    if "engine" in wanted:
        bench_engine(rows, given.row)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())

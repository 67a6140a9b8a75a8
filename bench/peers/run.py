#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers: the same work for Slurm and for Tandem's own server, on this machine, one after the other.

Slurm is Debian's, with real daemons on loopback; where it is not installed the bench installs it (it says so, and how
large it is, first). Tandem is bench/sched/stage_server: REST, store and fsync included, tasks are timers. docs/performance.md
says what may be compared and what not.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import report  # noqa: E402
import slurm  # noqa: E402
from peers_bench import bench_slurm, bench_tandem, work_of  # noqa: E402

def tell(rows: report.Report, tandem: dict, peer: dict, setup: str) -> None:
    """Tandem's figure, and Slurm's beside it."""
    named = lambda name: {"peer": "Slurm 22.05", "peer_value": peer[name], "setup": setup}  # noqa: E731
    rows.add("the whole work, from the first submission to the last end", tandem["wall"], "s", **named("wall"))
    rows.add("placements until the last start", tandem["placements"], "jobs/s", **named("placements"))
    rows.add("devices in use", tandem["utilisation"], "%", **named("utilisation"))
    rows.add("mean wait", tandem["wait_mean"], "s", **named("wait_mean"))
    rows.add("95 % wait at most", tandem["wait_p95"], "s", **named("wait_p95"))
    own, controller = tandem["cpu"]["scheduler"], peer["cpu"]["scheduler"]
    rows.add("CPU of the server (Slurm: slurmctld) for each 1,000 jobs", 1000 * own / tandem["jobs"], "s",
             peer="Slurm 22.05", peer_value=1000 * controller / peer["jobs"], setup=setup)


def main() -> int:
    parser = report.parser(__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--devices", type=int, default=8, help="of each node")
    parser.add_argument("--jobs", type=int, default=600)
    given: argparse.Namespace = parser.parse_args()
    rows = report.Report("peers", given.json)
    if slurm.missing():
        slurm.install(rows.say)
    work = work_of(given.jobs, rounds=3)
    least = sum(devices * seconds * count for devices, seconds, count in work) / (given.nodes * given.devices)
    setup = (f"{report.machine()}; {given.nodes} nodes x {given.devices}, {sum(count for _, _, count in work)} jobs of 1 to 8 devices for 1 to 4 s,"
             f" submitted at once; {least:.1f} s if every device worked all the time")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tandem-peers-"))
    try:
        rows.say("Slurm")
        peer = bench_slurm(folder / "slurm", given.nodes, given.devices, work)
        rows.say("Tandem")
        tandem = bench_tandem(folder / "tandem", given.nodes, given.devices, work)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    tell(rows, tandem, peer, setup)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())

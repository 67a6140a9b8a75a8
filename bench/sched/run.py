#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scheduler: plans of the engine alone on 10,000 nodes, and what a real server makes of them, beside published figures.

Engine rows are processor time of the one thread of a program without a store and an API (engine.cc says what each is
measured on).
Peers' figures are those they publish; what each of them includes stands in docs/performance.md.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BINARIES = pathlib.Path(os.environ.setdefault("TANDEM_BIN", str(ROOT / "build/release/bin")))
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/support")]
import report  # noqa: E402
from rest import Rest  # noqa: E402

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


# ---- a real server over tasks that are timers ----

class Stage:
    """stage-server in a folder; `with Stage(...) as stage:`. Its tasks are kept over stop() and start()."""

    def __init__(self, folder: pathlib.Path, nodes: int, devices: int, flavor: str):
        self.home = folder
        self.words = [str(BINARIES / "stage-server"), str(folder), str(nodes), str(devices), flavor]
        self.process: subprocess.Popen | None = None
        self.port = 0

    def start(self) -> float:
        """Seconds from exec to serving."""
        self.home.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("ready "):
            raise RuntimeError("stage-server did not start")
        self.port = int(line.split()[1])
        self.key = (self.home / "admin.key").read_text().strip()
        self.rest = Rest(f"http://127.0.0.1:{self.port}", self.key)
        return time.monotonic() - begun

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)

    def resident_mb(self) -> float:
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("no such process")

    def devices_used(self) -> int:
        return sum(line["usedMilli"] for line in self.rest.get("/api/v1/pools-view")["items"]) // 1000

    def __enter__(self) -> "Stage":
        self.start()
        return self

    def __exit__(self, *_) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)


JOBS = "/api/v1/projects/default/namespaces/default/jobs"


def load(stage: Stage, words: list) -> list[float]:
    ran = subprocess.run([str(word) for word in words], env=os.environ | {"TANDEM_API_KEY": stage.key}, capture_output=True, text=True, timeout=900)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return [float(word) for word in ran.stdout.split()]


def bench_api(rows: report.Report, folder: pathlib.Path) -> None:
    """From the first request until the last of the jobs is placed and stored as started."""
    with Stage(folder / "api", 5000, 16, "cpu-slice") as stage:
        load(stage, [BINARIES / "submit-load", "127.0.0.1", stage.port, 2, 0.5, 1000, "warm-"])
        version = stage.rest.get(JOBS, limit=1)["metadata"]["resourceVersion"]
        before = stage.devices_used()
        begun = time.monotonic()
        accepted, took, refused, p50, p99 = load(stage, [BINARIES / "submit-load", "127.0.0.1", stage.port, 2, 3, 1000, "job-"])
        while stage.devices_used() < before + accepted:
            if time.monotonic() - begun > 120:
                raise RuntimeError("not all jobs were placed")
            time.sleep(0.05)
        placed = time.monotonic() - begun
        stage.stop()
        raw = folder / "raw.db"
        ran = subprocess.run([BINARIES / "raw-commits", stage.home / "tandem.db", raw, str(version)], capture_output=True, text=True, timeout=300)
        raw.unlink(missing_ok=True)
    raw_rate = None
    if ran.returncode == 0:
        submissions, _, seconds = map(float, ran.stdout.split())
        raw_rate = submissions / seconds
    setup = (f"{report.machine()}; 5,000 nodes, {accepted:,.0f} jobs in batches of 1,000 full documents, {refused:.0f} refused, a request p50"
             f" {p50:.0f} ms p99 {p99:.0f} ms; load on the same machine; accepted at {accepted / took:,.0f}/s")
    rows.add("server: API to durable placement, single devices", accepted / placed, "jobs/s", bar=">= 20000",
             peer="Nomad, 5 servers", peer_value=3750, setup=setup)
    rows.add("server: the same, accepted and stored, to raw", accepted / took, "jobs/s", peer="raw loop, same rows and transactions",
             peer_value=raw_rate, setup=setup)


KUEUE = {"baseline": ("<= 72", 351), "large-scale": ("<= 8", 1179), "tas": ("<= 76", 401)}


def bench_kueue(rows: report.Report, folder: pathlib.Path, data: pathlib.Path, names: list[str]) -> None:
    for name in names:
        bar, peer = KUEUE[name]
        generator = data / f"{name}-generator.yaml"
        virtual = json.loads(subprocess.run([BINARIES / "tandem-sim", "kueue", generator, "--json"], check=True, capture_output=True, timeout=900).stdout)
        shape = subprocess.run([BINARIES / "kueue-load", generator, "shape"], check=True, capture_output=True, text=True).stdout.split()
        with Stage(folder / name, *map(int, shape[:2]), shape[2]) as stage:
            wall, work = load(stage, [BINARIES / "kueue-load", generator, stage.port])
        setup = (f"{report.machine()}; {work:,.0f} workloads through REST, fsync on, timed tasks, {shape[0]} nodes x {shape[1]};"
                 f" under a virtual clock {virtual['wall_s']} s, without idle quota {virtual['ideal_s']} s, {virtual['evictions']} evictions"
                 + (", topology not applied" if virtual["topology"] != "none" else ""))
        rows.add(f"server: Kueue's {name} generator, real wall", wall, "s", bar=bar, peer="Kueue", peer_value=peer, setup=setup)


def submit_all(stage: Stage, count: int, prefix: str, devices: int, priority: int) -> None:
    for at in range(0, count, 1000):
        documents = [{"apiVersion": "tandem/v1", "kind": "Job", "metadata": {"name": f"{prefix}{i}", "project": "default", "namespace": "default"},
                      "spec": {"command": ["work"], "priority": priority,
                               "roles": [{"name": "worker", "replicas": 1, "resources": {"devices": devices, "flavor": "cpu-slice"}}]}}
                     for i in range(at, min(count, at + 1000))]
        stage.rest.call("POST", "/api/v1/batch", {"actions": [{"create": each} for each in documents]})


def bench_restart(rows: report.Report, folder: pathlib.Path) -> None:
    with Stage(folder / "restart", 10_001, 8, "cpu-slice") as stage:
        submit_all(stage, 80_000, "run-", 1, 10)
        submit_all(stage, 100_000, "wait-", 9, 0)  # more than a node has
        deadline = time.monotonic() + 300
        while stage.devices_used() < 80_000:
            if time.monotonic() > deadline:
                raise RuntimeError("not all jobs were placed")
            time.sleep(0.5)
        grown = stage.resident_mb()
        stage.stop()
        begun = time.monotonic()
        ready = stage.start()
        submit_all(stage, 1, "first-", 1, 20)
        while stage.rest.get(f"{JOBS}/first-0")["status"]["phase"] not in ("starting", "running"):
            if time.monotonic() - begun > 120:
                raise RuntimeError("no decision after the restart")
            time.sleep(0.005)
        took = time.monotonic() - begun
        time.sleep(5)
        setup = f"{report.machine()}; 10,001 nodes x 8, 80,000 run, 100,000 wait; serving after {ready:.2f} s"
        rows.add("server: restart to the first decision", took, "s", bar="<= 3", peer="Volcano, 5,000 nodes", peer_value=497, setup=setup)
        rows.add("server: resident at that size, after the restart", stage.resident_mb(), "MB", bar="<= 600", peer="kube-scheduler heap, 1,000 nodes",
                 peer_value=949, setup=setup)
        rows.add("server: resident at that size, after the submissions", grown, "MB", setup=setup)


def main() -> int:
    parser = report.parser(__doc__.split("\n")[0])
    parser.add_argument("--only", choices=("engine", "api", "kueue", "restart"), action="append")
    parser.add_argument("--row", action="append", default=[], help="of the engine; default: all")
    parser.add_argument("--data", type=pathlib.Path, metavar="DIR", help="Kueue's generator files; without it those rows are left out")
    parser.add_argument("--generator", choices=tuple(KUEUE), action="append", help="only these of Kueue's")
    given: argparse.Namespace = parser.parse_args()
    rows = report.Report("sched", given.json)
    wanted = given.only or ("engine", "api", "kueue", "restart")
    if given.only and "kueue" in given.only and not given.data:
        parser.error("--only kueue wants --data DIR")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tandem-bench-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        if "engine" in wanted:
            bench_engine(rows, given.row)
        if "api" in wanted:
            bench_api(rows, folder)
        if "kueue" in wanted and given.data:
            bench_kueue(rows, folder, given.data, given.generator or list(KUEUE))
        if "restart" in wanted:
            bench_restart(rows, folder)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())

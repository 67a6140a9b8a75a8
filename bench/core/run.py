#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Core: durable submissions through REST, restart with 1,000 live tasks, memory at rest.

Submissions: jobs that wait (all slices are held), so that each is judged, planned for and committed with fsync, and none
started; beside them a raw loop that commits the same rows, as many a transaction, with bare SQLite on the same file
system. Restart: `kill -9`, then the time from exec to the first "ready", with 1,000 real shims whose tasks sleep.
Memory: resident size after 10,000 jobs have run and all is still.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
os.environ.setdefault("TANDEM_BIN", str(ROOT / "build/release/bin"))
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/support")]
import report  # noqa: E402
from installation import BINARIES, JOBS, Installation, alive, job, processes_below, until  # noqa: E402

BATCH = "/api/v1/batch"


def submit_all(it: Installation, jobs: list[dict]) -> None:
    for at in range(0, len(jobs), 500):
        it.rest.call("POST", BATCH, {"actions": [{"create": each} for each in jobs[at : at + 500]]})


def resident_mb(pid: int) -> float:
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"no process {pid}")


# ---- submissions ----

def measure_load(it: Installation, clients: int, jobs_a_request: int, seconds: float, prefix: str) -> dict:
    host, port = it.url.split("//")[1].rsplit(":", 1)
    version = it.rest.get(JOBS, limit=1)["metadata"]["resourceVersion"]
    words = [BINARIES / "submit-load", host, port, str(clients), str(seconds), str(jobs_a_request), prefix]
    ran = subprocess.run(words, env=os.environ | {"TANDEM_API_KEY": it.admin_key}, capture_output=True, text=True, timeout=seconds + 60)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    accepted, took, refused, p50, p99 = map(float, ran.stdout.split())
    return {"version": version, "jobs": accepted, "rate": accepted / took, "refused": refused, "p50": p50, "p99": p99}


def measure_raw(it: Installation, folder: pathlib.Path, version: int) -> tuple[float, float]:
    """Submissions a second of the raw loop, and submissions a transaction."""
    target = folder / "raw.db"
    ran = subprocess.run([BINARIES / "raw-commits", it.home / "tandem.db", target, str(version)], capture_output=True, text=True, timeout=300)
    for file in folder.glob("raw.db*"):
        file.unlink()
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    submissions, transactions, seconds = map(float, ran.stdout.split())
    return submissions / seconds, submissions / transactions


def bench_submissions(rows: report.Report, folder: pathlib.Path, seconds: float) -> None:
    for what, clients, jobs_a_request, bar, ratio_bar in (
        ("durable submissions, single, 16 clients", 16, 1, ">= 4000", ">= 0.5 x"),
        ("durable submissions, batches of 500, 2 clients", 2, 500, ">= 15000", None),
    ):
        with Installation(slices=1, folder=folder / f"submit-{jobs_a_request}") as it:
            it.submit(job("holder", ["sleep", "600"], preemptible=False, priority=1000))
            it.wait_phase("holder", "running")
            measure_load(it, clients, jobs_a_request, 1, "warm-")
            load = measure_load(it, clients, jobs_a_request, seconds, "job-")
            it.stop()
            raw, grouped = measure_raw(it, folder, load["version"])
            setup = (f"{report.machine()}; {load['jobs']:,.0f} jobs, {load['refused']:.0f} refused, a request p50 {load['p50']:.1f} ms"
                     f" p99 {load['p99']:.1f} ms; {grouped:.1f} submissions a transaction")
            rows.add(what, load["rate"], "jobs/s", bar=bar, setup=setup)
            peer = dict(peer="raw loop, same rows and transactions", peer_value=raw, setup=setup)
            rows.add(what + ", to raw", load["rate"], "jobs/s", bar=ratio_bar, **peer)


# ---- restart ----

def bench_restart(rows: report.Report, folder: pathlib.Path, tasks: int) -> None:
    with Installation(slices=tasks, folder=folder / "restart") as it:
        submit_all(it, [job(f"live-{i}", ["sleep", "3600"]) for i in range(tasks)])
        begun = time.monotonic()
        until(f"{tasks} tasks live", lambda: len(it.rest.list("/api/v1/jobs", fieldSelector="status.phase=running")) == tasks, 300, 0.5)
        rows.say(f"{tasks} tasks started in {time.monotonic() - begun:.1f} s")
        before = it.tasks()
        times, disturbed = [], 0
        for _ in range(3):
            time.sleep(2)
            it.kill()
            started = time.monotonic()
            it.start()
            times.append(time.monotonic() - started)
            after = it.tasks()
            disturbed += sum(after.get(name) != pid or not alive(pid) for name, pid in before.items())
        setup = f"{report.machine()}; {tasks} shims with sleeping tasks on {tasks} slices over-committed; kill -9; middle of {len(times)}: " + ", ".join(
            f"{t:.2f}" for t in times)
        rows.add(f"restart with {tasks:,} live tasks: exec to ready", sorted(times)[1], "s", bar="<= 1", setup=setup)
        rows.add(f"restart with {tasks:,} live tasks: tasks disturbed", disturbed, "tasks", bar="<= 0", setup=setup)
        shims = [pid for pid in processes_below(it.home) if os.readlink(f"/proc/{pid}/exe").endswith("shim")]
        shim = sorted(resident_mb(pid) for pid in shims)[len(shims) // 2]
        rows.add("memory: shim", shim, "MB", bar="<= 2", setup=f"middle of {len(shims)} shims, VmRSS")


# ---- memory ----

def none_is_live(it: Installation) -> bool:
    live = ("pending", "claimed", "starting", "running", "stopping", "unknown")
    return not any(it.rest.get("/api/v1/jobs", fieldSelector=f"status.phase={phase}", limit=1)["items"] for phase in live)


def bench_memory(rows: report.Report, folder: pathlib.Path, jobs: int) -> None:
    with Installation(slices=64, folder=folder / "memory") as it:
        words = [BINARIES / "tandem", "gateway"] + [word for pair in it.options.items() for word in pair]
        with (folder / "gateway.log").open("wb") as log:
            gateway = subprocess.Popen(words, env=it.environment, stdout=log, stderr=log, start_new_session=True)
        try:
            begun = time.monotonic()
            submit_all(it, [job(f"short-{i}", ["true"]) for i in range(jobs)])
            until(f"{jobs} jobs are over", lambda: none_is_live(it), 900, 1)
            took = time.monotonic() - begun
            done = len(it.rest.list("/api/v1/jobs", fieldSelector="status.phase=succeeded"))
            if done != jobs:
                raise RuntimeError(f"{done} of {jobs} jobs succeeded")
            rows.add("jobs from submission to end (command: true)", jobs / took, "jobs/s", setup=f"{report.machine()}; 64 slices on {os.cpu_count()} cores")
            time.sleep(10)
            setup = f"VmRSS 10 s after the last of {jobs:,} jobs had run, all in batches of 500"
            rows.add(f"memory: server, {jobs:,} finished jobs", resident_mb(it.server.pid), "MB", bar="<= 60", setup=setup)
            rows.add("memory: gateway at rest", resident_mb(gateway.pid), "MB", bar="<= 40", setup=setup)
            it.restart()
            time.sleep(3)
            rows.add(f"memory: server started again, {jobs:,} finished jobs", resident_mb(it.server.pid), "MB", bar="<= 60", setup="VmRSS 3 s after the start")
        finally:
            gateway.terminate()
            gateway.wait(20)


def main() -> int:
    parser = report.parser(__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=8, help="of each load")
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--only", choices=("submissions", "restart", "memory"), action="append")
    given: argparse.Namespace = parser.parse_args()
    rows = report.Report("core", given.json)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tandem-bench-"))
    try:
        wanted = given.only or ("submissions", "restart", "memory")
        if "submissions" in wanted:
            bench_submissions(rows, folder, given.seconds)
        if "restart" in wanted:
            bench_restart(rows, folder, given.tasks)
        if "memory" in wanted:
            bench_memory(rows, folder, given.jobs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""The same work, given to Slurm and to Tandem's own server: what became of it, in the same figures."""

import importlib.util
import itertools
import pathlib
import time
from datetime import datetime

import slurm

# bench/sched/run.py has the server; both folders have a run.py.
_spec = importlib.util.spec_from_file_location("sched_run", pathlib.Path(__file__).resolve().parents[1] / "sched/run.py")
_sched = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_sched)
Stage, JOBS = _sched.Stage, _sched.JOBS

SHAPES = tuple(itertools.product((1, 1, 2, 4, 8), (1, 2, 3, 4)))  # devices, seconds


def work_of(jobs: int, rounds: int) -> list[tuple[int, int, int]]:
    """(devices, seconds, how many), in the order in which they are submitted."""
    each = max(1, jobs // (rounds * len(SHAPES)))
    return [(devices, seconds, each) for _ in range(rounds) for devices, seconds in SHAPES]


def figures_of(rows: list[dict], capacity: int, cpu: dict[str, float]) -> dict:
    waits = sorted(row["started"] - row["submitted"] for row in rows)
    begun, ended = min(row["submitted"] for row in rows), max(row["ended"] for row in rows)
    busy = sum(row["devices"] * (row["ended"] - row["started"]) for row in rows)
    return {"jobs": len(rows), "wall": ended - begun, "wait_mean": sum(waits) / len(waits), "wait_p95": waits[(len(waits) * 95 + 99) // 100 - 1],
            "utilisation": 100 * busy / (capacity * (ended - begun)), "placements": len(rows) / (max(row["started"] for row in rows) - begun), "cpu": cpu}


def bench_slurm(folder: pathlib.Path, nodes: int, devices: int, work: list, timeout: float = 900) -> dict:
    with slurm.Slurm(folder, nodes, devices) as it:
        before = it.cpu()
        for shape in work:
            it.submit(*shape)
        wanted = sum(count for _, _, count in work)
        it.wait("all jobs are over", lambda: len(it.completed()) >= wanted, timeout)
        controller = it.cpu() - before
        rows = it.completed()
    if wrong := [row for row in rows if row["state"] != "COMPLETED"]:
        raise RuntimeError(f"{len(wrong)} jobs of Slurm did not complete: {wrong[0]}")
    return figures_of(rows, nodes * devices, {"scheduler": controller})


def document(name: str, devices: int, seconds: int) -> dict:
    return {"apiVersion": "tandem/v1", "kind": "Job", "metadata": {"name": name, "project": "default", "namespace": "default"},
            "spec": {"command": ["work", str(seconds * 1000)], "maxRunTime": "2m",
                     "roles": [{"name": "worker", "replicas": 1, "resources": {"devices": devices, "flavor": "cpu-slice"}}]}}


def seconds_of(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def all_jobs(stage: Stage) -> list[dict]:
    items, more = [], {}
    while True:
        page = stage.rest.get(JOBS, limit=500, **more)
        items += page["items"]
        if not page["metadata"].get("continue"):
            return items
        more = {"continue": page["metadata"]["continue"]}


def bench_tandem(folder: pathlib.Path, nodes: int, devices: int, work: list, timeout: float = 900) -> dict:
    with Stage(folder, nodes, devices, "cpu-slice") as stage:
        before = slurm.cpu_seconds(stage.process.pid)
        number, deadline = itertools.count(), time.monotonic() + timeout
        for size, seconds, count in work:
            documents = [document(f"job-{next(number)}", size, seconds) for _ in range(count)]
            stage.rest.call("POST", "/api/v1/batch", {"actions": [{"create": each} for each in documents]})
        while stage.devices_used() > 0 or any(job["status"]["phase"] != "succeeded" for job in all_jobs(stage)):
            if time.monotonic() > deadline:
                raise RuntimeError("not all jobs of Tandem are over")
            time.sleep(1)
        cpu = slurm.cpu_seconds(stage.process.pid) - before
        rows = [{"submitted": seconds_of(job["metadata"]["createdAt"]), "started": seconds_of(job["status"]["started"]),
                 "ended": seconds_of(job["status"]["finished"]), "devices": int(job["spec"]["roles"][0]["resources"]["devices"])} for job in all_jobs(stage)]
    return figures_of(rows, nodes * devices, {"scheduler": cpu})

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the server again and again under a mixed load and holds outside witnesses against it.

Clients submit jobs one by one and in batches under idempotency keys, cancel, list and watch; tasks are real and append what they
did to files. After each `kill -9` the server is started again. Then: every accepted job is there with its uid, none ran twice at
the same epoch, tasks that lived before a kill live after it under the same pid, all jobs end, the ledger adds up.
Last line: N passed, N failed; one for each kill and one for each of the final judgements.
"""

from __future__ import annotations

import argparse
import http.client
import random
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import witness  # noqa: E402
from installation import JOBS, OVER, REPLICAS, Installation, alive, job, processes_below, until  # noqa: E402
from rest import Answer, Rest  # noqa: E402

SLICES = 16
OPEN_JOBS_MAX = 40
PATIENCE_S = 60
NO_ANSWER = (OSError, http.client.HTTPException)
FAILS = "sleep 0.1; exit 3"


class Load:
    """What clients were told, and what they saw that can't be."""

    def __init__(self, it: Installation, witnesses: Path, seed: int) -> None:
        self.it, self.witnesses, self.seed = it, witnesses, seed
        self.lock = threading.Lock()
        self.accepted: dict[str, str] = {}  # name -> uid
        self.cancelled: set[str] = set()
        self.fails: set[str] = set()
        self.open = 0
        self.complaints: list[str] = []
        self.counts: dict[str, int] = dict.fromkeys(("singles", "batches", "replays", "cancels", "lists", "events"), 0)
        self.stopping = threading.Event()
        clients = [self.submit_singles, self.submit_singles, self.submit_batches, self.cancel, self.list, self.watch]
        self.threads = [threading.Thread(target=self.guard, args=(client, i)) for i, client in enumerate(clients)]

    def guard(self, client: Any, number: int) -> None:
        try:
            rest = self.it.rest_as(self.it.admin_key, 20)
            client(number, random.Random(f"{self.seed} {number}"), rest)
        except Exception as error:  # noqa: BLE001 - whatever ends a client is a finding
            self.complain(f"client {client.__name__}: {type(error).__name__}: {error}")

    def complain(self, text: str) -> None:
        with self.lock:
            self.complaints.append(text[:500])

    def count(self, what: str) -> None:
        with self.lock:
            self.counts[what] += 1

    def answered(self, rest: Rest, method: str, path: str, body: Any, key: str) -> Answer:
        """The same request under the same key until there is an answer: what a client does whose server died."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                answer = rest.ask(method, path, body, Idempotency_Key=key)
                if answer.status not in (429, 503):
                    return answer
            except NO_ANSWER:
                pass
            if time.monotonic() > deadline:
                raise AssertionError(f"{method} {path}: no answer within {PATIENCE_S} s")
            time.sleep(0.02)

    def accept(self, name: str, uid: str) -> None:
        with self.lock:
            if self.accepted.setdefault(name, uid) != uid:
                self.complaints.append(f"{name} was {self.accepted[name]}, is {uid}")

    def draw_job(self, dice: random.Random, name: str) -> dict[str, Any]:
        kind = dice.random()
        if kind < 0.12:
            with self.lock:
                self.fails.add(name)
            command = witness.command(self.witnesses, FAILS)
            return job(name, command, retries={"limit": 1, "backoff": "100ms"}, grace="20s")
        if kind < 0.3:
            return job(name, witness.command(self.witnesses, f"sleep {dice.uniform(2, 5):.2f}"), replicas=2, grace="20s")
        if kind < 0.36:
            return job(name, witness.command(self.witnesses, "sleep 0.2"), replicas=6, priority=500, preemptible=False, grace="20s")
        return job(name, witness.command(self.witnesses, f"sleep {dice.uniform(0, 1.5):.2f}"), grace="20s")

    def wait_for_room(self) -> bool:
        while self.open > OPEN_JOBS_MAX and not self.stopping.wait(0.02):
            pass
        return not self.stopping.is_set()

    # ---- clients ----

    def submit_singles(self, number: int, dice: random.Random, rest: Rest) -> None:
        turn = 0
        while self.wait_for_room():
            turn += 1
            name = f"single-{number}-{turn}"
            body = self.draw_job(dice, name)
            for replay in range(2 if dice.random() < 0.2 else 1):
                answer = self.answered(rest, "POST", JOBS, body, name)
                if answer.status != 201:
                    return self.complain(f"POST {name}: {answer.status} {answer.text}")
                self.accept(name, answer.json["metadata"]["uid"])
                self.count("replays" if replay else "singles")
            time.sleep(dice.uniform(0, 0.1))

    def submit_batches(self, number: int, dice: random.Random, rest: Rest) -> None:
        turn = 0
        while self.wait_for_room():
            turn += 1
            names = [f"batch-{number}-{turn}-{i}" for i in range(dice.randint(2, 8))]
            body = {"actions": [{"create": self.draw_job(dice, name)} for name in names]}
            answer = self.answered(rest, "POST", "/api/v1/batch", body, f"batch-{turn}")
            if answer.status != 200:
                return self.complain(f"batch {turn}: {answer.status} {answer.text}")
            for name, outcome in zip(names, answer.json["outcomes"], strict=True):
                self.accept(name, outcome["uid"])
            self.count("batches")
            time.sleep(dice.uniform(0, 0.3))

    def cancel(self, _number: int, dice: random.Random, rest: Rest) -> None:
        turn = 0
        while not self.stopping.wait(dice.uniform(0.1, 0.4)):
            with self.lock:
                known = sorted(set(self.accepted) - self.cancelled)[-30:]
            if not known:
                continue
            turn += 1
            name = dice.choice(known)
            answer = self.answered(rest, "POST", f"{JOBS}/{name}/cancel", None, f"cancel-{turn}")
            if answer.status == 200:
                with self.lock:
                    self.cancelled.add(name)
                self.count("cancels")
            elif answer.status != 409:
                return self.complain(f"cancel {name}: {answer.status} {answer.text}")

    def list(self, _number: int, dice: random.Random, rest: Rest) -> None:
        while not self.stopping.wait(dice.uniform(0.05, 0.3)):
            with self.lock:
                before = dict(self.accepted)
            try:
                items = rest.list(JOBS)
            except NO_ANSWER:
                continue
            except Exception as error:  # noqa: BLE001
                if getattr(error, "status", 0) == 503:
                    continue
                raise
            found = {item["metadata"]["name"]: item["metadata"]["uid"] for item in items}
            self.open = sum(item["status"]["phase"] not in OVER for item in items)
            for name, uid in before.items():
                if found.get(name) != uid:
                    self.complain(f"a list has {name} as {found.get(name)}, accepted was {uid}")
            self.count("lists")

    def watch(self, _number: int, _dice: random.Random, rest: Rest) -> None:
        """One watch over all kills: taken up at the last version seen, it must show each job as new exactly once."""
        version, added = 0, set()
        while not self.stopping.is_set():
            try:
                query = {"resourceVersion": version} if version else {"resourceVersion": 0}
                for event in rest.watch(JOBS, 8, **query):
                    if event.kind == "error":
                        return self.complain(f"watch from {version}: {event.data}")
                    if event.id < version or (event.id == version and event.kind != "bookmark"):
                        self.complain(f"watch: {event.kind} {event.id} after {version}")
                    version = max(version, event.id)
                    if event.kind == "added":
                        name = event.data["metadata"]["name"]
                        if name in added:
                            self.complain(f"watch: {name} was added twice")
                        added.add(name)
                    self.count("events")
                    if self.stopping.is_set():
                        break
            except (*NO_ANSWER, ValueError):
                time.sleep(0.02)
            except Exception as error:  # noqa: BLE001
                if getattr(error, "status", 0) != 503:
                    raise
        with self.lock:
            # Only the newest may still be on their way to this watch.
            missed = sorted(set(self.accepted) - added)
            if len(missed) > OPEN_JOBS_MAX:
                self.complaints.append(f"watch never showed {len(missed)} jobs: {missed[:5]}")


def living(folder: Path) -> dict[int, witness.Line]:
    """Tasks that have said start, nothing after it, and whose process is there."""
    found = {}
    for lines in witness.read(folder).values():
        over = {line.task for line in lines if line.what != "start"}
        for line in lines:
            if line.what == "start" and line.task not in over and alive(line.pid):
                found[line.pid] = line
    return found


def kill_once(it: Installation, load: Load, dice: random.Random) -> tuple[list[str], int, float]:
    """Faults of one kill, how many tasks it found alive, and seconds until the server was ready again."""
    time.sleep(dice.uniform(0.05, 0.5))
    it.server.kill()
    it.server.wait()
    before = living(load.witnesses)
    began = time.monotonic()
    it.start()
    ready = time.monotonic() - began
    after = witness.read(load.witnesses)
    faults = []
    over = {line.task for lines in after.values() for line in lines if line.what != "start"}
    for pid, line in before.items():
        if not alive(pid) and line.task not in over:
            # Between its last word and this look it may have ended in order: then it has said so by now.
            again = {one.task for lines in witness.read(load.witnesses).values() for one in lines if one.what != "start"}
            if line.task not in again and line_of_job_fails(load, line) is None:
                faults.append(f"task {line.task} (pid {pid}) lived before the kill and is gone")
    rest = it.rest_as(it.admin_key)
    for replica in rest.list(REPLICAS):
        status, spec = replica["status"], replica["spec"]
        if status["phase"] == "unknown":
            faults.append(f"replica {replica['metadata']['name']} is unknown: {status.get('reason')}")
        if status["phase"] != "running" or not status.get("handle"):
            continue
        pid = int(status["handle"].split()[1])
        mine = [one for one in before.values() if one.task.split("-")[1] == spec["ownerUid"]]
        for one in mine:
            if one.epoch == status["epoch"] and one.rank == spec.get("rank", 0) and one.pid != pid:
                faults.append(f"{one.task}: the server says pid {pid}, the task says {one.pid}")
    rest.close()
    return faults, len(before), ready


def line_of_job_fails(load: Load, line: witness.Line) -> str | None:
    """Jobs that are made to fail leave without a word."""
    uid = line.task.split("-")[1]
    with load.lock:
        return next((name for name in load.fails if load.accepted.get(name) == uid), None)


def judge(it: Installation, load: Load) -> dict[str, list[str]]:
    """Final judgements: name -> faults."""
    rest = it.rest_as(it.admin_key)

    def all_over() -> bool:
        return all(item["status"]["phase"] in OVER for item in rest.list(JOBS))

    verdicts: dict[str, list[str]] = {"clients were served": load.complaints}
    try:
        until("all jobs are over", all_over, 120, 0.3)
        verdicts["all jobs end"] = []
    except AssertionError:
        left = [i for i in rest.list(JOBS) if i["status"]["phase"] not in OVER]
        verdicts["all jobs end"] = [f"{i['metadata']['name']}: {i['status']}" for i in left]
    items = rest.list(JOBS)
    found = {item["metadata"]["name"]: item for item in items}
    verdicts["accepted jobs are there, and no others"] = [
        f"{name}: accepted as {uid}" for name, uid in load.accepted.items()
        if name not in found or found[name]["metadata"]["uid"] != uid
    ] + [f"{name}: nobody was told" for name in found if name not in load.accepted]
    verdicts["no task ran twice"] = witness.started_twice(load.witnesses)
    verdicts["ends are as the tasks say"] = wrong_ends(load, found)
    until("the last shims leave", lambda: len(processes_below(it.home)) <= 1, 20, 0.1)
    said = it.recount()
    verdicts["the independent recount agrees"] = [said.strip().splitlines()[-1]] if said else []
    it.stop()
    verdicts["the ledger adds up"] = witness.ledger_faults(it.home / "tandem.db")
    return verdicts


def wrong_ends(load: Load, found: dict[str, Any]) -> list[str]:
    lines = witness.read(load.witnesses)
    faults = []
    for name, item in found.items():
        status, said = item["status"], lines.get(name, [])
        phase, epoch = status["phase"], status.get("epoch", 0)
        ends = [line for line in said if line.what == "end" and line.epoch == epoch]
        ranks = sum(role.get("replicas", 1) for role in item["spec"]["roles"])
        if phase == "succeeded" and len(ends) != ranks:
            faults.append(f"{name} succeeded at epoch {epoch} with {len(ends)} of {ranks} ends")
        if phase == "failed" and name not in load.fails:
            faults.append(f"{name} failed: {status.get('reason')}")
        if phase == "cancelled" and name not in load.cancelled:
            faults.append(f"{name} was cancelled by nobody")
        if name in load.fails and phase == "succeeded":
            faults.append(f"{name} can't have succeeded")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    dice = random.Random(given.seed)
    print(f"{given.kills} kills, seed {given.seed}", flush=True)
    passed = failed = 0
    with Installation(slices=SLICES, over_commit=8) as it:
        witnesses = it.folder / "witnesses"
        witnesses.mkdir()
        load = Load(it, witnesses, given.seed)
        for thread in load.threads:
            thread.start()
        tasks, slowest = 0, 0.0
        try:
            for number in range(1, given.kills + 1):
                faults, seen, ready = kill_once(it, load, dice)
                tasks, slowest = tasks + seen, max(slowest, ready)
                passed, failed = passed + (not faults), failed + bool(faults)
                for fault in faults[:5]:
                    print(f"kill {number}: {fault}", flush=True)
                if number % 10 == 0 or number == given.kills:
                    print(f"{number} kills: {tasks} tasks found alive, slowest start {slowest:.2f} s, {load.counts}", flush=True)
        finally:
            load.stopping.set()
            for thread in load.threads:
                thread.join(PATIENCE_S + 20)
        if tasks < given.kills:
            print(f"only {tasks} tasks were alive at {given.kills} kills: the load is too small to prove anything")
            failed += 1
        for name, faults in judge(it, load).items():
            passed, failed = passed + (not faults), failed + bool(faults)
            print(f"{name}: {'yes' if not faults else f'NO, {len(faults)} faults'}")
            for fault in faults[:8]:
                print(f"   {fault}")
        print(f"{len(load.accepted)} jobs accepted")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

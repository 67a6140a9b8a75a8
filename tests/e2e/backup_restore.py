#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Backups are made while the server works; a restore is verified, applied at the next start, raises the generation, sends
watchers back to their lists, and leaves tasks of before to an operator's decision."""

from __future__ import annotations

import sqlite3
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import JOBS, REPLICAS, Installation, alive, job, shell, until  # noqa: E402
from rest import Refused  # noqa: E402


class BackupRestore(unittest.TestCase):
    def setUp(self) -> None:
        self.it = Installation(slices=4).__enter__()
        self.addCleanup(self.it.close)
        self.file = self.it.folder / "backup.db"

    def back_up(self) -> None:
        self.it.rest.call("POST", "/api/v1/admin/backup", {"path": str(self.file)})

    def restore(self) -> None:
        self.it.rest.call("POST", "/api/v1/admin/restore", {"path": str(self.file)})

    def generation(self) -> int:
        store = sqlite3.connect(f"file:{self.it.home}/tandem.db?mode=ro", uri=True)
        value = store.execute("SELECT generation FROM meta").fetchone()[0]
        store.close()
        return value

    def names(self) -> set[str]:
        return {item["metadata"]["name"] for item in self.it.rest.list(JOBS)}

    def test_restored_state_is_that_of_the_backup_under_a_new_generation(self) -> None:
        self.it.submit(job("before", shell("echo kept")))
        self.it.wait_phase("before", "succeeded")
        uid = self.it.job("before")["metadata"]["uid"]
        self.back_up()
        self.it.submit(job("after", shell("true"), suspend=True))
        version = self.it.rest.get(JOBS, limit=1)["metadata"]["resourceVersion"]
        generation = self.generation()
        self.restore()
        self.assertEqual(self.names(), {"before", "after"})  # nothing happens until the next start
        self.it.restart()
        self.assertEqual(self.names(), {"before"})
        self.assertEqual(self.it.job("before")["metadata"]["uid"], uid)
        self.assertGreater(self.generation(), generation)
        page = self.it.rest.get(JOBS, limit=1)["metadata"]
        self.assertGreater(page["resourceVersion"], version)
        with self.assertRaises(Refused) as gone:
            list(self.it.rest.watch(JOBS, 5, resourceVersion=version))
        self.assertEqual(gone.exception.status, 410)
        self.it.submit(job("later", shell("true")))
        self.it.wait_phase("later", "succeeded")
        self.it.restart()  # once applied, a restore is not applied again
        self.assertEqual(self.names(), {"before", "later"})

    def test_tasks_of_before_are_unknown_and_keep_their_devices(self) -> None:
        self.it.submit(job("old", shell("sleep 60"), replicas=3, preemptible=False))
        self.it.wait_phase("old", "running")
        pids = self.it.tasks()
        self.back_up()
        self.restore()
        self.it.restart()
        self.assertTrue(all(alive(pid) for pid in pids.values()))
        def replicas() -> list[dict]:
            return [r["status"] for r in self.it.rest.list(REPLICAS) if r["spec"]["ownerName"] == "old"]

        for _ in range(2):
            self.assertEqual({(r["phase"], r["reason"]["code"]) for r in replicas()}, {("unknown", "oldGeneration")})
            self.it.restart()
        self.it.submit(job("new", shell("true"), replicas=2))
        self.it.submit(job("small", shell("true")))
        self.it.wait_phase("small", "succeeded")
        self.assertEqual(self.it.phase("new"), "pending")  # one slice of four is free
        self.assertTrue(all(alive(pid) for pid in pids.values()))
        self.it.tandem("job", "cancel", "old")  # the operator's decision
        self.it.wait_phase("old", "cancelled")
        self.assertFalse(any(alive(pid) for pid in pids.values()))
        self.it.wait_phase("new", "succeeded")

    def test_task_that_ended_after_the_backup_waits_for_nobody(self) -> None:
        self.it.submit(job("short", shell("sleep 3; exit 0")))
        self.it.wait_phase("short", "running")
        self.back_up()
        self.it.wait_phase("short", "succeeded")
        until("its folder is settled", lambda: any((self.it.home / "ended").iterdir()))
        self.restore()
        self.it.restart()
        self.it.wait_phase("short", "succeeded")
        self.assertEqual(self.it.rest.get("/api/v1/admin/tasks")["items"], [])
        self.it.submit(job("wide", shell("true"), replicas=4))
        self.it.wait_phase("wide", "succeeded")

    def test_operator_adopts_and_ends_tasks_of_before_and_the_recount_agrees(self) -> None:
        self.it.submit(job("kept", shell("sleep 6; exit 0")))
        self.it.submit(job("ended", shell("sleep 600"), retries={"limit": 0}))
        for name in ("kept", "ended"):
            self.it.wait_phase(name, "running")
        pids = self.it.tasks()
        self.back_up()
        self.it.submit(job("stray", shell("sleep 600")))  # of after the backup: no restored row means it
        self.it.wait_phase("stray", "running")
        pids |= self.it.tasks()
        self.restore()
        self.it.restart()
        told = self.it.tandem("admin", "tasks", "list")
        self.assertEqual(self.it.phase("kept"), "unknown")
        self.assertIn("waits for a decision", self.it.tandem("why", "job/kept"))
        self.assertIn("3 tasks of before a restore wait for a decision", self.it.run("doctor").stdout)
        for name in ("kept-worker-0", "ended-worker-0", "belongs to nothing"):
            self.assertIn(name, told)
        tasks = self.it.rest.get("/api/v1/admin/tasks")["items"]
        stray = next(one["task"] for one in tasks if "replica" not in one)
        refused = self.it.run("admin", "tasks", "adopt", stray)
        self.assertEqual(refused.returncode, 5, refused.stdout)
        self.assertIn("belongs to nothing", refused.stderr)
        # What it sits on is given to nobody; the fourth slice is free.
        node = self.it.rest.list("/api/v1/nodes")[0]
        self.assertEqual([d["takenBy"] for d in node["status"]["devices"] if d.get("takenBy")], [stray])
        self.it.submit(job("wide", shell("true"), replicas=2))
        self.it.submit(job("small", shell("true")))
        self.it.wait_phase("small", "succeeded")
        self.assertEqual(self.it.phase("wide"), "pending")
        self.assertIn("taken by 1 tasks of before a restore", self.it.tandem("why", "job/wide"))
        self.assertIn("taken by a task of before a restore", self.it.tandem("node"))
        self.it.tandem("admin", "tasks", "adopt", "kept-worker-0")
        self.assertEqual(self.it.tasks()["kept-worker-0"], pids["kept-worker-0"])
        again = self.it.run("admin", "tasks", "adopt", "kept-worker-0")
        self.assertEqual(again.returncode, 3, again.stdout)
        self.it.tandem("admin", "tasks", "end", "ended-worker-0", stray)
        self.it.wait_phase("ended", "failed")
        self.it.wait_phase("kept", "succeeded")
        until("no task waits", lambda: not self.it.rest.get("/api/v1/admin/tasks")["items"])
        self.it.wait_phase("wide", "succeeded")
        for name in ("kept", "ended", "wide"):
            self.assertEqual(self.it.job(name)["status"]["starts"], 1)
        self.assertIn("ended by user:admin", self.it.tandem("events", "job/ended"))
        self.assertFalse(alive(pids["ended-worker-0"]) or alive(pids["stray-worker-0"]))
        acts = [row["object"] for row in self.it.rest.get("/api/v1/audit")["items"] if row["action"] == "replicas.update"]
        self.assertIn("default/default/kept-worker-0", acts)
        self.assertEqual(self.it.recount(), "")

    def test_task_of_before_that_ends_by_itself_ends_its_job(self) -> None:
        go = self.it.folder / "go"
        self.it.submit(job("short", shell(f"while [ ! -e {go} ]; do sleep 0.1; done; exit 3")))
        self.it.wait_phase("short", "running")
        self.back_up()
        self.restore()
        self.it.restart()
        self.it.wait_phase("short", "unknown")
        go.touch()
        ended = self.it.wait_phase("short", "failed")
        self.assertEqual(ended["status"]["reason"]["params"]["code"], "3")

    def test_what_is_no_backup_is_refused(self) -> None:
        self.back_up()
        whole = self.file.read_bytes()
        for name, content in (("text", b"hello"), ("half", whole[: len(whole) // 2]), ("empty", b""),
                              ("bits", whole[:4096] + b"\xff" * 64 + whole[4160:])):
            self.file.write_bytes(content)
            answer = self.it.rest.ask("POST", "/api/v1/admin/restore", {"path": str(self.file)})
            self.assertEqual(answer.status, 400, f"{name}: {answer.text}")
        self.file.unlink()
        self.assertIn(self.it.rest.ask("POST", "/api/v1/admin/restore", {"path": str(self.file)}).status, (400, 404))
        self.it.submit(job("here", shell("true"), suspend=True))
        self.it.restart()
        self.assertEqual(self.names(), {"here"})

    def test_backup_does_not_overwrite_and_needs_a_path(self) -> None:
        self.back_up()
        size = self.file.stat().st_size
        self.assertEqual(self.file.stat().st_mode & 0o077, 0)
        answer = self.it.rest.ask("POST", "/api/v1/admin/backup", {"path": str(self.file)})
        self.assertEqual(answer.status, 409, answer.text)
        self.assertEqual(self.file.stat().st_size, size)
        for body in ({}, {"path": ""}):
            answer = self.it.rest.ask("POST", "/api/v1/admin/backup", body)
            self.assertEqual((answer.status, answer.json["field"]), (400, "path"))
        self.assertEqual(self.it.rest.call("POST", "/api/v1/admin/check"), {"status": "ok"})


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that dies disturbs nothing: tasks live on, are adopted under their own pids, and end as they would have."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import witness  # noqa: E402
from installation import REPLICAS, TANDEM, Installation, alive, job, shell, until  # noqa: E402


class Restart(unittest.TestCase):
    def setUp(self) -> None:
        self.it = Installation(slices=4).__enter__()
        self.addCleanup(self.it.close)
        self.witnesses = self.it.folder / "witnesses"
        self.witnesses.mkdir()

    def work(self, seconds: float) -> list[str]:
        return witness.command(self.witnesses, f"sleep {seconds}")

    def starts(self, name: str) -> list[witness.Line]:
        return [line for line in witness.read(self.witnesses).get(name, []) if line.what == "start"]

    def test_live_tasks_are_adopted_and_not_started_again(self) -> None:
        self.it.submit(job("gang", self.work(8), replicas=2))
        self.it.submit(job("single", self.work(8)))
        for name in ("gang", "single"):
            self.it.wait_phase(name, "running")
        before = self.it.tasks()
        self.assertEqual(len(before), 3)
        for _ in range(3):
            self.it.restart()
            self.assertEqual(self.it.tasks(), before)
            self.assertTrue(all(alive(pid) for pid in before.values()))
            self.assertEqual(self.it.phase("gang"), "running")
        for name in ("gang", "single"):
            done = self.it.wait_phase(name, "succeeded")
            self.assertEqual(done["status"]["epoch"], 1)
        self.assertEqual(len(self.starts("gang")) + len(self.starts("single")), 3)
        self.it.stop()
        self.assertEqual(witness.ledger_faults(self.it.home / "tandem.db"), [])

    def test_what_ended_while_no_server_lived_is_told(self) -> None:
        self.it.submit(job("good", self.work(0.7)))
        self.it.submit(job("bad", shell("sleep 0.7; exit 9")))
        for name in ("good", "bad"):
            self.it.wait_phase(name, "running")
        pids = list(self.it.tasks().values())
        self.it.kill()
        until("the tasks end", lambda: not any(alive(pid) for pid in pids))
        time.sleep(0.3)
        self.it.start()
        self.it.wait_phase("good", "succeeded")
        bad = self.it.wait_phase("bad", "failed")
        self.assertEqual(bad["status"]["reason"]["code"], "exitCode")
        self.assertEqual(bad["status"]["reason"]["params"]["code"], "9")
        exits = {r["spec"]["ownerName"]: r["status"]["exit"] for r in self.it.rest.list(REPLICAS)}
        self.assertTrue(exits["good"]["serverAbsent"] and exits["bad"]["serverAbsent"])

    def test_killed_task_and_killed_shim_fail_their_job(self) -> None:
        for name in ("task", "shim"):
            self.it.submit(job(name, self.work(30)))
            self.it.wait_phase(name, "running")
        pids = self.it.tasks()
        self.it.kill()
        os.kill(pids["task-worker-0"], signal.SIGKILL)
        shim = int(Path(f"/proc/{pids['shim-worker-0']}/stat").read_text().rsplit(")", 1)[1].split()[1])
        self.assertIn(b"shim", Path(f"/proc/{shim}/cmdline").read_bytes())
        os.kill(shim, signal.SIGKILL)
        self.it.start()
        self.assertEqual(self.it.wait_phase("task", "failed")["status"]["reason"]["code"], "killedBySignal")
        self.assertEqual(self.it.wait_phase("shim", "failed")["status"]["reason"]["code"], "shimLost")
        self.assertFalse(alive(pids["shim-worker-0"]), "a task outlived its shim")

    def test_waiting_jobs_start_after_the_restart(self) -> None:
        self.it.submit(job("first", self.work(1), replicas=4))
        self.it.wait_phase("first", "running")
        self.it.submit(job("second", self.work(0.1), replicas=4))
        self.it.restart()
        self.it.wait_phase("second", "succeeded")
        self.assertEqual(witness.started_twice(self.witnesses), [])

    def test_cancel_during_the_absence_of_a_task_reaches_it_later(self) -> None:
        self.it.submit(job("stopped", self.work(30)))
        self.it.wait_phase("stopped", "running")
        self.it.rest.call("POST", "/api/v1/projects/default/namespaces/default/jobs/stopped/cancel")
        self.it.restart()
        self.it.wait_phase("stopped", "cancelled")

    def test_second_server_on_the_same_home_is_refused(self) -> None:
        words = [str(TANDEM), "server", "--listen", "127.0.0.1:0"]
        done = subprocess.run(words, env=self.it.environment, capture_output=True, text=True, timeout=20)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("another server runs", done.stderr)
        self.assertTrue(self.it.is_ready())


if __name__ == "__main__":
    unittest.main()

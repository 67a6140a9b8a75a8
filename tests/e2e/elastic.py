#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 180
"""Elastic jobs with real processes: members join what is idle and give way first; ranks that need to know their world stop
and start again from the checkpoint, in a world without gaps."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import Installation, job, shell, until  # noqa: E402

# Steps of 50 ms. TERM: saves, leaves with 75. The witness: rank, world size, epoch and step.
RANK = r"""
import json, os, signal, sys, time
witness, last = sys.argv[1], int(sys.argv[2])
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
start = 0
if source := os.environ["TANDEM_RESUME_FROM"]:
    start = json.load(open(source + "/manifest.json"))["step"]
def replace(path, text):
    with open(path + ".new", "w") as file:
        file.write(text); file.flush(); os.fsync(file.fileno())
    os.rename(path + ".new", path)
for step in range(start + 1, last + 1):
    time.sleep(0.05)
    with open(witness, "a") as file:
        file.write(f"{rank} {world} {os.environ['TANDEM_EPOCH']} {step}\n")
    replace(os.environ["TANDEM_PROGRESS_FILE"], json.dumps({"step": step, "time": time.time()}))
    if stop:
        if rank == 0:
            folder = os.environ["TANDEM_CHECKPOINT_DIR"] + f"/step-{step:06}"
            os.makedirs(folder)
            replace(folder + "/manifest.json", json.dumps({"step": step, "files": {}}))
        sys.exit(75)
"""


def elastic(name: str, command: list[str], least: int, most: int, **spec: Any) -> dict[str, Any]:
    body = job(name, command, **spec)
    body["spec"]["roles"][0].pop("replicas", None)
    body["spec"]["roles"][0] |= {"minReplicas": least, "maxReplicas": most}
    return body


class Elastic(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=4).__enter__()
        cls.program = cls.it.folder / "rank.py"
        cls.program.write_text(RANK)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.it.close()

    def members(self, name: str) -> int:
        return self.it.job(name)["status"].get("replicas", 0)

    def tasks(self, name: str) -> list[str]:
        return sorted(task for task in self.it.tasks() if task.startswith(name + "-"))

    def test_live_members_join_what_is_idle_and_give_way_first(self) -> None:
        self.it.submit(elastic("live", shell("sleep 600"), 1, 4, elastic={"growAfter": "1s"}, grace="2s"))
        self.it.wait_phase("live", "running")
        until("it has all that is idle", lambda: len(self.tasks("live")) == 4)
        self.assertIn("4 of 1..4", self.it.tandem("get", "jobs"))
        first = self.it.tasks()["live-worker-0"]
        self.it.submit(job("short", shell("sleep 1.5"), replicas=2))
        self.it.wait_phase("short", "running")
        self.assertEqual(self.members("live"), 2)
        self.assertIn("live-worker-0", self.tasks("live"))
        self.it.restart()  # members are adopted like any rank
        self.it.wait_phase("short", "succeeded")
        until("it has grown again", lambda: self.members("live") == 4 and len(self.tasks("live")) == 4, 60)
        self.assertEqual(self.it.tasks()["live-worker-0"], first)  # it ran on all the time
        self.assertEqual(self.it.job("live")["status"]["epoch"], 1)
        self.it.tandem("job", "cancel", "live")
        self.it.wait_phase("live", "cancelled")
        self.assertEqual(self.tasks("live"), [])
        said = self.it.tandem("events", "job/live")
        self.assertIn("gives way to job/short", said)
        self.assertIn("grows from", said)

    def test_ranks_start_again_from_the_checkpoint_in_a_world_without_gaps(self) -> None:
        witness = self.it.folder / "world"
        command = ["python3", str(self.program), str(witness), "120"]
        self.it.submit(elastic("train", command, 2, 4, template="torchrun", checkpoint={"enabled": True, "restartTime": "1s"}, grace="10s"))
        until("it runs with four", lambda: witness.exists() and len({line.split()[0] for line in witness.read_text().splitlines()}) == 4)
        self.it.submit(job("urgent", shell("sleep 0.5"), preemptible=False))
        self.it.wait_phase("urgent", "succeeded")
        done = self.it.wait_phase("train", "succeeded", timeout=60)["status"]
        self.assertEqual(done.get("preemptions", 0), 0)
        lines = [tuple(map(int, line.split())) for line in witness.read_text().splitlines()]
        second = [line for line in lines if line[2] == 2]
        self.assertEqual({world for _, world, _, _ in second}, {3})
        self.assertEqual({rank for rank, _, _, _ in second}, {0, 1, 2})
        last = max(step for rank, _, epoch, step in lines if epoch == 1 and rank == 0)
        self.assertEqual(min(step for rank, _, _, step in second if rank == 0), last + 1)
        self.assertEqual(max(step for *_, step in lines), 120)


if __name__ == "__main__":
    unittest.main()

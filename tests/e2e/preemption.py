#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""The checkpoint contract with a tiny program: preempted work saves, waits and resumes without losing a step; hung, silent
and overlong ranks are ended, failed ones tried again by the rules."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import REPLICAS, Installation, job, shell, until  # noqa: E402

# Steps of 50 ms. TERM: saves, leaves with 75. What it computed at each step goes to the witness file.
TRAINER = r"""
import json, os, signal, sys, time
witness, last = sys.argv[1], int(sys.argv[2])
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
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
        file.write(f"{os.environ['TANDEM_EPOCH']} {step}\n")
    replace(os.environ["TANDEM_PROGRESS_FILE"], json.dumps({"step": step, "time": time.time()}))
    if stop:
        folder = os.environ["TANDEM_CHECKPOINT_DIR"] + f"/step-{step:06}"
        os.makedirs(folder)
        replace(folder + "/manifest.json", json.dumps({"step": step, "files": {}}))
        sys.exit(75)
"""


class Contract(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=2).__enter__()
        cls.program = cls.it.folder / "trainer.py"
        cls.program.write_text(TRAINER)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.it.close()

    def trainer(self, name: str, steps: int, **spec: Any) -> dict[str, Any]:
        command = ["python3", str(self.program), str(self.it.folder / name), str(steps)]
        return job(name, command, checkpoint={"enabled": True}, grace="10s", **spec)

    def steps(self, name: str) -> list[tuple[int, int]]:
        path = self.it.folder / name
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(line.split()[0]), int(line.split()[1])) for line in lines]

    def test_suspended_work_saves_gives_its_place_away_and_goes_on_when_resumed(self) -> None:
        self.it.submit(self.trainer("paused", 40))
        until("five steps are done", lambda: len(self.steps("paused")) >= 5)
        self.it.tandem("job", "suspend", "paused")
        waiting = self.it.wait_phase("paused", "pending")
        self.assertEqual(waiting["status"]["reason"]["code"], "suspended")
        self.assertTrue(waiting["spec"]["suspend"])
        self.it.submit(job("meanwhile", shell("exit 0"), replicas=2))
        self.it.wait_phase("meanwhile", "succeeded")
        self.it.restart()  # what is suspended stays so
        self.assertEqual(self.it.phase("paused"), "pending")
        self.it.tandem("job", "resume", "paused")
        done = self.it.wait_phase("paused", "succeeded")["status"]
        self.assertEqual([step for _, step in self.steps("paused")], list(range(1, 41)))
        self.assertEqual((done["stepsLost"], done["preemptions"], done["epoch"]), (0, 0, 2))

    def test_requeued_work_saves_and_starts_again(self) -> None:
        self.it.submit(self.trainer("again", 40))
        until("five steps are done", lambda: len(self.steps("again")) >= 5)
        self.it.tandem("job", "requeue", "again")
        done = self.it.wait_phase("again", "succeeded")["status"]
        self.assertEqual([step for _, step in self.steps("again")], list(range(1, 41)))
        self.assertEqual((done["stepsLost"], done["epoch"]), (0, 2))

    def test_held_and_dependent_work_waits_for_its_word(self) -> None:
        self.it.submit(job("first", shell("sleep 0.5")))
        self.it.submit(job("then", shell("exit 0"), after=[{"job": "first"}]))
        self.it.submit(job("never", shell("exit 0"), after=[{"job": "first", "when": "failed"}]))
        self.it.submit(job("kept", shell("exit 0"), after=[{"job": "then", "when": "ended"}]))
        self.it.tandem("job", "hold", "kept")
        self.assertEqual(self.it.job("then")["status"]["reason"]["code"], "waitingForJob")
        self.it.wait_phase("then", "succeeded")
        self.it.wait_phase("never", "cancelled")
        self.assertEqual(self.it.job("never")["status"]["reason"]["code"], "dependencyNeverMet")
        self.assertEqual(self.it.job("kept")["status"]["reason"]["code"], "held")
        self.it.tandem("job", "release", "kept")
        self.it.wait_phase("kept", "succeeded")

    def test_preempted_work_saves_waits_and_goes_on(self) -> None:
        self.it.submit(self.trainer("low", 60))
        until("ten steps are done", lambda: len(self.steps("low")) >= 10)
        self.it.submit(job("urgent", shell("sleep 0.3"), replicas=2, priority=500, preemptible=False))
        self.it.wait_phase("urgent", "succeeded")
        waited = self.it.job("low")["status"]
        self.assertEqual(waited["preemptions"], 1)
        saved = waited["checkpoint"]["step"]
        self.assertGreaterEqual(saved, 10)
        self.assertTrue(waited["checkpoint"]["digest"])
        self.it.restart()  # while it waits, or right after it went on
        done = self.it.wait_phase("low", "succeeded")["status"]
        self.assertEqual((done["epoch"], done.get("stepsLost", 0), done.get("failures", 0)), (2, 0, 0))
        steps = self.steps("low")
        self.assertEqual([step for _, step in steps], list(range(1, 61)))
        self.assertEqual({epoch for epoch, step in steps if step > saved}, {2})
        explained = self.it.rest.get("/api/v1/usage/explain", kind="Job", project="default", namespace="default", name="low")
        text = json.dumps(explained)
        self.assertIn("queued", text)
        self.assertIn("running", text)

    def test_steps_beyond_the_last_checkpoint_are_counted_as_lost(self) -> None:
        program = self.it.folder / "deaf.py"
        program.write_text(TRAINER.replace("stop.append(1)", "os._exit(1)"))  # saves nothing
        body = job("deaf", ["python3", str(program), str(self.it.folder / "deaf"), "25"], checkpoint={"enabled": True}, grace="10s")
        self.it.submit(body)
        until("six steps are done", lambda: len(self.steps("deaf")) >= 6)
        self.it.submit(job("urgent-2", shell("true"), replicas=2, priority=500))
        self.it.wait_phase("urgent-2", "succeeded")
        done = self.it.wait_phase("deaf", "succeeded")["status"]
        self.assertGreaterEqual(done["stepsLost"], 5)
        self.assertEqual([step for epoch, step in self.steps("deaf") if epoch == 2], list(range(1, 26)))
        report = json.dumps(self.it.rest.get("/api/v1/usage/report"))
        self.assertIn("lostToPreemption", report)

    def test_non_preemptible_work_is_not_disturbed(self) -> None:
        self.it.submit(job("rock", shell("sleep 1.2"), replicas=2, preemptible=False))
        self.it.wait_phase("rock", "running")
        self.it.submit(job("pushy", shell("true"), priority=900))
        done = self.it.wait_phase("rock", "succeeded")["status"]
        self.assertEqual(done.get("preemptions", 0), 0)
        self.it.wait_phase("pushy", "succeeded")


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=8).__enter__()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.it.close()

    def reason(self, name: str, phase: str = "failed") -> dict[str, Any]:
        return self.it.wait_phase(name, phase, timeout=25)["status"]["reason"]

    def test_hung_ranks_are_found(self) -> None:
        beat = 'echo 1 > "$TANDEM_PROGRESS_FILE"; sleep 0.4; echo 2 > "$TANDEM_PROGRESS_FILE"; sleep 60'
        self.it.submit(job("hung", shell(beat), heartbeatTimeout="2s"))
        self.it.submit(job("never-beats", shell("sleep 60"), heartbeatTimeout="2s"))
        self.it.submit(job("mute", shell("echo once; sleep 60"), silenceTimeout="2s"))
        self.it.submit(job("talks", shell("for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 1.2; done"), silenceTimeout="2s"))
        gang = shell('if [ $TANDEM_RANK = 1 ]; then sleep 60; fi; while :; do echo $(date +%N) > "$TANDEM_PROGRESS_FILE"; sleep 0.2; done')
        self.it.submit(job("gang", gang, replicas=2, heartbeatTimeout="2s"))
        for name, code in (("hung", "heartbeatLost"), ("never-beats", "heartbeatLost"), ("mute", "outputSilent"), ("gang", "heartbeatLost")):
            reason = self.reason(name)
            self.assertEqual((name, reason["code"]), (name, code))
        self.assertEqual(self.reason("gang")["params"]["rank"], "1")
        self.it.wait_phase("talks", "succeeded")
        self.assertEqual(self.it.tasks(), {})

    def test_maximum_run_time_ends_an_attempt_also_without_a_server(self) -> None:
        self.it.submit(job("long", shell("sleep 60"), maxRunTime="1s"))
        self.assertEqual(self.reason("long")["code"], "maxRunTimeExceeded")
        self.it.submit(job("alone", shell("sleep 60"), maxRunTime="2s"))
        self.it.wait_phase("alone", "running")
        pid = self.it.tasks()["alone-worker-0"]
        self.it.kill()
        until("the shim ends it", lambda: not Path(f"/proc/{pid}").exists(), 10)
        self.it.start()
        self.assertEqual(self.reason("alone")["code"], "maxRunTimeExceeded")

    def test_failed_attempts_are_tried_again_and_counted(self) -> None:
        self.it.submit(job("third-time", shell("[ $TANDEM_EPOCH -ge 3 ] || exit 4"), retries={"limit": 3, "backoff": "100ms"}))
        done = self.it.wait_phase("third-time", "succeeded")["status"]
        self.assertEqual((done["epoch"], done["failures"]), (3, 2))
        self.it.submit(job("hopeless", shell("exit 4"), retries={"limit": 2, "backoff": "50ms"}))
        failed = self.it.wait_phase("hopeless", "failed")["status"]
        self.assertEqual((failed["epoch"], failed["failures"]), (3, 3))
        self.assertEqual(failed["reason"]["params"]["code"], "4")

    def test_one_dead_rank_ends_the_gang(self) -> None:
        self.it.submit(job("pack", shell("[ $TANDEM_RANK != 2 ] || { sleep 0.3; exit 5; }; sleep 60"), replicas=3))
        reason = self.reason("pack")
        self.assertEqual((reason["code"], reason["params"]["rank"], reason["params"]["code"]), ("exitCode", "2", "5"))
        self.assertFalse([n for n in self.it.tasks() if n.startswith("pack-")])

    def test_tree_that_ignores_term_is_killed_after_the_grace(self) -> None:
        self.it.submit(job("stubborn", shell("trap '' TERM; (trap '' TERM; sleep 61) & sleep 61; sleep 61"), grace="1s"))
        self.it.wait_phase("stubborn", "running")
        pid = self.it.tasks()["stubborn-worker-0"]
        self.it.tandem("job", "cancel", "stubborn")
        self.it.wait_phase("stubborn", "cancelled")
        self.assertFalse(Path(f"/proc/{pid}").exists())

    def test_torchrun_ranks_get_their_contract(self) -> None:
        command = shell('echo $RANK/$WORLD_SIZE/$LOCAL_RANK $MASTER_ADDR:$MASTER_PORT')
        self.it.submit(job("ranks", command, replicas=3, template="torchrun"))
        self.it.wait_phase("ranks", "succeeded")
        said = [self.it.rest.ask("GET", f"{REPLICAS}/ranks-worker-{rank}/logs").text.split() for rank in range(3)]
        self.assertEqual([one[0] for one in said], ["0/3/0", "1/3/0", "2/3/0"])
        self.assertEqual(len({one[1] for one in said}), 1)

    def test_outputs_are_kept_by_digest_and_a_missing_one_fails_the_job(self) -> None:
        outputs = [{"name": "result", "path": "result.txt"}]
        self.it.submit(job("writes", shell('echo 42 > "$TANDEM_OUTPUT_DIR/result.txt"'), outputs=outputs))
        kept = self.it.wait_phase("writes", "succeeded")["status"]["outputs"][0]
        self.assertEqual((kept["name"], kept["bytes"]), ("result", 3))
        digest = kept["digest"].removeprefix("sha256:")
        found = list((self.it.home / "blobs").rglob(f"{digest[2:]}*")) + list((self.it.home / "blobs").rglob(f"{digest}*"))
        self.assertEqual(found[0].read_text(), "42\n")
        self.it.submit(job("forgets", shell("true"), outputs=outputs))
        self.assertEqual(self.reason("forgets")["code"], "outputMissing")


if __name__ == "__main__":
    unittest.main()

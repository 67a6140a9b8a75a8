#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""How running work is told and ended: silence is found in time; a model server that ends at its start says how, its output
stays readable, and calls don't wait for it; verbs say what they did; the same weights are one version."""

from __future__ import annotations

import http.client
import json
import os
import signal
import struct
import subprocess
import sys
import time
import unittest
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import REPLICAS, TANDEM, Installation, job, shell, until  # noqa: E402

SERVICES = "/api/v1/projects/default/namespaces/default/services"


def weights() -> bytes:
    """The header of a GGUF file of one tensor, and the tensor."""
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text("general.architecture") + struct.pack("<I", 8) + text("llama")
    head += text("weights") + struct.pack("<IQQIQ", 2, 64, 64, 0, 0)
    return head + b"\0" * (-len(head) % 32 + 64 * 64 * 4)


def seconds_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


class EndsTold(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=4).__enter__()
        cls.file = cls.it.folder / "tiny.gguf"
        cls.file.write_bytes(weights())
        cls.it.tandem("model", "push", "tiny", str(cls.file))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.it.close()

    def serve(self, name: str, script: str, **replicas: Any) -> None:
        runtime = {"apiVersion": "tandem/v1", "kind": "Runtime", "metadata": {"name": name},
                   "spec": {"command": ["sh", "-c", script, "{port}"], "readyTimeout": "20s"}}
        service = {"apiVersion": "tandem/v1", "kind": "Service", "metadata": {"name": name, "project": "default", "namespace": "default"},
                   "spec": {"model": "tiny", "runtime": name, "resources": {"devices": 1, "flavor": "cpu-slice"},
                            "replicas": {"min": 0, "max": 1} | replicas, "drainTimeout": "1s"}}
        self.it.rest.call("POST", "/api/v1/runtimes", runtime)
        self.it.rest.call("POST", SERVICES, service)

    def drop(self, name: str) -> None:
        self.it.rest.call("DELETE", f"{SERVICES}/{name}")
        until("the service is gone", lambda: self.it.rest.ask("GET", f"{SERVICES}/{name}").status == 404, 20)

    # ---- silence ----

    def test_silence_and_missing_heartbeats_are_found_in_time(self) -> None:
        beat = "echo 1 > $TANDEM_PROGRESS_FILE; exec sleep 60"
        for name, command, limit in (("silent", "echo here; exec sleep 60", {"silenceTimeout": "2s"}),
                                     ("stuck", beat, {"heartbeatTimeout": "2s"})):
            with self.subTest(name):
                self.it.submit(job(name, shell(command), **limit))
                status = self.it.wait_phase(name, "failed")["status"]
                self.assertIn(status["reason"]["code"], ("outputSilent", "heartbeatLost"))
                took = seconds_between(status["started"], status["finished"])
                self.assertGreaterEqual(took, 2)
                self.assertLess(took, 3.6)  # 2 s, at most 1 s to find it, and its end

    def test_work_that_is_slow_but_not_silent_goes_on(self) -> None:
        self.it.submit(job("slow", shell("for i in 1 2 3 4 5; do echo $i; sleep 0.8; done"), silenceTimeout="2s"))
        beats = shell("for i in 1 2 3 4 5; do echo $i > $TANDEM_PROGRESS_FILE; sleep 0.8; done")
        self.it.submit(job("beating", beats, heartbeatTimeout="2s"))
        for name in ("slow", "beating"):
            self.it.wait_phase(name, "succeeded")

    # ---- model servers that end ----

    def test_model_server_that_ends_at_its_start_tells_how(self) -> None:
        self.serve("broken", "echo loading; echo 'error: unknown flag --bad' >&2; exit 7", min=1)
        status = until("its end is told",
                       lambda: (s := self.it.rest.get(f"{SERVICES}/broken")["status"])["reason"]["code"] == "replicaEnded" and s, 20)
        self.assertEqual(status["reason"]["params"]["code"], "7")
        for verb in ("why", "describe", "events"):
            told = self.it.tandem(verb, "service/broken")
            self.assertIn("ended with exit code 7", told, verb)
            self.assertIn("error: unknown flag --bad", told, verb)
        self.assertIn("error: unknown flag --bad", self.it.tandem("logs", "service/broken"))
        dead = self.it.rest.get(f"{SERVICES}/broken")["status"]["lastFailure"]["replica"]
        self.assertIn("loading", self.it.tandem("logs", f"replica/{dead}"))
        self.drop("broken")

    def test_replica_that_is_killed_is_told_so(self) -> None:
        self.serve("killed", "exec sleep 60", min=1)
        until("a probe has failed", lambda: [r for r in self.it.rest.list(REPLICAS) if r["spec"]["ownerName"] == "killed"
                                             and r["status"].get("reason", {}).get("code") == "replicaFailed"], 20)
        pid = next(pid for name, pid in self.it.tasks().items() if name.startswith("killed"))
        os.kill(pid, signal.SIGKILL)
        until("its end is told", lambda: "was ended by signal 9" in self.it.tandem("why", "service/killed"), 10, 0.2)
        self.drop("killed")

    def test_calls_of_a_service_that_fails_to_start_are_refused_at_once(self) -> None:
        self.serve("failing", "sleep 0.5; echo secret-words >&2; exit 3")
        record = self.it.home / "run/gateway.json"
        gateway = subprocess.Popen([str(TANDEM), "gateway", "--gateway", "127.0.0.1:0"], env=self.it.environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until("the gateway is ready", lambda: record.exists() and record.read_text(), 20)
            port = int(json.loads(record.read_text())["url"].rsplit(":", 1)[1])
            for _ in range(2):  # the first is held until its start has failed
                began = time.monotonic()
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                connection.request("POST", "/v1/chat/completions", json.dumps({"model": "failing", "messages": []}),
                                   {"Authorization": f"Bearer {self.it.admin_key}", "Content-Type": "application/json"})
                answer = connection.getresponse()
                body = answer.read().decode()
                connection.close()
                self.assertEqual(answer.status, 503, body)
                self.assertLess(time.monotonic() - began, 15)
                self.assertEqual(json.loads(body)["error"]["code"], "model_unavailable")
                self.assertIn("exit code 3", body)
                self.assertNotIn("secret-words", body)
                self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)
        finally:
            gateway.terminate()
            gateway.wait(40)
        self.drop("failing")

    # ---- verbs ----

    def test_verbs_say_what_they_did(self) -> None:
        self.it.submit(job("verbs", shell("sleep 60")))
        self.it.wait_phase("verbs", "running")
        self.assertIn("goes on", self.it.tandem("job", "hold", "verbs"))
        self.it.tandem("job", "release", "verbs")
        self.it.tandem("job", "suspend", "verbs")
        self.it.wait_phase("verbs", "pending")
        refused = self.it.run("job", "retry", "verbs")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("resume", refused.stderr)
        self.it.tandem("job", "cancel", "verbs")
        self.it.wait_phase("verbs", "cancelled")
        self.assertIn("tandem job resume verbs", self.it.tandem("job", "retry", "verbs"))
        self.it.tandem("job", "resume", "verbs")
        self.it.wait_phase("verbs", "running")
        told = self.it.tandem("events", "job/verbs")
        for text in ("suspended by user:admin", "resumed by user:admin"):
            self.assertIn(text, told)
        report = {line["state"] for line in self.it.rest.get("/api/v1/usage/report")["devices"]}
        self.assertLessEqual({"suspended", "lostToRequest"}, report)
        self.assertNotIn("lostToPreemption", report)
        self.it.tandem("job", "cancel", "verbs")
        self.it.wait_phase("verbs", "cancelled")
        self.assertEqual(self.it.recount(), "")

    def test_same_weights_are_one_version(self) -> None:
        self.assertIn("already version 1 of tiny", self.it.tandem("model", "push", "tiny", str(self.file)))
        path = "/api/v1/projects/default/namespaces/default/models/tiny/versions"
        digest = self.it.rest.list("/api/v1/projects/default/namespaces/default/modelversions")[0]["spec"]["digest"]
        again = self.it.rest.ask("POST", path, {"digest": digest})
        self.assertEqual((again.status, again.json["metadata"]["name"]), (200, "tiny.v1"), again.text)
        self.assertEqual(len(self.it.rest.list("/api/v1/projects/default/namespaces/default/modelversions")), 1)


if __name__ == "__main__":
    unittest.main()

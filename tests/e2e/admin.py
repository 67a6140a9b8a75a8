#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What keeps an installation in its owner's hands: the last admin can't go, a key is recovered offline, blobs that nothing
refers to are collected, replay segments follow each other while the server works, a start that can't listen leaves nothing."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import TANDEM, Installation, job, shell, until  # noqa: E402
from rest import Refused  # noqa: E402


class Admin(unittest.TestCase):
    def setUp(self) -> None:
        self.it = Installation(slices=2).__enter__()
        self.addCleanup(self.it.close)

    def test_last_admin_stays_and_its_owner_recovers_a_key(self) -> None:
        for path in ("keys/admin", "users/admin", "rolebindings/admin"):
            answer = self.it.rest.ask("DELETE", f"/api/v1/{path}")
            self.assertEqual(answer.status, 409, answer.text)
            self.assertIn("make another admin first", answer.text)
        running = self.it.run("admin", "recover-key")
        self.assertEqual(running.returncode, 1)
        self.assertIn("tandem down first", running.stderr)
        old = self.it.admin_key
        self.it.stop()
        self.assertIn("admin.key", self.it.tandem("admin", "recover-key"))
        self.assertNotEqual(self.it.admin_key, old)
        self.assertEqual((self.it.home / "recovery.json").stat().st_mode & 0o077, 0)
        self.assertNotIn(self.it.admin_key, (self.it.home / "recovery.json").read_text())
        self.it._rest = None
        self.it.start()
        self.assertFalse((self.it.home / "recovery.json").exists())
        rows = self.it.rest.get("/api/v1/audit")["items"]  # the new key opens it
        recovered = [row for row in rows if row["caller"].get("requestId") == "recover-key"]
        self.assertTrue(any(row["object"].startswith("admin-recovered-") for row in recovered), recovered)
        # With a second way in, the first may go.
        self.it.rest.call("DELETE", "/api/v1/keys/admin")
        with self.assertRaises(Refused):
            self.it.rest_as(old).get("/api/v1/whoami")

    def test_refused_model_and_what_it_leaves_behind_is_collected(self) -> None:
        bytes_ = b"GGUFxx, but no model"
        digest = "sha256:" + hashlib.sha256(bytes_).hexdigest()
        (self.it.folder / "bad.gguf").write_bytes(bytes_)
        refused = self.it.run("model", "push", "bad", str(self.it.folder / "bad.gguf"))
        self.assertNotEqual(refused.returncode, 0)
        blob = self.it.home / "blobs/sha256" / digest[7:9] / digest[7:]
        self.assertTrue(blob.exists(), refused.stderr)
        self.assertEqual(self.it.rest.call("POST", "/api/v1/admin/collect-blobs")["blobs"], 0)  # for a day
        self.it.submit(job("makes", shell("echo kept > $TANDEM_OUTPUT_DIR/f"), outputs=[{"name": "f", "path": "f"}]))
        kept = self.it.wait_phase("makes", "succeeded")["status"]["outputs"][0]["digest"]
        used = self.it.home / "blobs/sha256" / kept[7:9] / kept[7:]
        for file in (blob, used):
            os.utime(file, (time.time() - 90_000,) * 2)
        self.assertEqual(self.it.tandem("admin", "collect-blobs").split()[0], "1")
        self.assertEqual((blob.exists(), used.exists()), (False, True))
        metrics = self.it.rest.ask("GET", "/metrics").text
        self.assertIn("tandem_blobs_collected_total 1", metrics)

    def test_ended_tasks_are_settled_once_stored(self) -> None:
        self.it.submit(job("short", shell("echo hello")))
        self.it.wait_phase("short", "succeeded")
        until("its folder has moved aside", lambda: not list((self.it.home / "tasks").iterdir()), 5)
        self.assertEqual(self.it.tandem("logs", "job/short").strip(), "hello")

    def test_exported_history_is_for_its_owner_alone(self) -> None:
        file = self.it.folder / "history.ndjson"
        file.write_text("of before")
        file.chmod(0o644)
        self.it.tandem("admin", "export-history", str(file))
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertTrue(json.loads(file.read_text().splitlines()[0])["segment"])


class Segments(unittest.TestCase):
    def test_segments_follow_each_other_while_the_server_works(self) -> None:
        with Installation(slices=2, **{"--segment-mib": "1", "--history-mib": "64"}) as it:
            note = "x" * 60_000
            def segments() -> list[int]:
                out = it.folder / "h.ndjson"
                it.tandem("admin", "export-history", str(out))
                lines = [json.loads(line) for line in out.read_text().splitlines() if line.startswith('{"segment"')]
                return [line["segment"]["number"] for line in lines]
            for number in range(40):
                it.submit(job(f"j{number}", shell("true"), env={"NOTE": note}))
            for number in range(40):
                it.wait_phase(f"j{number}", "succeeded", timeout=60)
            self.assertGreaterEqual(len(segments()), 3)
            self.assertEqual(it.recount(), "")
            it.restart()
            it.submit(job("last", shell("true")))
            it.wait_phase("last", "succeeded")
            self.assertEqual(it.recount(), "")


class Up(unittest.TestCase):
    def test_up_on_a_busy_port_leaves_no_home(self) -> None:
        with Installation(slices=1) as it, socket.create_server(("127.0.0.1", 0)) as taken:
            home = it.folder / "other"
            busy = f"127.0.0.1:{taken.getsockname()[1]}"
            for option in ("--listen", "--gateway"):
                other = "--gateway" if option == "--listen" else "--listen"
                done = subprocess.run([str(TANDEM), "up", option, busy, other, "127.0.0.1:0"], text=True, capture_output=True,
                                      env=it.environment | {"TANDEM_HOME": str(home)}, timeout=60)
                self.assertEqual(done.returncode, 5, done.stdout)
                self.assertIn(f"{busy} is in use", done.stderr)
                self.assertIn(option, done.stderr)
                self.assertFalse(home.exists())


if __name__ == "__main__":
    unittest.main()

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
        self.assertEqual(running.returncode, 5)
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

    def test_recovered_key_revokes_the_other_admins_when_told_to(self) -> None:
        self.it.tandem("key", "create", "second", "--subject", "user:admin")
        self.it.rest.call("POST", "/api/v1/users", {"apiVersion": "tandem/v1", "kind": "User", "metadata": {"name": "ann"}})
        ann = self.it.tandem("key", "create", "ann", "--subject", "user:ann").strip()
        old = self.it.admin_key
        self.it.stop()
        told = json.loads(self.it.tandem("admin", "recover-key", "--revoke-others", "-o", "json"))
        self.assertTrue(told["revokeOthers"])
        self.addCleanup(self.it.run, "down", timeout=60)
        up = self.it.tandem("up", *self.it.words, timeout=60)
        self.assertIn("revoked  key/admin, key/second\n", up)
        self.assertNotIn("revoked", self.it.tandem("up", timeout=60))  # told once
        self.it._rest = None
        keys = {key["metadata"]["name"]: key["spec"]["revoked"] for key in self.it.rest.get("/api/v1/keys")["items"]}
        self.assertEqual({name for name, revoked in keys.items() if revoked}, {"admin", "second"})
        with self.assertRaises(Refused):
            self.it.rest_as(old).get("/api/v1/whoami")
        self.assertEqual(self.it.rest_as(ann).get("/api/v1/whoami")["subject"], "user:ann")

    def test_lost_secret_is_not_made_anew_by_itself(self) -> None:
        self.it.stop()
        (self.it.home / "secret").unlink()
        for words in (("server", *self.it.words), ("up", *self.it.words), ("doctor",)):
            refused = self.it.run(*words, timeout=60)
            self.assertNotEqual(refused.returncode, 0, words)
            self.assertIn("tandem admin new-secret", refused.stderr + refused.stdout)
            self.assertFalse((self.it.home / "secret").exists())
        self.assertIn("model server", self.it.tandem("admin", "new-secret"))
        self.assertEqual((self.it.home / "secret").stat().st_mode & 0o077, 0)
        self.it.start()
        self.assertEqual(self.it.run("admin", "new-secret").returncode, 5)  # a server runs

    def test_doctor_finds_a_damaged_store_and_a_backup_brings_it_back(self) -> None:
        for number in range(300):
            self.it.submit(job(f"j{number}", shell("true"), suspend=True))
        backup = self.it.folder / "good.backup"
        self.it.tandem("admin", "backup", str(backup))
        self.assertEqual(self.it.run("doctor").returncode, 0)
        self.it.stop()
        self.assertEqual(self.it.run("doctor").returncode, 0)
        store = self.it.home / "tandem.db"
        with store.open("r+b") as file:
            for page in range(20, store.stat().st_size // 4096, 7):
                file.seek(page * 4096)
                file.write(b"\xa5" * 512)
        broken = self.it.run("doctor", "-o", "json")
        self.assertEqual(broken.returncode, 1, broken.stdout)
        found = [one for one in json.loads(broken.stdout)["findings"] if one["grade"] == "problem"]
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0]["finding"], "^store: .*(damaged|malformed)")
        self.assertIn("tandem admin restore", found[0]["advice"])
        self.it.tandem("admin", "restore", str(backup))  # also while no server runs
        self.it.start()
        self.assertEqual(self.it.run("doctor").returncode, 0)
        self.assertEqual(len(self.it.rest.list("/api/v1/projects/default/namespaces/default/jobs")), 300)

    def test_host_verbs_answer_programs_and_use_the_stable_exit_codes(self) -> None:
        out = self.it.folder
        for words in (("check",), ("backup", str(out / "b1")), ("export-history", str(out / "h")), ("collect-blobs",),
                      ("tasks", "list"), ("tasks", "end", "--all"), ("restore", str(out / "b1"))):
            with self.subTest(words):
                self.assertIsInstance(json.loads(self.it.tandem("admin", *words, "-o", "json")), dict)
        (self.it.home / "tandem.db.restore").unlink()
        doctor = json.loads(self.it.tandem("doctor", "-o", "json"))
        self.assertTrue(doctor["well"])
        self.assertTrue(any("2 devices of flavor cpu-slice" in one["finding"] for one in doctor["findings"]), doctor)
        self.assertIn("grade: ok", self.it.tandem("doctor", "--output=yaml"))
        for words, code in (((), 2), (("chek",), 2), (("backup",), 2), (("check", "-o", "xml"), 2), (("tasks", "end"), 2),
                            (("backup", str(out / "b1")), 5), (("tasks", "end", "nothing"), 3),
                            (("restore", str(out / "none")), 2)):
            with self.subTest(words):
                refused = self.it.run("admin", *words)
                self.assertEqual(refused.returncode, code, refused.stderr)
                self.assertEqual(refused.stdout, "")
        self.it.stop()
        self.assertEqual(self.it.run("admin", "check").returncode, 6)

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
    def test_up_with_other_options_says_what_differs_and_changes_nothing(self) -> None:
        with Installation(slices=2) as it:
            again = it.run("up", "--gateway", "127.0.0.1:0", timeout=60)  # the gateway is started beside it
            self.addCleanup(it.run, "down", timeout=60)
            self.assertEqual(again.returncode, 0, again.stderr)
            same = it.tandem("up", "--slices", "2", timeout=60)
            self.assertIn("already running; nothing changed", same)
            before = it.tandem("status", "-o", "json")
            other = it.run("up", "--slices", "1", "--log-level", "debug", timeout=60)
            self.assertEqual(other.returncode, 5)
            for text in ("--slices runs with 2, asked for is 1", "--log-level runs with info, asked for is debug", "tandem down"):
                self.assertIn(text, other.stderr)
            self.assertIn("server ", other.stdout)
            self.assertEqual(it.tandem("status", "-o", "json"), before)

    def test_up_with_more_slices_than_there_are_leaves_no_home(self) -> None:
        with Installation(slices=1) as it:
            home = it.folder / "other"
            environment = it.environment | {"TANDEM_HOME": str(home)}
            for verb in ("up", "server"):
                done = subprocess.run([str(TANDEM), verb, "--slices", "100000", "--over-commit", "1", "--listen", "127.0.0.1:0",
                                       "--gateway", "127.0.0.1:0"], text=True, capture_output=True, env=environment, timeout=60)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("--slices: must be 1..", done.stderr)
                self.assertFalse(home.exists())

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

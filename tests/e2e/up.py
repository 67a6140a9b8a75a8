#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `up`, `status` and `doctor` make of a home in which something is wrong, and of TLS: each fault is named with the
way out, before anything starts, and nothing that was there is lost over it."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import unittest
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import TANDEM, Installation  # noqa: E402


def make_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
         f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", str(certificate), "-keyout", str(key)],
        check=True, capture_output=True)
    return certificate, key


class Running(unittest.TestCase):
    """With a server that runs."""

    def setUp(self) -> None:
        self.it = Installation(slices=2).__enter__()
        self.addCleanup(self.it.close)

    def findings(self, code: int) -> dict[str, list[dict[str, str]]]:
        done = self.it.run("doctor", "-o", "json")
        self.assertEqual(done.returncode, code, done.stdout)
        by_grade: dict[str, list[dict[str, str]]] = {"ok": [], "warning": [], "problem": []}
        for one in json.loads(done.stdout)["findings"]:
            by_grade[one["grade"]].append(one)
        return by_grade

    def assert_key_is_at_fault(self, what: str) -> None:
        found = self.findings(1)
        self.assertEqual(len(found["problem"]), 1, found)
        self.assertIn(what, found["problem"][0]["finding"])
        self.assertIn("tandem admin recover-key", found["problem"][0]["advice"])
        undone = [one for one in found["warning"] if one["finding"].startswith("store: not done")]
        self.assertEqual(len(undone), 1, found)
        self.assertNotIn("restore", json.dumps(found))

    def test_lost_admin_key_is_told_and_the_store_is_not_blamed(self) -> None:
        key = self.it.home / "admin.key"
        key.rename(self.it.folder / "aside")
        self.assert_key_is_at_fault("admin.key is missing")
        self.assertIn("not known", self.it.run("status").stdout)
        (self.it.folder / "aside").rename(key)
        self.assertFalse(self.findings(0)["problem"])

    def test_revoked_admin_key_is_told_and_the_store_is_not_blamed(self) -> None:
        self.it.tandem("key", "create", "second", "--subject", "user:admin")
        self.it.tandem("key", "revoke", "admin")
        self.assert_key_is_at_fault("not let in")

    def test_status_tells_programs_the_tasks_too(self) -> None:
        self.assertEqual(json.loads(self.it.run("status", "-o", "json").stdout)["tasksAlive"], 0)

    def test_secret_that_others_may_read_is_told(self) -> None:
        (self.it.home / "secret").chmod(0o644)
        problem = self.findings(1)["problem"][0]
        self.assertIn("open to other users", problem["finding"])
        self.assertIn("chmod 600", problem["advice"])

    def test_truncated_secret_is_refused_and_stays_for_its_owner(self) -> None:
        secret = self.it.home / "secret"
        whole = secret.read_text()
        self.it.stop()
        secret.write_text(whole[:10])
        for words in (("up", *self.it.words), ("server", *self.it.words), ("doctor",)):
            refused = self.it.run(*words, timeout=60)
            self.assertNotEqual(refused.returncode, 0, words)
            self.assertIn("holds 10 bytes, 43 are right", refused.stderr + refused.stdout)
            self.assertEqual(secret.read_text(), whole[:10])
        secret.write_text(whole)
        self.it.start()

    def test_up_on_a_damaged_store_says_the_cause_alone_and_where_to_look(self) -> None:
        self.it.stop()
        store = self.it.home / "tandem.db"
        for rest in ("-wal", "-shm"):
            Path(f"{store}{rest}").unlink(missing_ok=True)
        store.write_bytes(b"no store at all" * 1000)
        refused = self.it.run("up", *self.it.words, timeout=60)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("tandem server: ", refused.stderr)
        self.assertNotIn('{"', refused.stderr)  # no lines of the log
        self.assertIn("tandem doctor", refused.stderr)
        self.assertIn("tandem admin restore", self.it.run("doctor").stdout)


class Up(unittest.TestCase):
    """With the whole installation started by `up`."""

    def setUp(self) -> None:
        self.it = Installation(slices=2)
        self.addCleanup(self.it.close)
        self.addCleanup(self.it.run, "down", timeout=60)

    def up(self, *more: str, words: tuple[str, ...] | None = None) -> subprocess.CompletedProcess[str]:
        return self.it.run("up", *(self.it.words if words is None else words), *more, timeout=60)

    def test_up_answers_programs(self) -> None:
        for changed in (True, False):
            done = self.up("-o", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            told = json.loads(done.stdout)
            self.assertEqual((told["changed"], told["server"]["running"], told["gateway"]["running"]), (changed, True, True))
        other = self.up("--slices", "0", words=())
        self.assertIn("--slices runs with 2, asked for is one a core", other.stderr)

    def test_broken_options_are_refused_and_kept(self) -> None:
        self.assertEqual(self.up().returncode, 0)
        self.it.tandem("down", timeout=60)
        file = self.it.home / "options.json"
        good = file.read_text()
        for broken, fault in (("{bad", "line 1"), (good.replace('"slices":2', '"slices":"two"'), "slices: must be a whole number"),
                              (good.replace('"slices"', '"slizes"'), "slizes: is not a known option"), ("[]", "must be an object")):
            with self.subTest(broken):
                file.write_text(broken)
                for verb in ("up", "server", "gateway"):
                    refused = self.it.run(verb, timeout=60)
                    self.assertEqual(refused.returncode, 2, refused.stdout)
                    for text in (str(file), fault, "put it right, or remove the file"):
                        self.assertIn(text, refused.stderr)
                self.assertEqual(file.read_text(), broken)
                self.assertIn(str(file), self.it.run("doctor").stdout)
        file.write_text(good)
        self.assertEqual(self.up(words=()).returncode, 0)

    def test_wrong_tls_files_are_named_by_their_option_before_anything_starts(self) -> None:
        certificate, key = make_certificate(self.it.folder, "one")
        _, other = make_certificate(self.it.folder, "other")
        junk = self.it.folder / "junk.pem"
        junk.write_text("no PEM\n")
        for c, k, option, fault in (
                (certificate, None, "--tls-key", "is needed"), (None, key, "--tls-certificate", "is needed"),
                (self.it.folder / "none.pem", key, "--tls-certificate", "No such file"), (certificate, junk, "--tls-key", "junk.pem"),
                (junk, key, "--tls-certificate", "junk.pem"), (certificate, other, "--tls-key", "does not belong")):
            with self.subTest(f"{c} {k}"):
                words = [w for pair in (("--tls-certificate", c), ("--tls-key", k)) if pair[1] for w in map(str, pair)]
                refused = self.up(*words)
                self.assertEqual(refused.returncode, 2, refused.stderr)
                self.assertIn(f"{option}: ", refused.stderr)
                self.assertIn(fault, refused.stderr)
                self.assertFalse(self.it.home.exists())

    def test_tls_on_loopback_is_spoken_by_both_and_kept_by_absolute_paths(self) -> None:
        certificate, key = make_certificate(self.it.folder, "one")
        done = subprocess.run([str(TANDEM), "up", *self.it.words, "--tls-certificate", certificate.name, "--tls-key", key.name],
                              env=self.it.environment, cwd=self.it.folder, text=True, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        kept = json.loads((self.it.home / "options.json").read_text())
        self.assertEqual((kept["tlsCertificate"], kept["tlsKey"]), (str(certificate.resolve()), str(key.resolve())))
        trust = ssl.create_default_context(cafile=str(certificate))
        for name in ("server", "gateway"):
            url = json.loads((self.it.home / f"run/{name}.json").read_text())["url"]
            self.assertTrue(url.startswith("https://"), url)
            with urllib.request.urlopen(f"{url}/healthz", context=trust, timeout=10) as answer:
                self.assertEqual(answer.status, 200)
        self.assertTrue(self.it.rest.get("/api/v1/version")["gateway"].startswith("https://"))
        self.it.tandem("down", timeout=60)
        off = self.up("--tls-certificate", "", "--tls-key", "")
        self.assertEqual(off.returncode, 0, off.stderr)
        self.assertIn("server   http://", off.stdout)
        self.assertIn("gateway  http://", off.stdout)


if __name__ == "__main__":
    unittest.main()

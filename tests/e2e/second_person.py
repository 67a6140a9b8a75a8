#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second person works in an own project with an own key; what is not theirs is not there; denied acts are on record; no
secret is ever printed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import JOBS, ROOT, TANDEM, Installation, job, shell, until  # noqa: E402

RIDE_JOBS = "/api/v1/projects/ride/namespaces/default/jobs"


def binding(name: str, subject: str, role: str, project: str = "") -> dict[str, Any]:
    spec = {"subject": subject, "role": role} | ({"project": project} if project else {})
    return {"apiVersion": "tandem/v1", "kind": "RoleBinding", "metadata": {"name": name}, "spec": spec}


class SecondPerson(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=4).__enter__()
        cls.it.tandem("apply", "-f", str(ROOT / "examples/tiny-gpt/project.yaml"))
        cls.ada = cls.it.tandem("key", "create", "ada-laptop", "--subject", "user:ada").strip()
        cls.keys = [cls.it.admin_key, cls.ada]
        cls.said = ""

    @classmethod
    def tearDownClass(cls) -> None:
        cls.it.close()

    def as_ada(self, code: int, *words: str, **more: str) -> str:
        done = self.it.run(*words, key=self.ada, **more)
        type(self).said += done.stdout + done.stderr
        self.assertEqual(done.returncode, code, f"tandem {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def user_with(self, name: str, role: str, project: str = "") -> Any:
        self.it.rest.call("POST", "/api/v1/users", {"apiVersion": "tandem/v1", "kind": "User", "metadata": {"name": name}})
        self.it.rest.call("POST", "/api/v1/rolebindings", binding(name, f"user:{name}", role, project))
        key = self.it.tandem("key", "create", name, "--subject", f"user:{name}").strip()
        self.keys.append(key)
        return self.it.rest_as(key)

    def audit(self) -> list[dict[str, Any]]:
        rows, after = [], 0
        while page := self.it.rest.get("/api/v1/audit", after=after)["items"]:
            rows += page
            after = page[-1]["sequence"]
        return rows

    def test_works_in_the_own_project(self) -> None:
        self.assertIn("user:ada", self.as_ada(0, "whoami"))
        said = self.as_ada(3, "run", "-p", "ride", "--", "sh", "-c", "echo mine; exit 3")
        self.assertIn("mine", said)
        self.assertIn("run-", self.as_ada(0, "get", "jobs", "-p", "ride"))
        self.as_ada(0, "queue")
        self.as_ada(0, "node")

    def test_other_projects_are_not_there(self) -> None:
        self.it.submit(job("admins", shell("sleep 0.1; echo private")))
        self.it.wait_phase("admins", "succeeded")
        self.as_ada(3, "get", "job", "admins")
        self.as_ada(3, "logs", "job/admins")
        self.as_ada(3, "why", "job/admins")
        self.as_ada(3, "delete", "job", "admins")
        self.as_ada(3, "job", "cancel", "admins")
        self.assertNotIn("admins", self.as_ada(0, "get", "jobs", "-A"))
        self.assertNotIn("admins", self.as_ada(0, "events"))
        ada = self.it.rest_as(self.ada)
        ghost, hidden = (ada.ask("GET", f"{JOBS}/{name}") for name in ("no-such-job", "admins"))
        self.assertEqual((ghost.status, hidden.status), (404, 404))
        same = {"requestId", "detail"}
        self.assertEqual({k: v for k, v in ghost.json.items() if k not in same},
                         {k: v for k, v in hidden.json.items() if k not in same})
        self.assertEqual(ghost.json["detail"].replace("no-such-job", "admins"), hidden.json["detail"])

    def test_watch_shows_the_own_alone(self) -> None:
        ada = self.it.rest_as(self.ada)
        version = self.it.rest.get(JOBS, limit=1)["metadata"]["resourceVersion"]
        self.it.submit(job("secret-plan", shell("true"), suspend=True))
        mine = job("plan", shell("true"), suspend=True)
        mine["metadata"]["project"] = "ride"
        ada.call("POST", RIDE_JOBS, mine)
        for event in ada.watch("/api/v1/jobs", 10, resourceVersion=version):
            if event.kind == "bookmark":
                continue
            self.assertEqual(event.data["metadata"]["name"], "plan")
            break

    def test_denied_acts_are_refused_and_on_record(self) -> None:
        before = len(self.audit())
        queue = "apiVersion: tandem/v1\nkind: Queue\nmetadata: {name: mine}\n"
        self.assertIn("user:ada", self.as_ada(4, "apply", "-f", "-", stdin=queue))
        self.as_ada(4, "key", "create", "root", "--subject", "user:admin")
        mighty = json.dumps(binding("mighty", "user:ada", "platform-admin"))
        self.as_ada(4, "apply", "-f", "-", stdin=mighty)
        self.as_ada(3, "audit")  # what is not hers is not there
        self.assertEqual(self.it.rest_as("td_aaaaaaaaaaaa_guess").ask("GET", JOBS).status, 401)

        def denied() -> list[dict[str, Any]]:
            return [row for row in self.audit()[before:] if not row.get("allowed")]

        until("five denials are on record", lambda: sum(row.get("count", 1) or 1 for row in denied()) >= 5, 10)
        rows = denied()
        self.assertIn("unknown", {row["caller"]["subject"] for row in rows})
        self.assertGreaterEqual(sum(row["caller"]["subject"] == "user:ada" for row in rows), 4)
        self.assertTrue(all(row["hash"] for row in rows))
        for kind, name in (("queues", "mine"), ("rolebindings", "mighty"), ("keys", "root")):
            self.assertEqual(self.it.rest.ask("GET", f"/api/v1/{kind}/{name}").status, 404)

    def test_everybody_sees_and_revokes_their_own_keys(self) -> None:
        mine = self.it.tandem("key", "create", "ada-old", "--subject", "user:ada").strip()
        self.keys.append(mine)
        ada = self.it.rest_as(self.ada)
        names = {item["metadata"]["name"] for item in ada.list("/api/v1/keys")}
        self.assertTrue({"ada-laptop", "ada-old"} <= names)
        self.assertTrue(all(item["spec"]["subject"] == "user:ada" for item in ada.list("/api/v1/keys")))
        self.assertIn("ada-old", self.as_ada(0, "key", "list"))
        self.assertEqual([i["metadata"]["name"] for i in ada.list("/api/v1/keys", fieldSelector="metadata.name=ada-old")], ["ada-old"])
        others = [i["metadata"]["name"] for i in self.it.rest.list("/api/v1/keys") if i["spec"]["subject"] != "user:ada"]
        self.assertTrue(others)
        self.as_ada(3, "get", "key", others[0])
        self.as_ada(3, "key", "revoke", others[0])
        version = ada.ask("GET", "/api/v1/keys").json["metadata"]["resourceVersion"]
        self.keys.append(self.it.tandem("key", "create", "roots-own").strip())
        self.as_ada(0, "key", "revoke", "ada-old")
        for event in ada.watch("/api/v1/keys", 10, resourceVersion=version):
            if event.kind != "bookmark":
                self.assertEqual(event.data["metadata"]["name"], "ada-old")
                break
        self.assertEqual(self.it.rest_as(mine).ask("GET", "/api/v1/whoami").status, 401)
        self.assertEqual(ada.ask("GET", "/api/v1/whoami").status, 200)

    def test_roles_may_what_they_should(self) -> None:
        caller = self.user_with("carl", "app-caller", "ride")
        auditor = self.user_with("otto", "auditor")
        body = job("by-role", shell("true"), suspend=True)
        body["metadata"]["project"] = "ride"
        self.assertIn(caller.ask("POST", RIDE_JOBS, body).status, (403, 404))
        self.assertIn(caller.ask("GET", RIDE_JOBS).status, (200, 403, 404))
        self.assertIn(caller.ask("GET", "/api/v1/audit").status, (403, 404))
        self.assertEqual(auditor.ask("GET", "/api/v1/audit").status, 200)
        self.assertEqual(auditor.ask("POST", RIDE_JOBS, body).status, 403)
        self.assertEqual(self.it.rest_as(self.ada).ask("POST", RIDE_JOBS, body).status, 201)

    def test_key_narrowed_to_inference_and_disabled_user(self) -> None:
        key = self.it.tandem("key", "create", "app", "--subject", "user:ada", "--inference-only").strip()
        self.keys.append(key)
        body = job("by-app", shell("true"))
        body["metadata"]["project"] = "ride"
        self.assertIn(self.it.rest_as(key).ask("POST", RIDE_JOBS, body).status, (403, 404))
        rest = self.user_with("fired", "algorithm-user", "ride")
        self.assertEqual(rest.ask("GET", RIDE_JOBS).status, 200)
        user = {"apiVersion": "tandem/v1", "kind": "User", "metadata": {"name": "fired"}, "spec": {"disabled": True}}
        self.it.rest.call("PUT", "/api/v1/users/fired", user)
        self.assertIn(rest.ask("GET", RIDE_JOBS).status, (401, 403))

    def test_public_address_without_tls_is_refused(self) -> None:
        environment = self.it.environment | {"TANDEM_HOME": str(self.it.folder / "other")}
        for option, listen, gateway in (("--listen", "0.0.0.0:0", "127.0.0.1:0"), ("--gateway", "127.0.0.1:0", "0.0.0.0:0")):
            words = [str(TANDEM), "server", "--listen", listen, "--gateway", gateway]
            done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=20)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(option, done.stderr)
            self.assertIn("tls", done.stderr.lower())

    def test_zz_no_secret_is_printed_anywhere(self) -> None:
        """Last: looks through all that was written meanwhile. The installation's own files are mode 0600."""
        installation = (self.it.home / "secret").read_text().strip()
        self.assertEqual((self.it.home / "secret").stat().st_mode & 0o777, 0o600)
        self.assertEqual((self.it.home / "admin.key").stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.it.home.stat().st_mode & 0o777, 0o700)
        shown = self.said + self.it.log.read_text()
        for words in (("get", "keys", "-o", "json"), ("audit", "-o", "json"), ("describe", "key/ada-laptop"), ("events",)):
            shown += self.it.tandem(*words)
        history = self.it.rest.ask("GET", "/api/v1/admin/history").text
        self.assertTrue(history)
        self.it.stop()
        store = sqlite3.connect(self.it.home / "tandem.db")
        shown += history + "\n".join(store.iterdump())
        store.close()
        self.it.start()
        # A key is td_ID_SECRET: its id may be seen.
        for number, secret in enumerate([installation, *(key[16:48] for key in self.keys)]):
            self.assertGreater(len(secret), 20)
            self.assertFalse(secret in shown, f"secret {number} was printed")


if __name__ == "__main__":
    unittest.main()

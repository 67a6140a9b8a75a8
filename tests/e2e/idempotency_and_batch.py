#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Idempotency keys and the batch route, over restarts of the server."""

from __future__ import annotations

import hashlib
import struct
import sys
import threading
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import JOBS, Installation, job, shell, until  # noqa: E402

BATCH = "/api/v1/batch"
MODELS = "/api/v1/projects/default/namespaces/default/models"


def tiny_gguf(seed: int) -> bytes:
    """One entry, one tensor of 32 floats: the least that is a model."""
    def text(of: str) -> bytes:
        return struct.pack("<Q", len(of)) + of.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text("general.architecture") + struct.pack("<I", 8) + text("llama")
    head += text("t") + struct.pack("<IQIQ", 1, 32, 0, 0)
    return head + bytes(-len(head) % 32) + struct.pack("<f", seed) * 32


def waiting(name: str) -> dict[str, Any]:
    return job(name, shell("true"), suspend=True)


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=2).__enter__()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.it.close()

    def names(self) -> set[str]:
        return {item["metadata"]["name"] for item in self.it.rest.list(JOBS)}

    def upload(self, weights: bytes) -> str:
        digest = "sha256:" + hashlib.sha256(weights).hexdigest()
        upload = self.it.rest.call("POST", "/api/v1/blobs", {"bytes": len(weights)})["upload"]
        path = f"/api/v1/blobs/uploads/{upload}"
        self.it.rest.call("PUT", f"{path}?offset=0", weights)
        return self.it.rest.call("POST", f"{path}/finish", {"digest": digest})["digest"]

    def test_model_version_under_a_key_is_answered_the_same_whatever_became_of_it(self) -> None:
        body = {"digest": self.upload(tiny_gguf(1))}

        def ask(key: str, **other: str) -> tuple[int, str]:
            answer = self.it.rest.ask("POST", f"{MODELS}/tiny/versions", body | other, Idempotency_Key=key)
            return answer.status, answer.text

        made = ask("m-made")
        known = ask("m-known")  # the same weights under another key: the version that they are
        self.assertEqual((made[0], known[0]), (201, 200), (made, known))
        self.assertEqual(made[1], known[1])
        self.assertEqual((ask("m-made"), ask("m-known")), (made, known))
        self.it.tandem("delete", "modelversion", "tiny.v1")
        self.assertEqual((ask("m-made"), ask("m-known")), (made, known))
        self.it.restart()
        self.assertEqual((ask("m-made"), ask("m-known")), (made, known))
        self.assertEqual(ask("m-made", output="x")[0], 422)
        self.assertEqual(self.it.rest.list("/api/v1/projects/default/namespaces/default/modelversions"), [])
        blob = self.it.home / "blobs/sha256" / body["digest"][7:9] / body["digest"][7:]
        blob.unlink()  # nor does it need the weights
        self.assertEqual((ask("m-made"), ask("m-known"), ask("m-new")[0]), (made, known, 404))

    def test_deletion_is_answered_with_the_object_as_it_went(self) -> None:
        made = self.it.submit(waiting("goes"))
        went = self.it.rest.ask("DELETE", f"{JOBS}/goes", Idempotency_Key="d-job")
        self.assertEqual((went.status, went.json["kind"], went.json["metadata"]["uid"]), (200, "Job", made["metadata"]["uid"]))
        self.assertGreater(went.json["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"])
        until("it is gone", lambda: self.it.rest.ask("GET", f"{JOBS}/goes").status == 404)
        self.assertEqual(self.it.rest.ask("DELETE", f"{JOBS}/goes", Idempotency_Key="d-job").text, went.text)
        self.it.rest.call("POST", "/api/v1/users", {"apiVersion": "tandem/v1", "kind": "User", "metadata": {"name": "leo"}})
        self.assertEqual(self.it.rest.call("DELETE", "/api/v1/users/leo")["metadata"]["name"], "leo")
        self.it.submit(waiting("told"))
        self.assertEqual(self.it.tandem("delete", "job", "told"), "job/told deleted\n")

    def test_batch_names_fields_as_they_were_sent(self) -> None:
        lost = waiting("lost")
        lost["metadata"]["project"] = "nowhere"
        key = {"kind": "Job", "project": "default", "namespace": "default", "name": "none"}
        last = {"kind": "User", "name": "admin"}
        for actions, field in (([{"apply": waiting("a")}, {"apply": lost}], "actions[1].apply.metadata.project"),
                               ([{"delete": last}], "actions[0].delete.name")):
            answer = self.it.rest.ask("POST", BATCH, {"actions": actions})
            self.assertEqual(answer.json["field"], field, answer.text)
        self.assertEqual(self.it.rest.ask("POST", BATCH, {"actions": [{"delete": key}]}).status, 404)

    def test_same_key_same_body_is_one_job_also_after_a_restart(self) -> None:
        first = self.it.rest.ask("POST", JOBS, waiting("once"), Idempotency_Key="k1")
        again = self.it.rest.ask("POST", JOBS, waiting("once"), Idempotency_Key="k1")
        self.it.restart()
        later = self.it.rest.ask("POST", JOBS, waiting("once"), Idempotency_Key="k1")
        self.assertEqual([a.status for a in (first, again, later)], [201, 201, 201])
        uids = {a.json["metadata"]["uid"] for a in (first, again, later)}
        self.assertEqual(len(uids), 1)
        self.assertEqual(self.it.rest.ask("POST", JOBS, waiting("once")).status, 409)  # without a key: taken

    def test_api_key_is_made_once_and_its_secret_told_once(self) -> None:
        body = {"apiVersion": "tandem/v1", "kind": "ApiKey", "metadata": {"name": "asked-twice"}, "spec": {}}
        first, again = (self.it.rest.ask("POST", "/api/v1/keys", body, Idempotency_Key="k-key") for _ in range(2))
        self.assertEqual((first.status, again.status), (201, 200), again.text)
        self.assertEqual(first.json["metadata"]["uid"], again.json["metadata"]["uid"])
        self.assertIn("secret", first.json["status"])
        self.assertNotIn(first.json["status"]["secret"], again.text)

    def test_answer_stays_the_first_whatever_became_of_the_object(self) -> None:
        def ask() -> Any:
            return self.it.rest.ask("POST", JOBS, waiting("changed"), Idempotency_Key="k-first")

        first = ask()
        edited = self.it.rest.get(f"{JOBS}/changed")
        edited["spec"]["priority"] = 7
        self.it.rest.call("PUT", f"{JOBS}/changed", edited)
        same = [ask()]
        self.it.restart()
        same.append(ask())
        self.it.rest.call("DELETE", f"{JOBS}/changed")
        until("it is gone", lambda: self.it.rest.ask("GET", f"{JOBS}/changed").status == 404)
        same.append(ask())
        self.it.rest.call("POST", JOBS, waiting("changed"))  # another of the same name
        same.append(ask())
        self.assertEqual({(a.status, a.text) for a in same}, {(first.status, first.text)})

    def test_answer_to_what_changed_nothing_and_to_a_deletion_stays_the_first(self) -> None:
        user = {"apiVersion": "tandem/v1", "kind": "User", "metadata": {"name": "kim"}}
        self.it.rest.call("POST", "/api/v1/users", user)
        asked = (("PUT", "/api/v1/users/kim", user, "k-put"), ("DELETE", "/api/v1/users/kim", None, "k-del"))
        first = [self.it.rest.ask(m, path, body, Idempotency_Key=key) for m, path, body, key in asked]
        self.assertEqual([a.status for a in first], [200, 200])
        self.it.rest.call("POST", "/api/v1/users", user)
        again = [self.it.rest.ask(m, path, body, Idempotency_Key=key) for m, path, body, key in asked]
        self.assertEqual([(a.status, a.text) for a in again], [(a.status, a.text) for a in first])

    def test_same_key_another_body_is_refused_and_changes_nothing(self) -> None:
        self.it.rest.call("POST", JOBS, waiting("kept"), Idempotency_Key="k2")
        answer = self.it.rest.ask("POST", JOBS, waiting("other"), Idempotency_Key="k2")
        self.assertEqual(answer.status, 422, answer.text)
        self.assertIn("dempotency", answer.text)
        self.assertNotIn("other", self.names())

    def test_refused_request_may_be_corrected_under_its_key(self) -> None:
        wrong = waiting("corrected")
        wrong["spec"]["roles"][0]["replicas"] = 0
        self.assertEqual(self.it.rest.ask("POST", JOBS, wrong, Idempotency_Key="k3").status, 400)
        self.assertEqual(self.it.rest.ask("POST", JOBS, waiting("corrected"), Idempotency_Key="k3").status, 201)

    def test_keys_of_two_subjects_are_apart(self) -> None:
        self.it.rest.call("POST", "/api/v1/users", {"apiVersion": "tandem/v1", "kind": "User", "metadata": {"name": "eve"}})
        binding = {"subject": "user:eve", "role": "algorithm-user", "project": "default"}
        self.it.rest.call("POST", "/api/v1/rolebindings",
                          {"apiVersion": "tandem/v1", "kind": "RoleBinding", "metadata": {"name": "eve"}, "spec": binding})
        key = self.it.tandem("key", "create", "eve", "--subject", "user:eve").strip()
        self.it.rest.call("POST", JOBS, waiting("mine"), Idempotency_Key="same")
        answer = self.it.rest_as(key).ask("POST", JOBS, waiting("hers"), Idempotency_Key="same")
        self.assertEqual(answer.status, 201, answer.text)

    def test_many_at_once_under_one_key_make_one(self) -> None:
        answers: list[Any] = []

        def send() -> None:
            answers.append(self.it.rest_as(self.it.admin_key).ask("POST", JOBS, waiting("race"), Idempotency_Key="k4"))

        threads = [threading.Thread(target=send) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({a.status for a in answers}, {201})
        self.assertEqual(len({a.json["metadata"]["uid"] for a in answers}), 1)

    def test_batch_is_all_or_nothing(self) -> None:
        good = [{"create": waiting(f"all-{i}")} for i in range(5)]
        bad = waiting("all-bad")
        bad["spec"]["roles"][0]["replicas"] = -1
        answer = self.it.rest.ask("POST", BATCH, {"actions": [*good, {"create": bad}]})
        self.assertEqual(answer.status, 400, answer.text)
        self.assertIn("actions[5]", answer.json["field"])
        self.assertFalse({n for n in self.names() if n.startswith("all-")})
        taken = self.it.rest.ask("POST", BATCH, {"actions": [*good, good[0]]})
        self.assertEqual(taken.status, 409, taken.text)
        self.assertFalse({n for n in self.names() if n.startswith("all-")})

    def test_thousand_are_taken_and_one_more_is_not(self) -> None:
        actions = [{"create": waiting(f"bulk-{i}")} for i in range(1000)]
        more = self.it.rest.ask("POST", BATCH, {"actions": [*actions, {"create": waiting("bulk-1000")}]})
        self.assertEqual(more.status, 413, more.text[:300])
        outcomes = self.it.rest.call("POST", BATCH, {"actions": actions}, Idempotency_Key="bulk")["outcomes"]
        self.assertEqual([o["key"]["name"] for o in outcomes], [f"bulk-{i}" for i in range(1000)])
        self.assertEqual(len({o["uid"] for o in outcomes}), 1000)
        again = self.it.rest.call("POST", BATCH, {"actions": actions}, Idempotency_Key="bulk")["outcomes"]
        self.assertEqual(again, outcomes)
        keys = [{"delete": o["key"]} for o in outcomes]
        self.it.rest.call("POST", BATCH, {"actions": keys})
        self.assertFalse({n for n in self.names() if n.startswith("bulk-")})

    def test_batch_of_mixed_actions(self) -> None:
        self.it.rest.call("POST", JOBS, waiting("mixed-old"))
        key = {"kind": "Job", "project": "default", "namespace": "default", "name": "mixed-old"}
        actions = [{"apply": waiting("mixed-new")}, {"cancel": key}]
        outcomes = self.it.rest.call("POST", BATCH, {"actions": actions})["outcomes"]
        self.assertTrue(outcomes[0]["created"])
        self.it.wait_phase("mixed-old", "cancelled")


if __name__ == "__main__":
    unittest.main()

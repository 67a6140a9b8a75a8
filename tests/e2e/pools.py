#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Delivery forms: a shared pool lends what is idle and takes it back for its own; a reserved one refuses others, also while
it is idle, and is billed for what it holds."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import Installation, job, shell, until  # noqa: E402


def thing(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "tandem/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def quota(nominal: int, **more: Any) -> list[dict[str, Any]]:
    return [{"flavor": "cpu-slice", "nominal": nominal} | more]


class Pools(unittest.TestCase):
    def setUp(self) -> None:
        self.it = Installation(slices=4).__enter__()
        self.addCleanup(self.it.close)

    def make(self, *objects: dict[str, Any]) -> None:
        self.it.rest.call("POST", "/api/v1/batch", {"actions": [{"create": each} for each in objects]})

    def why(self, name: str) -> dict[str, Any]:
        return self.it.rest.get(f"/api/v1/projects/default/namespaces/default/jobs/{name}/why")

    def wait_reason(self, name: str, code: str) -> dict[str, Any]:
        return until(f"{name} waits for {code}: {self.why(name)}",
                     lambda: (why := self.why(name))["reason"]["code"] == code and why)

    def line(self, view: str, key: str, name: str) -> dict[str, Any]:
        return next(l for l in self.it.rest.get(f"/api/v1/{view}-view")["items"] if l[key] == name)

    def test_shared_pool_lends_and_takes_back(self) -> None:
        self.make(thing("Queue", "cohort"), thing("Queue", "owner", parent="cohort", quotas=quota(3)),
                  thing("Queue", "guest", parent="cohort", quotas=quota(1)))
        for i in range(4):
            self.it.submit(job(f"guest-{i}", shell("sleep 60"), queue="guest", grace="1s"))
        for i in range(4):
            self.it.wait_phase(f"guest-{i}", "running")  # lent: three of these are the owner's
        self.assertEqual(self.line("queues", "queue", "guest")["borrowedMilli"], 3000)
        self.it.submit(job("own", shell("sleep 60"), queue="owner", replicas=2, grace="1s"))
        self.it.wait_phase("own", "running")  # taken back
        waiting = [f"guest-{i}" for i in range(4) if self.it.phase(f"guest-{i}") == "pending"]
        self.assertEqual(len(waiting), 2)
        for name in waiting:
            self.assertIn(self.it.job(name)["status"]["reason"]["code"], ("quotaExhausted", "noCapacity"))  # what it waits for now
            self.assertIn("reclaimed", [event["code"] for event in self.why(name)["history"]])  # and what happened to it
        self.assertEqual(self.line("queues", "queue", "guest")["borrowedMilli"], 1000)
        self.it.tandem("job", "cancel", "own")
        for i in range(4):
            self.it.wait_phase(f"guest-{i}", "running")  # lent again

    def test_shared_pool_refuses_beyond_limits(self) -> None:
        self.make(thing("Queue", "small", quotas=quota(1, borrowLimit=0)))
        self.it.submit(job("one", shell("sleep 60"), queue="small"))
        self.it.wait_phase("one", "running")
        self.it.submit(job("two", shell("sleep 60"), queue="small"))
        why = self.wait_reason("two", "quotaExhausted")
        self.assertEqual((why["reason"]["params"]["used"], why["reason"]["params"]["limit"]), ("1", "1"))
        self.it.tandem("job", "cancel", "one")
        self.it.wait_phase("two", "running")

    def test_reserved_pool_refuses_others_also_while_idle(self) -> None:
        self.make(thing("Project", "team"), {"apiVersion": "tandem/v1", "kind": "Namespace", "metadata": {"name": "default", "project": "team"}},
                  thing("Pool", "term", form="reserved", projects=["team"], **{"from": "default"}, flavor="cpu-slice", devices=3),
                  thing("Queue", "term", pool="term"))
        pool = until("the pool holds its devices", lambda: (p := self.it.rest.get("/api/v1/pools/term"))["status"].get("ready") and p)
        self.assertEqual(len(pool["status"]["held"]), 3)
        self.assertEqual(self.line("pools", "pool", "term")["idleMilli"], 3000)
        self.it.submit(job("wide", shell("true"), replicas=2))  # the shared rest is one slice
        self.assertIn(until("the planner has looked", lambda: (c := self.why("wide")["reason"]["code"]) != "submitted" and c),
                      ("noCapacity", "neverFits"))
        stranger = job("stranger", shell("true"), queue="term")
        answer = self.it.rest.ask("POST", "/api/v1/projects/default/namespaces/default/jobs", stranger)
        if answer.status == 201:  # accepted, and told why it waits
            self.wait_reason("stranger", "notAllowedInPool")
        else:
            self.assertIn(answer.status, (400, 403), answer.text)
            self.assertEqual(answer.json["field"], "spec.queue")
        own = job("own", shell("true"), replicas=3, queue="term")
        own["metadata"]["project"] = "team"
        path = "/api/v1/projects/team/namespaces/default/jobs"
        self.it.rest.call("POST", path, own)
        until("the holder's job is done", lambda: self.it.rest.get(f"{path}/own")["status"]["phase"] == "succeeded")
        self.assertEqual(self.it.phase("wide"), "pending")
        report = json.dumps(self.it.rest.get("/api/v1/usage/report"))
        self.assertIn("held", report)  # also idle, a reserved device is held and billed so
        self.it.restart()
        self.assertEqual(self.it.phase("wide"), "pending")
        self.it.rest.call("DELETE", "/api/v1/queues/term")
        self.it.rest.call("DELETE", "/api/v1/pools/term")
        self.it.wait_phase("wide", "succeeded")

    def test_pool_that_can_not_be_filled_yet_says_so_and_takes_its_devices_later(self) -> None:
        self.it.submit(job("rock", shell("sleep 60"), replicas=2, preemptible=False))
        self.it.wait_phase("rock", "running")
        self.make(thing("Pool", "term", form="reserved", **{"from": "default"}, flavor="cpu-slice", devices=3))
        pool = self.it.rest.get("/api/v1/pools/term")
        self.assertFalse(pool["status"].get("ready", False))
        self.it.tandem("job", "cancel", "rock")
        until("the pool has its devices", lambda: self.it.rest.get("/api/v1/pools/term")["status"].get("ready"))
        huge = thing("Pool", "huge", form="reserved", **{"from": "default"}, flavor="cpu-slice", devices=5)
        answer = self.it.rest.ask("POST", "/api/v1/pools", huge)
        self.assertEqual((answer.status, answer.json["field"]), (400, "spec.devices"), answer.text)

    def test_forms_that_are_not_delivered_are_refused_by_name(self) -> None:
        answer = self.it.rest.ask("POST", "/api/v1/pools", thing("Pool", "cheap", form="spot"))
        self.assertEqual((answer.status, answer.json["field"]), (400, "spec.form"))


if __name__ == "__main__":
    unittest.main()

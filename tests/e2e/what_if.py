#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What would a change do, asked of a server at work: what it answers comes true when the change is made, and asking changes
nothing; `why` says when a start is expected and on what that rests."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import unittest
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import JOBS, Installation, job, shell, until  # noqa: E402
from rest import Refused  # noqa: E402

KEY = {"kind": "Job", "project": "default", "namespace": "default"}


class WhatIf(unittest.TestCase):
    def setUp(self) -> None:
        self.it = Installation(slices=2).__enter__()
        self.addCleanup(self.it.close)
        self.node = self.it.rest.get("/api/v1/nodes")["items"][0]["metadata"]["name"]

    def ask(self, **question: Any) -> dict[str, Any]:
        return self.it.rest.call("POST", "/api/v1/whatif", question)

    def work(self, told: dict[str, Any], name: str) -> dict[str, Any]:
        return next(work for work in told["work"] if work["object"]["name"] == name)

    def fill(self) -> None:
        self.it.submit(job("runs", shell("sleep 600"), replicas=2, maxRunTime="1h"))
        self.it.wait_phase("runs", "running")

    def test_answers_come_true_and_asking_changes_nothing(self) -> None:
        self.fill()
        self.it.submit(job("waits", shell("sleep 600"), replicas=2, maxRunTime="1h"))
        version = lambda: self.it.rest.get("/api/v1/jobs")["metadata"]["resourceVersion"]  # noqa: E731
        before = version()
        told = self.ask(addNodes=[{"name": "extra", "count": 2, "like": self.node}], drain=[])
        self.assertEqual((told["after"]["startsNow"], told["before"]["startsNow"]), (1, 0))
        self.assertEqual(self.work(told, "waits")["start"], {"at": told["at"], "basis": "proved"})
        urgent = job("urgent", shell("sleep 600"), replicas=1, priority=10)
        told = self.ask(actions=[{"apply": urgent}])
        self.assertTrue(self.work(told, "urgent")["added"])
        [eviction] = self.work(told, "runs")["evictions"]
        self.assertEqual((eviction["reason"]["code"], eviction["reason"]["params"]["by"]), ("preempted", "job/urgent"))
        self.assertEqual(version(), before)
        self.assertEqual(len(self.it.rest.get("/api/v1/nodes")["items"]), 1)
        with self.assertRaises(Refused) as refused:
            self.it.rest.get(f"{JOBS}/urgent")
        self.assertEqual(refused.exception.status, 404)
        # Now it is really submitted.
        self.it.submit(urgent)
        self.it.wait_phase("urgent", "running")
        events = self.it.rest.get("/api/v1/events?about=job/default/default/runs")["items"]
        self.assertIn("preempted", [event["code"] for event in events])

    def test_priorities_quotas_and_drains(self) -> None:
        self.fill()
        for name in ("first", "second"):
            self.it.submit(job(name, shell("sleep 600"), replicas=2, maxRunTime="1h"))
        told = self.ask(priorities=[{"name": "second", "priority": 1}])
        first, second = self.work(told, "first"), self.work(told, "second")
        self.assertLess(second["start"]["at"], first["start"]["at"])
        self.assertLess(first["startBefore"]["at"], first["start"]["at"])
        told = self.ask(drain=[self.node])
        self.assertEqual(told["after"]["evictions"], 1)
        self.assertNotIn("start", self.work(told, "first"))
        told = self.ask(actions=[{"apply": {"apiVersion": "tandem/v1", "kind": "Queue", "metadata": {"name": "default"},
                                            "spec": {"quotas": [{"flavor": "cpu-slice", "nominal": 0, "max": 0}]}}}])
        self.assertIn(self.work(told, "first")["waits"]["code"], ("quotaTooSmall", "quotaExhausted"))

    def test_why_says_when_and_on_what_that_rests(self) -> None:
        self.fill()
        self.it.submit(job("waits", shell("sleep 600"), replicas=2, maxRunTime="1h"))
        why = lambda name: self.it.rest.get(f"{JOBS}/{name}/why")  # noqa: E731
        told = until("a start is foreseen", lambda: (now := why("waits")).get("start") and now)
        self.assertEqual(told["start"]["basis"], "proved")
        self.assertLessEqual(told["startAsOf"]["resourceVersion"], told["asOf"]["resourceVersion"])
        started = datetime.fromisoformat(self.it.job("runs")["status"]["started"])
        self.assertEqual(datetime.fromisoformat(told["start"]["at"]), started + timedelta(hours=1, seconds=2))
        self.assertIn("starts: 2", self.it.tandem("why", "job/waits"))
        self.it.submit(job("endless", shell("sleep 600"), priority=5))
        self.it.wait_phase("endless", "running")
        self.it.submit(job("wide", shell("sleep 600"), replicas=2, priority=5))
        told = until("it is looked at",
                     lambda: (now := why("wide")).get("noStart", "notLookedAt") != "notLookedAt" and now)
        self.assertEqual(told["noStart"], "noEnd")

    def test_the_command_line_takes_a_file_and_shows_what_differs(self) -> None:
        self.fill()
        self.it.submit(job("waits", shell("sleep 600"), replicas=2, maxRunTime="1h"))
        change = self.it.folder / "change.yaml"
        change.write_text(f"""
apiVersion: tandem/v1
kind: WhatIf
spec:
  addNodes: [{{name: extra, count: 1, like: {self.node}}}]
---
apiVersion: tandem/v1
kind: Job
metadata: {{name: planned}}
spec:
  command: [sleep, "60"]
  roles: [{{replicas: 1, resources: {{devices: 1}}}}]
""")
        told = self.it.tandem("what-if", "-f", str(change))
        self.assertIn("start now: 1 (without the change 0)", told)
        self.assertRegex(told, r"job/planned \(new\)")
        told = json.loads(self.it.tandem("what-if", "-f", str(change), "-o", "json"))
        self.assertEqual(self.work(told, "waits")["start"]["at"], told["at"])
        self.assertIn("job/waits", self.it.tandem("what-if"))

    def replay(self, history: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return self.it.run("sim", "what-if", "--history", str(history), *words)

    def test_an_exported_history_is_replayed_under_a_change(self) -> None:
        for i in range(4):
            past = job(f"past-{i}", shell("sleep 1.5"), replicas=2)
            past["metadata"]["labels"] = {"class": "wide"}
            self.it.submit(past)
        for i in range(4):
            self.it.wait_phase(f"past-{i}", "succeeded")
        history, change, page = (self.it.folder / name for name in ("history.ndjson", "change.yaml", "page.html"))
        self.it.tandem("admin", "export-history", str(history))
        change.write_text(f"kind: WhatIf\nspec: {{addNodes: [{{name: extra, count: 3, like: {self.node}}}]}}\n")
        told = json.loads(self.replay(history, "--change", str(change), "--json", "--html", str(page)).stdout)
        before, after = told["before"], told["after"]
        self.assertEqual([(one["jobs"], one["finished"], one["refused"]) for one in (before, after)], [(4, 4, 0)] * 2)
        # Two at a time ran one after the other; now all of them find room.
        self.assertGreater(before["waitSeconds"]["max"], after["waitSeconds"]["max"])
        self.assertEqual((before["devices"], after["devices"]), (2, 8))
        self.assertGreater(before["usedPerMille"], 800)
        [wide] = before["classes"]
        self.assertEqual((wide["class"], wide["started"], wide["usedPerMille"]), ("wide", 4, before["usedPerMille"]))
        self.assertEqual(sum(one["jobs"] for one in wide["waits"]), 4)
        real = [self.it.job(f"past-{i}")["status"] for i in range(4)]
        ran = sum((datetime.fromisoformat(one["finished"]) - datetime.fromisoformat(one["started"])).total_seconds() for one in real)
        self.assertAlmostEqual(wide["deviceSeconds"], 2 * ran, delta=3)
        self.assertEqual(list(json.loads(self.replay(history, "--json").stdout)), ["before"])
        table = self.replay(history, "--change", str(change)).stdout
        self.assertRegex(table, r"started of jobs +4 of 4 +4 of 4")
        self.assertRegex(table, r"(?m)^devices +2 +8$")
        self.assertRegex(table, r"(?m)^wide$")
        root = ElementTree.parse(page).getroot()
        makespans = [int(cell.get("data-value", "")) for cell in root.iter() if cell.get("data-of") == "makespanSeconds"]
        self.assertEqual(makespans, [before["makespanSeconds"], after["makespanSeconds"]])
        for spec, field in (("drain: [nowhere]", "drain[0]"), ("colour: red", "colour"), ("priorities: [{name: x, priority: 1}]", "priorities[0].name")):
            change.write_text(f"kind: WhatIf\nspec: {{{spec}}}\n")
            refused = self.replay(history, "--change", str(change))
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertIn(field, refused.stderr)
        self.wrong_files_are_refused_by_line(history)

    def wrong_files_are_refused_by_line(self, history: Path) -> None:
        lines = history.read_text().splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith('{"change"') and '"kind":"Job"' in line)
        bad = self.it.folder / "bad.ndjson"
        changed = json.loads(lines[at])
        del changed["change"]["now"]
        for line, said in ((lines[at][:80], ""), ('{"colour":1}', "is no line of an exported history"),
                           (json.dumps(changed, separators=(",", ":")), "change.now"),
                           (lines[at].replace('"roles"', '"rolls"'), "spec.rolls")):
            with self.subTest(line[:60]):
                bad.write_text("\n".join([*lines[:at], line, *lines[at + 1:]]))
                refused = self.replay(bad)
                self.assertEqual((refused.returncode, refused.stdout), (2, ""))
                self.assertIn(f"bad.ndjson: line {at + 1}: {said}", refused.stderr)
        bad.write_text("")
        self.assertIn("begins with a segment", self.replay(bad).stderr)

    def test_bad_questions_are_named(self) -> None:
        for question, field in [({"horizon": "32d"}, "horizon"), ({"drain": ["nowhere"]}, "drain[0]"),
                                ({"addNodes": [{"name": "x", "like": "nowhere"}]}, "addNodes[0].like"),
                                ({"addNodes": [{"name": "x", "count": "many"}]}, "addNodes[0].count"),
                                ({"addNodes": [{"name": "x", "colour": "red"}]}, "addNodes[0].colour"),
                                ({"priorities": [{"name": "nobody", "priority": 1}]}, "priorities[0].name"),
                                ({"actions": [{"apply": job("x", ["a"], queue="nowhere")}]}, "actions[0].spec.queue"),
                                ({"actions": [{"paint": KEY | {"name": "x"}}]}, "actions[0]"),
                                ({"colour": "red"}, "colour")]:
            with self.subTest(question=question), self.assertRaises(Refused) as refused:
                self.ask(**question)
            self.assertIn(refused.exception.status, (400, 404), refused.exception)
            self.assertTrue(str(refused.exception.answer.json.get("field", "")).startswith(field), refused.exception)

    def test_more_than_two_at_a_time_are_told_to_come_back(self) -> None:
        self.fill()
        statuses: list[int] = []

        def ask() -> None:
            question = {"addNodes": [{"name": "extra", "count": 4000, "like": self.node}]}
            try:
                self.it.rest_as(self.it.admin_key).call("POST", "/api/v1/whatif", question)
                statuses.append(200)
            except Refused as refused:
                statuses.append(refused.status)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertIn(200, statuses)
        self.assertIn(429, statuses)
        self.assertLessEqual(set(statuses), {200, 429})


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulator's words: every verb is listed and has help, wrong options are refused by name, figures come as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import TANDEM  # noqa: E402

VERBS = ("backfill", "deadlines", "jobs", "kueue", "place", "run", "what-if")

STORY = """
name: half <b> & "whole"
ops:
  - nodes: {name: n, count: 2, devices: 2, flavor: card}
  - queue: {name: a, quotas: [{flavor: card, nominal: 2}]}
  - queue: {name: b, quotas: [{flavor: card, nominal: 2}]}
  - job: {name: half, count: 2, devices: "0.5", queue: a, runTime: 10m}
  - run: 1m
  - job: {name: wide, count: 4, devices: 2, queue: b, runTime: 10m}
  - job: {name: never, devices: 3, queue: b}
  - run: 1h
  - expect: {pending: []}
  - act: {job: never, verb: cancel}
"""


def ask(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(TANDEM), "sim", *words], text=True, capture_output=True, input=stdin, timeout=60)


class Simulator(unittest.TestCase):
    def test_every_verb_is_listed_and_has_help(self) -> None:
        for words in ((), ("fly",)):
            listed = ask(*words)
            self.assertEqual(listed.returncode, 2)
            for verb in VERBS:
                self.assertRegex(listed.stderr, rf"(?m)^  {verb} ")
        self.assertIn("\n  run ", ask("--help").stdout)
        for verb in VERBS:
            told = ask(verb, "--help")
            self.assertEqual(told.returncode, 0, verb)
            self.assertIn(f"tandem sim {verb}", told.stdout)

    def test_wrong_options_are_refused_by_name(self) -> None:
        for words, named in ((("jobs",), "--trace"), (("jobs", "--trace", "x", "--nodes", "0"), "--nodes"),
                             (("jobs", "--trace", "x", "--policy", "luck"), "--policy"),
                             (("jobs", "--trace", "x", "--trace", "y"), "--trace"), (("jobs", "--trace", "x", "--fast"), "--fast"),
                             (("backfill", "--trace", "x", "--nodes", "4"), "--format"), (("deadlines", "--trace", "x"), "--curves"),
                             (("--seed", "1", "--seeds", "2"), "--seed"), (("--seeds", "0"), "--seeds"), (("run",), "WORKLOAD"),
                             (("what-if",), "--history")):
            with self.subTest(words):
                refused = ask(*words)
                self.assertEqual((refused.returncode, refused.stdout), (2, ""))
                self.assertIn(named, refused.stderr)
        self.assertIn("/nowhere", ask("jobs", "--trace", "/nowhere").stderr)

    def test_figures_of_a_trace_are_json_and_rows_of_it_refused_by_place(self) -> None:
        head = "job_id,num_gpu,submit_time,iterations,iteration_time,model_name\n"
        done = ask("jobs", "--trace", "-", "--nodes", "1", "--policy", "fifo", "--json", stdin=head + "a,1,0,10,100,vgg16\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["jobs"], 1)
        late = ask("jobs", "--trace", "-", stdin=head + "a,1,5,1,1,vgg16\nb,1,4,1,1,vgg16\n")
        self.assertEqual(late.returncode, 2)
        self.assertIn("rows must be sorted by it", late.stderr)
        with tempfile.TemporaryDirectory() as folder:
            swf = Path(folder) / "x.swf"
            row = " ".join(["1", "{}", "0", "9", "1"] + ["-1"] * 13) + "\n"
            swf.write_text(row.format(5) + row.format(4))
            late = ask("backfill", "--trace", str(swf), "--format", "swf", "--nodes", "4")
            self.assertIn("x.swf:2: column submit: rows must be sorted by it", late.stderr)

    def test_a_report_is_a_page_of_its_own_with_the_numbers_of_the_json(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            told = ask("run", "-", "--html", str(page), stdin=STORY)
            self.assertEqual(told.returncode, 1)  # it expects what is not so
            report, text = json.loads(told.stdout), page.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        HTMLParser().feed(text)
        self.assertNotRegex(text.replace("http://www.w3.org/", ""), r"https?://|<script|\bsrc=|\bhref=|url\(|@import")
        find = lambda name: list(root.iter(f"{{http://www.w3.org/1999/xhtml}}{name}"))  # noqa: E731
        self.assertEqual(find("h1")[0].text, "half <b> & \"whole\"")
        self.assertTrue(any("wait" in (item.text or "") and "never" in (item.text or "") for item in find("li")))
        cells = lambda row: {cell.get("data-of"): int(cell.get("data-value", "0")) for cell in row if cell.get("data-of")}  # noqa: E731
        sums = {name: value for row in find("table")[0].iter() for name, value in cells(row).items()}
        self.assertEqual((sums["lengthSeconds"], sums["jobs"]), (report["lengthSeconds"], 7))
        for row in find("tr"):
            if row.get("data-class"):
                [one] = [one for one in report["classes"] if one["class"] == row.get("data-class")]
                for name, value in cells(row).items():
                    self.assertEqual(value, one[name] if name in one else one["waitSeconds"][name], name)
            if row.get("data-queue"):
                [one] = [one for one in report["queues"] if (one["queue"], one["flavor"]) == (row.get("data-queue"), row.get("data-flavor"))]
                self.assertEqual(cells(row), {name: one[name] for name in cells(row)})
        drawn = {path.get("data-label"): [int(value) for value in path.get("data-values", "").split()]
                 for path in root.iter("{http://www.w3.org/2000/svg}path")}
        [flavor] = report["flavors"]
        self.assertEqual(drawn["in use 占用"], flavor["usedMilli"])
        self.assertEqual(drawn["of no use 碎片"], flavor["fragmentedMilli"])
        self.assertEqual(drawn["waiting 等待"], report["waiting"])
        for queue in report["queues"]:
            self.assertEqual(drawn[queue["queue"]], queue["usedMilli"])
        # Two halves of one card and one whole: a job for two cards finds none of use.
        self.assertGreater(max(flavor["fragmentedMilli"]), 0)
        self.assertEqual(sum(one["deviceSeconds"] for one in report["classes"]),
                         sum(flavor["usedMilli"]) * report["bucketMilliseconds"] // 1_000_000)
        self.assertIn("No such file", ask("run", "-", "--html", "/nowhere/page.html", stdin=STORY).stderr)

    def test_one_seed_is_repeated_alike(self) -> None:
        first, again = ask("--seed", "3", "--digests"), ask("--seed", "3", "--digests")
        self.assertEqual(first.returncode, 0, first.stdout)
        self.assertEqual(first.stdout, again.stdout)
        self.assertIn("seed 3: digest ", first.stdout)

    def test_kept_cases_are_replayed_and_wrong_ones_named(self) -> None:
        folder = Path(__file__).resolve().parents[1] / "regressions"
        for kept in sorted(folder.glob("*.json")):
            told = ask("--replay", str(kept))
            self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
            self.assertIn("1 passed, 0 failed", told.stdout)
            case = json.loads(kept.read_text())
            case["operations"][0]["what"] = "something else"
            refused = ask("--replay", "-", stdin=json.dumps(case))
            self.assertEqual(refused.returncode, 2)
            self.assertIn("operations[0].what", refused.stderr)
        for text, field in (("{}", "seed"), ('{"seed": 1, "operations": {}}', "operations"), ("[", "")):
            refused = ask("--replay", "-", stdin=text)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertIn(field, refused.stderr)
        self.assertEqual(ask("--replay", "x", "--seeds", "3").returncode, 2)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The simulator's words: every verb is listed and has help, wrong options are refused by name, figures come as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import TANDEM  # noqa: E402

VERBS = ("backfill", "deadlines", "jobs", "kueue", "place", "run", "what-if")


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

    def test_one_seed_is_repeated_alike(self) -> None:
        first, again = ask("--seed", "3", "--digests"), ask("--seed", "3", "--digests")
        self.assertEqual(first.returncode, 0, first.stdout)
        self.assertEqual(first.stdout, again.stdout)
        self.assertIn("seed 3: digest ", first.stdout)


if __name__ == "__main__":
    unittest.main()

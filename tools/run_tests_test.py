# SPDX-License-Identifier: Apache-2.0
"""The runner must count right and must never call a failure a success."""

import json
import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run_tests as runner  # noqa: E402
import testing  # noqa: E402


def report(*cases):
    rows = [{"name": str(i), "status": s, "result": r, **({"failures": [{}]} if f else {})} for i, (s, r, f) in enumerate(cases)]
    return json.dumps({"testsuites": [{"testsuite": rows}]})


PASSED, FAILED = ("RUN", "COMPLETED", False), ("RUN", "COMPLETED", True)
SKIPPED, DISABLED = ("RUN", "SKIPPED", False), ("NOTRUN", "SUPPRESSED", False)


class Gtest(unittest.TestCase):
    def counts(self, text, status=0, output=""):
        r = testing.read_gtest_report("x", text, testing.Run(status, output, 1.0))
        return r.passed, r.failed, r.skipped

    def test_each_case_counts(self):
        self.assertEqual(self.counts(report(PASSED, PASSED, SKIPPED, DISABLED)), (2, 0, 1))
        self.assertEqual(self.counts(report(PASSED, FAILED), 1), (1, 1, 0))

    def test_a_program_that_dies_counts_as_a_failure(self):
        output = "[ RUN      ] a.b\n[       OK ] a.b\n[ RUN      ] a.c\nassertion failed: x\n"
        self.assertEqual(self.counts(None, -6, output), (1, 1, 0))
        self.assertEqual(self.counts(None, 0), (0, 1, 0))
        self.assertEqual(self.counts(report(PASSED), 1), (1, 1, 0), "a leak found at exit")

    def test_output_of_failing_cases_is_kept_alone(self):
        output = ("[ RUN      ] a.good\nchatter\n[       OK ] a.good (0 ms)\n"
                  "[ RUN      ] a.bad\nexpected 1\n[  FAILED  ] a.bad (0 ms)\n[ RUN      ] a.dead\nlast words\n")
        self.assertEqual(testing.failing_part(output).strip().split("\n"),
                         ["[ RUN      ] a.bad", "expected 1", "[  FAILED  ] a.bad (0 ms)", "[ RUN      ] a.dead", "last words"])


class Programs(unittest.TestCase):
    def test_status_and_output_come_back(self):
        ran = testing.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        self.assertEqual((ran.status, ran.output), (3, "out\nerr\n"))

    def test_a_missing_program_is_a_failure(self):
        self.assertEqual(testing.run(["/nonexistent/program"]).status, 127)
        self.assertEqual(testing.run_check("x", ["/nonexistent/program"]).failed, 1)

    def test_what_takes_too_long_ends_with_all_it_started(self):
        with tempfile.TemporaryDirectory() as folder:
            pid_file = pathlib.Path(folder, "pid")
            ran = testing.run(["sh", "-c", f"sleep 60 & echo $! > {pid_file}; wait"], timeout=0.5)
            self.assertEqual(ran.status, 124)
            self.assertIn("no end after", ran.output)
            pid = int(pid_file.read_text())
            deadline = time.monotonic() + 5
            while os.path.exists(f"/proc/{pid}") and "Z" not in pathlib.Path(f"/proc/{pid}/stat").read_text():
                self.assertLess(time.monotonic(), deadline)

    def test_python_test_runs_count_their_cases(self):
        def counts(text, status):
            r = testing.run_check("x", ["sh", "-c", f"printf '{text}'; exit {status}"])
            return r.passed, r.failed
        self.assertEqual(counts("Ran 7 tests in 0.1s\\n\\nOK\\n", 0), (7, 0))
        self.assertEqual(counts("Ran 7 tests in 0.1s\\n\\nFAILED (failures=1, errors=2)\\n", 1), (4, 3))
        self.assertEqual(counts("no count", 0), (1, 0))
        self.assertEqual(counts("no count", 1), (0, 1))

    def test_long_output_is_cut_at_its_end(self):
        text = testing.tail("\n".join(str(i) for i in range(1000)))
        self.assertTrue(text.startswith("...\n") and text.endswith("\n999"))


class Plants(unittest.TestCase):
    PLANT = runner.Plant("p", ["t"], "a.b")

    def judge(self, sound, planted):
        return runner.judge_plant(self.PLANT, testing.Result("s", *sound), testing.Result("p", *planted)).failed

    def test_lines_are_read(self):
        self.assertEqual(runner.read_plants("# x\n\nno-undo core_test undo.*\nadopt tandem,tandem-shim tests/e2e/a.py\n"),
                         [("no-undo", ["core_test"], "undo.*"), ("adopt", ["tandem", "tandem-shim"], "tests/e2e/a.py")])

    def test_found_means_passes_without_and_fails_with(self):
        self.assertEqual(self.judge((1, 0), (0, 1)), 0)
        self.assertEqual(self.judge((1, 0), (1, 0)), 1, "not found")
        self.assertEqual(self.judge((0, 1), (0, 1)), 1, "fails anyway")
        self.assertEqual(self.judge((0, 0), (0, 1)), 1, "no such test")
        self.assertEqual(self.judge((1, 0), (0, 1, 0, 0.0, "(no end after 9 s)")), 1, "hangs")

    def test_every_line_of_the_list_is_complete(self):
        for plant in runner.read_plants((testing.ROOT / "tools/planted.txt").read_text()):
            self.assertTrue(plant.targets and plant.proof)
            if plant.proof.startswith("tests/"):
                self.assertTrue(os.access(testing.ROOT / plant.proof, os.X_OK), plant.proof)


class Sanitized(unittest.TestCase):
    def test_modules_are_grouped_by_preset(self):
        self.assertEqual(runner.read_sanitized("# x\nbase asan\nnet/http asan,tsan\napi tsan\n"),
                         {"asan": ["base", "net/http"], "tsan": ["net/http", "api"]})

    def test_every_module_of_the_list_is_declared(self):
        cmake = (testing.ROOT / "src/CMakeLists.txt").read_text()
        for modules in runner.read_sanitized((testing.ROOT / "tools/sanitized.txt").read_text()).values():
            for module in set(modules) - {"advisor"}:
                self.assertIn(f"tandem_module({module}", cmake)


class Choice(unittest.TestCase):
    def test_only_names_a_step_or_a_part_of_a_name(self):
        self.assertTrue(runner.Options().wants("unit", "base"))
        self.assertTrue(runner.Options(only="unit").wants("unit", "base"))
        self.assertTrue(runner.Options(only="sqlite").wants("unit", "store/sqlite"))
        self.assertFalse(runner.Options(only="sqlite").wants("unit", "base"))
        self.assertFalse(runner.Options(only="sqlite").wants("sim"))

    def test_executable_scripts_are_tests(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file, mode in [("b.sh", 0o755), ("a.py", 0o755), ("shared.py", 0o644), ("notes.md", 0o755)]:
                (folder / file).write_text("#!/bin/sh\n# timeout: 42\n")
                (folder / file).chmod(mode)
            self.assertEqual([p.name for p in runner.scripts_of(folder)], ["a.py", "b.sh"])
            self.assertEqual(runner.script_timeout(folder / "a.py"), 42)


if __name__ == "__main__":
    unittest.main()

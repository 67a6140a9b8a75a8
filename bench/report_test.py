# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import report  # noqa: E402


class Bars(unittest.TestCase):
    def test_a_bar_judges_the_value_or_the_ratio(self):
        self.assertTrue(report.judge("<= 300", 300, None))
        self.assertFalse(report.judge("<= 300", 300.1, None))
        self.assertTrue(report.judge(">= 4000", 4000, None))
        self.assertTrue(report.judge("<= 2.5 x", 99, 2.4))
        self.assertFalse(report.judge(">= 0.5 x", 99, 0.4))
        self.assertIsNone(report.judge(None, 1, 1))

    def test_what_was_not_measured_meets_nothing(self):
        self.assertFalse(report.judge("<= 300", None, None))
        self.assertFalse(report.judge("<= 2 x", 5, None))

    def test_an_unreadable_bar_is_an_error(self):
        for bar in ("300", "< 300", "<= many", "<= 2 xx"):
            with self.assertRaises(ValueError):
                report.judge(bar, 1, 1)


class Rows(unittest.TestCase):
    def test_ratio_is_value_to_peer(self):
        row = report.make_row("m", 30, "us", bar="<= 2.5 x", peer="nginx", peer_value=15, setup="s")
        self.assertEqual((row.ratio, row.met), (2.0, True))
        self.assertIsNone(report.make_row("m", 30, "us", peer="nginx", peer_value=0).ratio)

    def test_the_machine_is_named(self):
        self.assertRegex(report.machine(), r"^\d+ cores \(.+\), \d+ GiB, Linux .+, load [\d.]+$")

    def test_json_has_the_promised_keys_and_the_table_every_row(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as out:
            path = pathlib.Path(folder, "rows.json")
            made = report.Report("x", str(path))
            made.add("build", 250.5, "s", bar="<= 300", setup="here")
            made.add("rest", 80, "MB", bar="<= 60", setup="here")
            self.assertEqual(made.finish(), 0, "a bar that is not met is a figure, not an error")
            rows = json.loads(path.read_text())
        self.assertEqual([tuple(row) for row in rows], [report.KEYS, report.KEYS])
        self.assertEqual([row["met"] for row in rows], [True, False])
        self.assertIn("NOT MET", out.getvalue())
        self.assertEqual(out.getvalue().count("on: here"), 1)

    def test_what_could_not_be_measured_fails(self):
        with contextlib.redirect_stdout(io.StringIO()):
            made = report.Report("x")
            made.add("build", None, "s", bar="<= 300")
            self.assertEqual(made.finish(), 1)
            self.assertEqual(report.Report("empty").finish(), 1)


if __name__ == "__main__":
    unittest.main()

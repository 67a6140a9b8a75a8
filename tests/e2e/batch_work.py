#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 90
"""What users of batch systems expect, through a real server: arrays with a cap, limits, licenses, and an operator's word."""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import JOBS, Installation, job, shell, until  # noqa: E402


class BatchWork(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=4).__enter__()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.it.close()

    def why(self, name: str) -> dict[str, Any]:
        return json.loads(self.it.tandem("why", f"job/{name}", "-o", "json"))

    def waits_for(self, name: str, code: str) -> dict[str, Any]:
        until(f"{name} waits for {code}", lambda: self.why(name)["reason"]["code"] == code)
        return self.why(name)

    def apply(self, kind: str, name: str, **spec: Any) -> None:
        self.it.tandem("apply", "-f", "-", stdin=json.dumps(
            {"apiVersion": "tandem/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}))

    def test_array_runs_each_index_once_no_more_than_two_at_a_time(self) -> None:
        folder = self.it.folder / "sweep"
        folder.mkdir()
        text = f"touch {folder}/on-$TANDEM_ARRAY_INDEX; ls {folder} | grep -c on- > {folder}/seen-$TANDEM_ARRAY_INDEX; " \
               f"sleep 0.3; rm {folder}/on-$TANDEM_ARRAY_INDEX; [ $TANDEM_ARRAY_INDEX != 7 ]"
        self.it.submit(job("sweep", shell(text), array={"indices": "1-3,7", "maxRunning": 2}))
        done = self.it.wait_phase("sweep", "failed", "succeeded", timeout=40)
        self.assertEqual(done["status"]["reason"]["code"], "elementsFailed")
        self.assertEqual((done["status"]["elements"]["succeeded"], done["status"]["elements"]["failed"]), (3, 1))
        seen = {path.name: int(path.read_text()) for path in folder.glob("seen-*")}
        self.assertEqual(sorted(seen), ["seen-1", "seen-2", "seen-3", "seen-7"])
        self.assertLessEqual(max(seen.values()), 2)
        self.assertEqual(self.it.job("sweep-7")["status"]["element"], {"array": "sweep", "index": 7, "counted": "failed"})
        self.assertIn("sweep-7", self.it.tandem("get", "job", "sweep[7]"))
        self.it.tandem("delete", "job", "sweep")
        until("its elements are gone", lambda: self.it.rest.ask("GET", f"{JOBS}/sweep-1").status == 404)

    def test_array_goes_on_over_a_kill_of_the_server(self) -> None:
        folder = self.it.folder / "survivors"
        folder.mkdir()
        self.it.submit(job("survivors", shell(f"sleep 0.5; echo x >> {folder}/$TANDEM_ARRAY_INDEX"),
                           array={"count": 6, "maxRunning": 2}))
        until("one has ended", lambda: list(folder.iterdir()))
        self.it.restart()
        self.it.wait_phase("survivors", "succeeded", timeout=40)
        self.assertEqual({path.name: path.read_text() for path in folder.iterdir()}, {str(i): "x\n" for i in range(6)})

    def test_license_is_held_until_the_job_ends(self) -> None:
        self.apply("License", "solver", count=1)
        self.it.submit(job("first", shell("sleep 60"), licenses={"solver": 1}))
        self.it.wait_phase("first", "running")
        self.it.submit(job("second", shell("true"), licenses={"solver": 1}))
        why = self.waits_for("second", "licenseShort")
        self.assertEqual(why["holders"][0]["name"], "job/default/default/first")
        self.assertEqual(why["holders"][0]["units"], 1)
        self.assertIn("solver", self.it.tandem("limits"))
        self.assertIn("second", self.it.tandem("queue", "order", "default"))
        self.it.tandem("job", "cancel", "first")
        self.it.wait_phase("second", "succeeded")

    def test_limits_refuse_and_hold_back_and_an_operator_overrules_them(self) -> None:
        self.apply("Queue", "tight", limits={"running": 1, "submitted": 3})
        for name in ("one", "two", "three"):
            self.it.submit(job(name, shell("sleep 60"), queue="tight"))
        self.it.wait_phase("one", "running")
        refused = self.it.rest.ask("POST", JOBS, job("four", shell("true"), queue="tight"))
        self.assertEqual((refused.status, refused.json["code"]), (429, "exhausted"))
        self.assertIn("queue tight", refused.json["detail"])
        self.waits_for("two", "queueLimit")
        self.it.tandem("job", "priority", "three", "--set", "50")
        order = json.loads(self.it.tandem("queue", "order", "tight", "-o", "json"))
        self.assertEqual([(item["name"], item["priority"]) for item in order["items"]],
                         [("job/default/default/three", 50), ("job/default/default/two", 0)])
        preview = json.loads(self.it.tandem("job", "preview", "two", "-o", "json"))
        self.assertFalse(preview["starts"])
        self.assertEqual(preview["reason"]["code"], "queueLimit")
        self.it.tandem("job", "force", "two")
        self.it.wait_phase("two", "running")
        self.assertEqual(self.it.job("two")["status"]["forcedBy"], "user:admin")
        self.assertIn("forced", self.it.tandem("get", "job", "two"))
        audit = self.it.tandem("audit", "--limit", "50")
        self.assertIn("jobs.overrule", audit)
        for name in ("one", "two", "three"):
            self.it.tandem("job", "cancel", name)


if __name__ == "__main__":
    unittest.main()

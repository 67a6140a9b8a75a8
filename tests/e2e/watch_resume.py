#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Watches: taken up by id without gap or doubling, also over a restart; history that is gone is 410."""

from __future__ import annotations

import sqlite3
import sys
import threading
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import JOBS, Installation, job, shell  # noqa: E402
from rest import Event, Refused  # noqa: E402


def waiting(name: str, **labels: str) -> dict[str, Any]:
    made = job(name, shell("true"), suspend=True)
    made["metadata"]["labels"] = labels
    return made


class Watch(unittest.TestCase):
    def setUp(self) -> None:
        self.it = Installation(slices=2).__enter__()
        self.addCleanup(self.it.close)

    def version(self) -> int:
        return self.it.rest.get(JOBS, limit=1)["metadata"]["resourceVersion"]

    def collect(self, version: int, last: str, **query: Any) -> list[Event]:
        """Events after `version` until one of the job `last`."""
        events = []
        for event in self.it.rest_as(self.it.admin_key).watch(JOBS, 10, resourceVersion=version, **query):
            if event.kind == "bookmark":
                continue
            events.append(event)
            if event.data["metadata"]["name"] == last:
                return events
        raise AssertionError(f"the watch ended before {last}: {[e.kind for e in events]}")

    def test_resumed_anywhere_it_shows_the_rest(self) -> None:
        version = self.version()
        for i in range(10):
            self.it.submit(waiting(f"job-{i}"))
        self.it.rest.call("DELETE", f"{JOBS}/job-3")
        self.it.submit(waiting("end"))
        whole = self.collect(version, "end")
        self.assertEqual([e.id for e in whole], sorted({e.id for e in whole}))
        self.assertIn(("deleted", "job-3"), [(e.kind, e.data["metadata"]["name"]) for e in whole])
        for cut in (0, 3, len(whole) - 2):
            self.assertEqual(self.collect(whole[cut].id, "end"), whole[cut + 1 :])
        self.it.restart()
        self.assertEqual(self.collect(version, "end"), whole)

    def test_live_watch_sees_what_a_later_one_reads(self) -> None:
        version = self.version()
        live: list[Event] = []
        thread = threading.Thread(target=lambda: live.extend(self.collect(version, "end")))
        thread.start()
        for i in range(30):
            self.it.submit(waiting(f"job-{i}"))
        self.it.submit(waiting("end"))
        thread.join(15)
        self.assertEqual(live, self.collect(version, "end"))

    def test_selectors_choose_and_leaving_looks_like_deletion(self) -> None:
        version = self.version()
        self.it.submit(waiting("red", colour="red"))
        self.it.submit(waiting("blue", colour="blue"))
        changed = self.it.job("red")
        changed["metadata"]["labels"] = {"colour": "green"}
        self.it.rest.call("PUT", f"{JOBS}/red", changed)
        self.it.submit(waiting("end", colour="red"))
        events = self.collect(version, "end", labelSelector="colour=red")
        kinds = [(e.kind, e.data["metadata"]["name"]) for e in events]
        self.assertEqual(kinds[0], ("added", "red"))
        self.assertIn(("deleted", "red"), kinds)
        self.assertNotIn("blue", [name for _, name in kinds])

    def test_history_that_is_gone_is_410(self) -> None:
        for i in range(5):
            self.it.submit(waiting(f"job-{i}"))
        self.it.stop()
        store = sqlite3.connect(self.it.home / "tandem.db")  # as if a day had gone by
        floor = store.execute("SELECT max(version) FROM changes").fetchone()[0] - 2
        store.execute("UPDATE meta SET changes_floor = ?", (floor,))
        store.commit()
        store.close()
        self.it.start()
        with self.assertRaises(Refused) as gone:
            list(self.it.rest.watch(JOBS, 5, resourceVersion=1))
        self.assertEqual(gone.exception.status, 410)
        self.assertEqual(gone.exception.answer.json["code"], "gone")
        version = self.version()
        self.it.submit(waiting("end"))
        self.assertEqual(self.collect(version, "end")[-1].data["metadata"]["name"], "end")

    def test_version_that_never_was_is_refused(self) -> None:
        for text in ("minus", "-1", "1.5", "99999999999999999999"):
            answer = self.it.rest.ask("GET", f"{JOBS}?watch=true&resourceVersion={text}")
            self.assertEqual((answer.status, answer.json["field"]), (400, "resourceVersion"), text)


if __name__ == "__main__":
    unittest.main()

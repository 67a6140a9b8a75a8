#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What operators see: one line per request with its id and no secret, metrics of a live scrape as docs/metrics.md lists them,
queries held to what a route takes."""

from __future__ import annotations

import json
import re
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import JOBS, ROOT, Installation, job, shell, until  # noqa: E402
from rest import Rest  # noqa: E402

SERIES = re.compile(r'^(?P<name>[a-z_][a-z0-9_]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


def parse(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            match = SERIES.match(line)
            assert match, line
            labels = dict(LABEL.findall(match["labels"] or ""))
            found.setdefault(match["name"], []).append((labels, float(match["value"])))
    return found


class Observing(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=2).__enter__()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.it.close()

    def lines(self, **wanted: Any) -> list[dict[str, Any]]:
        """Lines of the access log with these fields."""
        said = [json.loads(line) for line in self.it.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in said if line["msg"] == "request" and all(line.get(k) == v for k, v in wanted.items())]

    def scrape(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        answer = self.it.rest.ask("GET", "/metrics")
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.headers["content-type"].startswith("text/plain; version=0.0.4"))
        return parse(answer.text)

    def value(self, scraped: dict[str, Any], series: str, **labels: str) -> float:
        return sum(value for found, value in scraped.get(series, []) if labels.items() <= found.items())

    # ---- access log ----

    def test_each_request_has_its_line(self) -> None:
        made = self.it.rest.ask("POST", JOBS, job("logged", shell("true"), suspend=True), X_Request_Id="made-here-1")
        self.assertEqual(made.headers["x-request-id"], "made-here-1")
        line = self.lines(requestId="made-here-1")[0]
        self.assertEqual((line["method"], line["path"], line["status"], line["subject"]), ("POST", JOBS, 201, "user:admin"))
        meta = made.json["metadata"]
        self.assertEqual((line["uid"], line["version"]), (meta["uid"], meta["resourceVersion"]))
        self.assertGreater(line["durationUs"], 0)
        self.it.rest.ask("GET", JOBS + "/nobody", X_Request_Id="missing-1")
        self.assertEqual(self.lines(requestId="missing-1")[0]["status"], 404)
        self.it.rest.ask("GET", "/api/v9/nothing", X_Request_Id="nowhere-1")
        self.assertEqual(self.lines(requestId="nowhere-1")[0]["status"], 404)
        Rest(self.it.url, "td_aaaaaaaaaaaa_guess").ask("GET", JOBS, X_Request_Id="unknown-1")
        line = self.lines(requestId="unknown-1")[0]
        self.assertEqual((line["status"], line["subject"]), (401, "-"))
        self.it.rest.ask("POST", JOBS, "x" * (2 << 20), X_Request_Id="large-1")
        until("the refusal is logged", lambda: self.lines(requestId="large-1"), 5)
        self.assertEqual(self.lines(requestId="large-1")[0]["status"], 413)
        actions = [{"create": job(f"many-{i}", shell("true"), suspend=True)} for i in range(12)]
        self.it.rest.ask("POST", "/api/v1/batch", {"actions": actions}, X_Request_Id="many-1")
        line = self.lines(requestId="many-1")[0]
        self.assertEqual((line["objects"], len(line["uids"].split(","))), (12, 8))

    def test_log_is_capped_and_says_so(self) -> None:
        for _ in range(400):
            self.it.rest.ask("GET", "/healthz")
        logged = len(self.lines(path="/healthz"))
        self.assertLess(logged, 400)
        skipped = self.value(self.scrape(), "tandem_access_log_skipped_total")
        self.assertGreater(skipped, 0)

    def test_no_secret_is_logged(self) -> None:
        secret = self.it.rest.call("POST", "/api/v1/keys", {"apiVersion": "tandem/v1", "kind": "ApiKey",
                                                          "metadata": {"name": "quiet"}, "spec": {}})["status"]["secret"]
        self.it.rest_as(secret).get("/api/v1/whoami")
        self.it.rest.ask("GET", f"{JOBS}?key={secret}")
        said = self.it.log.read_text()
        for text in (secret, self.it.admin_key):
            self.assertNotIn(text, said)
            self.assertNotIn(text[16:], said)  # td_ID_ and then the secret, which may hold "_" itself

    # ---- metrics ----

    def test_metrics_of_a_live_scrape_are_the_documented_ones(self) -> None:
        self.it.submit(job("measured", shell("sleep 30")))
        self.it.wait_phase("measured", "running")
        self.it.submit(job("waits", shell("true"), replicas=2))
        until("the wait is measured", lambda: self.value(self.scrape(), "tandem_jobs_waiting", reason="noCapacity") == 1, 15, 0.5)
        scraped = self.scrape()
        self.assertEqual(self.value(scraped, "tandem_tasks", phase="running"), 1)
        self.assertEqual(self.value(scraped, "tandem_jobs", phase="running"), 1)
        self.assertEqual(self.value(scraped, "tandem_pool_devices", state="total"), 2)
        self.assertEqual(self.value(scraped, "tandem_pool_devices", state="used"), 1)
        self.assertEqual(self.value(scraped, "tandem_devices_held", phase="running", queue="default"), 1)
        route = "/api/v1/projects/{project}/namespaces/{namespace}/jobs"
        self.assertGreater(self.value(scraped, "tandem_api_requests_total", route=route, method="POST", status="201"), 0)
        self.assertGreater(self.value(scraped, "tandem_api_request_seconds_count", route=route, method="POST"), 0)
        self.assertGreater(self.value(scraped, "tandem_store_commit_seconds_count"), 0)
        self.assertGreater(self.value(scraped, "tandem_core_batch_seconds_count"), 0)
        self.assertGreater(self.value(scraped, "tandem_store_bytes"), 0)
        self.assertGreater(self.value(scraped, "tandem_core_decide_seconds_count"), 0)
        self.assertGreater(self.value(scraped, "tandem_executor_actions_total", kind="startTask"), 0)
        self.assertEqual(self.value(scraped, "tandem_build_info"), 1)
        documented = set(re.findall(r"`((?:tandem|process)_[a-z_]+)`", (ROOT / "docs/metrics.md").read_text()))
        names = {re.sub(r"_(bucket|sum|count)$", "", name) if re.search(r"_(bucket)$", name) or
                 name.rsplit("_", 1)[0] + "_bucket" in scraped else name for name in scraped}
        self.assertEqual(names - documented, set(), "not documented")
        self.it.tandem("job", "cancel", "measured")
        self.it.wait_phase("measured", "cancelled")

    def test_labels_have_few_values(self) -> None:
        for i in range(30):
            self.it.rest.ask("GET", f"{JOBS}/no-such-{i}")
            self.it.rest.ask("GET", f"/nowhere/{i}")
            self.it.rest.ask(f"M{i}", JOBS)
        scraped = self.scrape()
        routes = {labels["route"] for labels, _ in scraped["tandem_api_requests_total"]}
        self.assertIn("none", routes)
        self.assertFalse([route for route in routes if "no-such" in route or "nowhere" in route])
        self.assertFalse([labels for labels, _ in scraped["tandem_api_requests_total"] if labels["method"].startswith("M")])
        self.assertTrue(all(len(series) < 400 for name, series in scraped.items() if not name.endswith("_bucket")))

    def test_metrics_are_for_operators(self) -> None:
        self.it.rest.call("POST", "/api/v1/users", {"apiVersion": "tandem/v1", "kind": "User", "metadata": {"name": "eve"}})
        key = self.it.tandem("key", "create", "eve", "--subject", "user:eve").strip()
        self.assertEqual(self.it.rest_as(key).ask("GET", "/metrics").status, 404)
        self.assertEqual(Rest(self.it.url, "").ask("GET", "/metrics").status, 401)

    # ---- queries ----

    def test_queries_are_held_to_what_a_route_takes(self) -> None:
        body = job("ghost", shell("true"), suspend=True)
        for query, field in (("dryRun=True", "dryRun"), ("dryRun=1", "dryRun"), ("dryrun=true", "dryrun"), ("dryRun=", "dryRun"),
                             ("dryRun=true&dryRun=false", "dryRun"), ("colour=red", "colour")):
            with self.subTest(query):
                answer = self.it.rest.ask("POST", f"{JOBS}?{query}", body)
                self.assertEqual((answer.status, answer.json["field"]), (400, field), answer.text)
                self.assertIn("dryRun", answer.text)
                self.assertEqual(self.it.rest.ask("GET", f"{JOBS}/ghost").status, 404)
        self.assertEqual(self.it.rest.ask("POST", f"{JOBS}?dryRun=true", body).status, 201)
        self.assertEqual(self.it.rest.ask("GET", f"{JOBS}/ghost").status, 404)
        for path in (f"{JOBS}?watch=yes", f"{JOBS}?label=a", "/api/v1/events?lang=fr", "/healthz?x=1", f"{JOBS}/a?limit=1",
                     "/api/v1/audit?after=-1", "/api/v1/usage/report?from=2026", "/api/v1/queues-view?queue=a"):
            with self.subTest(path):
                self.assertEqual(self.it.rest.ask("GET", path).status, 400)

    def test_description_lists_every_parameter(self) -> None:
        described = self.it.rest.get("/api/openapi.json")
        listed = {p["name"] for p in described["paths"]["/api/v1/projects/{project}/namespaces/{namespace}/jobs"]["get"]["parameters"]}
        self.assertEqual(listed, {"project", "namespace", "watch", "resourceVersion", "labelSelector", "fieldSelector", "limit", "continue"})
        made = described["paths"]["/api/v1/batch"]["post"]["parameters"]
        self.assertEqual({p["name"] for p in made}, {"dryRun", "Idempotency-Key"})
        for path, operations in described["paths"].items():
            for method, operation in operations.items():
                names = [p["name"] for p in operation["parameters"]]
                self.assertEqual(len(names), len(set(names)), f"{method} {path}")
                for parameter in operation["parameters"]:
                    if parameter["in"] == "path":
                        self.assertIn("{" + parameter["name"] + "}", path)


if __name__ == "__main__":
    unittest.main()

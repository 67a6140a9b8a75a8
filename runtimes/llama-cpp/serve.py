# SPDX-License-Identifier: Apache-2.0
"""Serves one GGUF file with llama.cpp on 127.0.0.1, as a replica of a Tandem service.

Every request needs the replica's key (Authorization: Bearer KEY), taken from TANDEM_REPLICA_KEY or
from --key-file, never from an argument that other users could read in the process list.
SIGTERM: requests in flight are finished, for at most --drain-timeout, then the process ends;
whoever routes to this replica sends it nothing new by then. It dies with its parent, so no server
outlives its shim.

The server is xllamacpp's build of llama.cpp. TANDEM_LLAMA_SERVER, a program's name or path, takes
that llama-server instead, with the same settings.
"""

from __future__ import annotations

import argparse
import ctypes
import http.client
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Protocol

HOST = "127.0.0.1"
PR_SET_PDEATHSIG = 1
POLL_S = 0.05


class Engine(Protocol):
    def exit_code(self) -> int | None:
        """None while it runs."""


class Embedded:
    """llama.cpp inside this process; it cannot end without it."""

    def __init__(self, a: argparse.Namespace, key: str) -> None:
        import xllamacpp

        p = xllamacpp.CommonParams()
        p.model.path = str(a.model)
        p.model_alias = {a.alias}
        p.hostnames, p.port, p.api_keys = [HOST], a.port, [key]
        p.n_parallel, p.n_ctx = a.parallel, a.context_length * a.parallel
        p.cpuparams.n_threads = p.cpuparams_batch.n_threads = a.threads
        p.n_gpu_layers = a.gpu_layers
        p.n_threads_http = http_threads(a.parallel)
        p.endpoint_metrics = p.endpoint_slots = True
        p.ui = False
        p.cache_ram_mib = 0  # prompts of idle slots would otherwise be kept, up to 8 GiB of them
        p.verbosity = 1
        try:
            self.server = xllamacpp.Server(p)
        except RuntimeError:
            sys.exit(f"serve: llama.cpp could not serve {a.model} on port {a.port}: see above")

    def exit_code(self) -> int | None:
        return None


class Child:
    """A llama-server binary."""

    def __init__(self, program: str, a: argparse.Namespace, key: str) -> None:
        settings = {
            "--model": a.model,
            "--alias": a.alias,
            "--host": HOST,
            "--port": a.port,
            "--parallel": a.parallel,
            "--ctx-size": a.context_length * a.parallel,
            "--threads": a.threads,
            "--threads-batch": a.threads,
            "--threads-http": http_threads(a.parallel),
            "--n-gpu-layers": a.gpu_layers,
            "--cache-ram": 0,
        }
        words = [str(word) for pair in settings.items() for word in pair]
        command = [program, *words, "--metrics", "--slots", "--no-webui"]
        environment = {**os.environ, "LLAMA_API_KEY": key}
        self.process = subprocess.Popen(command, env=environment, preexec_fn=die_with_parent)

    def exit_code(self) -> int | None:
        return self.process.poll()


def http_threads(parallel: int) -> int:
    """A kept-alive connection holds a thread: enough for a gateway's pool, probes and the drain."""
    return 4 * parallel + 8


def die_with_parent() -> None:
    """To Linux the parent is the thread that started this process: a starter must not do it in a
    passing one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")


def in_flight(port: int, key: str) -> int:
    """Requests that the server works on or has put off."""
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {key}"})
        lines = connection.getresponse().read().decode().splitlines()
    finally:
        connection.close()
    wanted = ("llamacpp:requests_processing ", "llamacpp:requests_deferred ")
    return sum(int(float(line.split()[1])) for line in lines if line.startswith(wanted))


def drain(port: int, key: str, timeout_s: float) -> None:
    """Returns when nothing was in flight at two looks in a row: between accepting a request and
    giving it a slot, and while its last bytes leave, the server counts it nowhere."""
    deadline, quiet = time.monotonic() + timeout_s, 0
    while quiet < 2 and time.monotonic() < deadline:
        try:
            busy = in_flight(port, key)
        except (OSError, http.client.HTTPException, ValueError):
            busy = 1
        quiet = 0 if busy else quiet + 1
        time.sleep(POLL_S)
    print("drained" if quiet >= 2 else f"still busy after {timeout_s:g} s, ending", flush=True)


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, is {value}")
    return value


def parse_arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(
        description="Serve one GGUF file with llama.cpp.", allow_abbrev=False
    )
    p.add_argument("--model", type=Path, required=True, help="GGUF file")
    p.add_argument("--port", type=positive, required=True)
    p.add_argument("--alias", required=True, help="name of the model in answers")
    p.add_argument("--context-length", type=positive, default=2048, help="tokens of one request")
    p.add_argument("--parallel", type=positive, default=4, help="requests worked on at a time")
    p.add_argument("--threads", type=positive, default=1)
    p.add_argument("--gpu-layers", type=int, default=0, help="layers kept on the accelerator")
    p.add_argument("--drain-timeout", type=float, default=30.0, metavar="SECONDS")
    p.add_argument("--key-file", type=Path, help="file with the key; otherwise TANDEM_REPLICA_KEY")
    a = p.parse_args()
    if not a.model.is_file():
        p.error(f"--model: no file {a.model}")
    return a


def read_key(a: argparse.Namespace) -> str:
    key = (
        a.key_file.read_text(encoding="utf-8")
        if a.key_file
        else os.environ.get("TANDEM_REPLICA_KEY", "")
    )
    if not key.strip():
        sys.exit(
            "serve: no key: set TANDEM_REPLICA_KEY or give --key-file; a replica without one is"
            " open to everybody"
        )
    return key.strip()


def start_engine(a: argparse.Namespace, key: str) -> Engine:
    wanted = os.environ.get("TANDEM_LLAMA_SERVER", "")
    if not wanted:
        return Embedded(a, key)
    program = shutil.which(wanted)
    if program is None:
        sys.exit(f"serve: TANDEM_LLAMA_SERVER={wanted}: no such program")
    return Child(program, a, key)


def wait_for_stop(engine: Engine, wakeup: int) -> None:
    """Returns on SIGTERM or SIGINT; exits with the engine when that ends by itself."""
    while not select.select([wakeup], [], [], 0.5)[0]:
        code = engine.exit_code()
        if code is not None:
            sys.exit(f"serve: the server ended by itself with {code}")


def main() -> None:
    parent = os.getppid()
    die_with_parent()
    if os.getppid() != parent:
        sys.exit("serve: the parent is gone")
    a = parse_arguments()
    key = read_key(a)
    started = time.monotonic()
    # Until the server is up nothing is in flight, and SIGTERM ends the process at once, as by
    # default.
    engine = start_engine(a, key)
    # The handler may run in any thread of llama.cpp; the pipe wakes this one whichever it was.
    wakeup, written = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(written)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    print(
        json.dumps(
            {
                "serving": a.alias,
                "port": a.port,
                "startSeconds": round(time.monotonic() - started, 3),
            }
        ),
        flush=True,
    )
    wait_for_stop(engine, wakeup)
    drain(a.port, key, a.drain_timeout)
    # Nothing is left to save; llama.cpp's own way out waits half a minute for streams that never
    # end.
    os._exit(0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""An installation in a folder of its own, with real processes; whatever a test does, nothing of it lives on."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rest import Rest

ROOT = Path(__file__).resolve().parents[2]
BINARIES = Path(os.environ.get("TANDEM_BIN", ROOT / "build/dev/bin"))
TANDEM = BINARIES / "tandem"
JOBS = "/api/v1/projects/default/namespaces/default/jobs"
REPLICAS = "/api/v1/projects/default/namespaces/default/replicas"
OVER = ("succeeded", "failed", "cancelled")


def until(what: str, ready: Callable[[], Any], timeout: float = 20, every: float = 0.02) -> Any:
    """The first true answer of ready(); AssertionError naming what did not happen."""
    deadline = time.monotonic() + timeout
    while not (answer := ready()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {timeout:g} s")
        time.sleep(every)
    return answer


def shell(text: str) -> list[str]:
    return ["sh", "-c", text]


def job(name: str, command: list[str], *, replicas: int = 1, devices: Any = 1, **spec: Any) -> dict[str, Any]:
    """A manifest; devices are cpu-slices. Grace is short unless said otherwise."""
    role = {"name": "worker", "replicas": replicas, "resources": {"devices": devices, "flavor": "cpu-slice"}}
    return {
        "apiVersion": "tandem/v1",
        "kind": "Job",
        "metadata": {"name": name, "project": "default", "namespace": "default"},
        "spec": {"command": command, "roles": [role], "grace": "2s"} | spec,
    }


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def processes_below(home: Path) -> list[int]:
    """Of this installation: servers, gateways, shims, by the folder that their arguments or environment name."""
    found = []
    mark = str(home).encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            program = os.readlink(entry / "exe").rsplit("/", 1)[-1]
            if not program.startswith("tandem"):
                continue
            if mark in (entry / "cmdline").read_bytes() or mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


_open: list["Installation"] = []


def _close_all(*_: Any) -> None:
    for one in list(_open):
        one.close()


def _interrupted(number: int, _frame: Any) -> None:
    _close_all()
    os._exit(128 + number)


atexit.register(_close_all)


class Installation:
    """`with Installation(slices=4) as it:` starts a server; `it.rest` asks it as the first admin."""

    def __init__(self, slices: int = 4, over_commit: int = 0, folder: Path | None = None, **options: str) -> None:
        self._temporary = None if folder else tempfile.TemporaryDirectory(prefix="tandem-test-")
        self.folder = folder or Path(self._temporary.name)
        self.home = self.folder / "home"
        cores = os.cpu_count() or 1
        self.options = {
            "--listen": "127.0.0.1:0",
            "--gateway": "127.0.0.1:0",
            "--slices": str(slices),
            "--over-commit": str(over_commit or -(-slices // cores)),
        } | options
        self.environment = os.environ | {
            "TANDEM_HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
        }
        for name in ("TANDEM_SERVER", "TANDEM_API_KEY"):
            self.environment.pop(name, None)
        self.server: subprocess.Popen[bytes] | None = None
        self._rest: Rest | None = None
        self.log = self.folder / "server.log"
        if not _open:
            signal.signal(signal.SIGTERM, _interrupted)
            signal.signal(signal.SIGINT, _interrupted)
        _open.append(self)

    def __enter__(self) -> "Installation":
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind and self.log.exists():
            print("".join(self.log.read_text(errors="replace").splitlines(True)[-25:]), file=sys.stderr)
        self.close()

    @property
    def words(self) -> list[str]:
        """The options, as a start of it takes them."""
        return [word for pair in self.options.items() for word in pair if word]

    # ---- the server ----

    def start(self, wait: bool = True) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        words = [str(TANDEM), "server", *self.words]
        with self.log.open("ab") as log:
            # In the test's own process group, so that it can't outlive a test that is killed.
            self.server = subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if wait:
            self.wait_ready()

    def is_ready(self) -> bool:
        if self.server and self.server.poll() is not None:
            raise AssertionError(f"the server ended with {self.server.returncode}: {self.log.read_text()[-1500:]}")
        asker = Rest(self.address, "", 5)
        try:
            return asker.ask("GET", "/healthz").status == 200
        except OSError:
            return False
        finally:
            asker.close()

    def wait_ready(self, timeout: float = 30) -> None:
        until("the server is ready", self.is_ready, timeout, 0.005)

    def kill(self) -> None:
        """As a power cut would: no time to write anything."""
        assert self.server
        self.server.kill()
        self.server.wait()
        if self._rest:
            self._rest.close()

    def stop(self) -> int:
        assert self.server
        self.server.terminate()
        code = self.server.wait(30)
        if self._rest:
            self._rest.close()
        return code

    def restart(self) -> None:
        self.kill()
        self.start()

    @property
    def address(self) -> str:
        return f"unix:{self.home}/server.sock"

    @property
    def url(self) -> str:
        return json.loads((self.home / "run/server.json").read_text())["url"]

    @property
    def admin_key(self) -> str:
        return (self.home / "admin.key").read_text().strip()

    @property
    def rest(self) -> Rest:
        if self._rest is None:
            self._rest = Rest(self.address, self.admin_key)
        return self._rest

    def rest_as(self, key: str, timeout: float = 20) -> Rest:
        return Rest(self.address, key, timeout)

    # ---- the command line ----

    def run(self, *words: str, key: str = "", stdin: str = "", timeout: float = 30) -> subprocess.CompletedProcess[str]:
        environment = self.environment | ({"TANDEM_API_KEY": key} if key else {})
        return subprocess.run(
            [str(TANDEM), *words], env=environment, input=stdin, text=True, capture_output=True, timeout=timeout
        )

    def tandem(self, *words: str, **more: Any) -> str:
        done = self.run(*words, **more)
        if done.returncode:
            raise AssertionError(f"tandem {' '.join(words)}: exit {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout

    # ---- work ----

    def submit(self, manifest: dict[str, Any], **headers: str) -> dict[str, Any]:
        return self.rest.call("POST", JOBS, manifest, **headers)

    def job(self, name: str) -> dict[str, Any]:
        return self.rest.get(f"{JOBS}/{name}")

    def phase(self, name: str) -> str:
        return self.job(name)["status"]["phase"]

    def wait_phase(self, name: str, *phases: str, timeout: float = 20) -> dict[str, Any]:
        def there() -> dict[str, Any] | None:
            found = self.job(name)
            if found["status"]["phase"] in phases:
                return found
            if found["status"]["phase"] in OVER:
                raise AssertionError(f"job {name} is {found['status']}, not {' or '.join(phases)}")
            return None

        try:
            return until(f"job {name} is {' or '.join(phases)}", there, timeout)
        except AssertionError as error:
            raise AssertionError(f"{error}; {json.dumps(self.job(name)['status'])}") from None

    def recount(self) -> str:
        """Empty when the independent recount of the exported history agrees with the report; else what it said."""
        history, told = self.folder / "history.ndjson", self.folder / "report.json"
        self.tandem("admin", "export-history", str(history))
        recount = [str(BINARIES / "tandem-recount"), str(history)]
        counted = subprocess.run(recount, text=True, capture_output=True, timeout=60)
        if counted.returncode:
            return counted.stderr[-1500:]
        window = {name: json.loads(counted.stdout)[name] for name in ("from", "to")}
        told.write_text(json.dumps(self.rest.get("/api/v1/usage/report", **window)))
        words = [*recount, "--report", str(told), "--from", window["from"], "--until", window["to"]]
        done = subprocess.run(words, text=True, capture_output=True, timeout=60)
        return "" if done.returncode == 0 else (done.stdout + done.stderr)[-1500:]

    def tasks(self) -> dict[str, int]:
        """Live replicas: name -> pid of the task's process, as the server says."""
        found = {}
        for replica in self.rest.list(REPLICAS):
            status = replica["status"]
            if status["phase"] in ("running", "starting", "stopping", "unknown") and status.get("handle"):
                found[replica["metadata"]["name"]] = int(status["handle"].split()[1])
        return found

    # ---- the end ----

    def close(self) -> None:
        if self not in _open:
            return
        _open.remove(self)
        if self._rest:
            self._rest.close()
        for _ in range(50):
            left = processes_below(self.home)
            if not left:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)
        if self.server:
            self.server.wait()
        if self._temporary:
            for _ in range(20):
                try:
                    self._temporary.cleanup()
                    break
                except OSError:
                    time.sleep(0.05)  # a task on its way out still writes

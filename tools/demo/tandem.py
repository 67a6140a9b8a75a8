# SPDX-License-Identifier: Apache-2.0
"""The tandem command line, as a person types it: the ride touches the platform in no other way."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from narrator import Narrator

PROJECT = "ride"


class CommandFailed(Exception):
    pass


class TimedOut(Exception):
    pass


class Tandem:
    def __init__(
        self, binary: Path, home: Path, python: Path, runtimes: Path, narrator: Narrator
    ) -> None:
        self.binary, self.home, self.runtimes, self.narrator = binary, home, runtimes, narrator
        self.environment = os.environ | {
            "TANDEM_HOME": str(home),
            "TANDEM_PYTHON": str(python),
            "TANDEM_RUNTIMES": str(runtimes),
            "XDG_CONFIG_HOME": str(home / "config"),
        }

    def run(self, *words: str, timeout: float = 60, key: str = "") -> str:
        """Runs it quietly, with another key when given; raises CommandFailed with what it said."""
        environment = self.environment | ({"TANDEM_API_KEY": key} if key else {})
        done = subprocess.run(
            [self.binary, *words],
            env=environment,
            timeout=timeout,
            text=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        if done.returncode != 0:
            raise CommandFailed(
                f"tandem {' '.join(words)}: exit {done.returncode}: {done.stderr.strip()}"
            )
        return done.stdout

    def is_refused(self, *words: str, key: str) -> bool:
        try:
            self.run(*words, key=key)
        except CommandFailed:
            return True
        return False

    def show(self, *words: str, timeout: float = 60, lines_max: int = 12) -> str:
        """Runs it as a person would: the command and what it says are told."""
        self.narrator.command(["tandem", *words])
        output = self.run(*words, timeout=timeout)
        lines = output.rstrip().splitlines()
        self.narrator.result("\n".join(lines[:lines_max]))
        if len(lines) > lines_max:
            self.narrator.result(f"... {len(lines) - lines_max} more lines")
        return output

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "-o", "json"))

    def get(self, kind: str, name: str) -> dict[str, Any]:
        return self.json("get", kind, name, "--project", PROJECT)

    def status(self, kind: str, name: str) -> dict[str, Any]:
        return self.get(kind, name).get("status", {})

    def phase(self, kind: str, name: str) -> str:
        return str(self.status(kind, name).get("phase", ""))

    def replicas(self, owner: str) -> list[dict[str, Any]]:
        """Of a job or service, those that are not over."""
        items = self.json("get", "replicas", "--project", PROJECT)["items"]
        over = ("succeeded", "failed", "cancelled")
        return [
            r for r in items if r["spec"]["ownerName"] == owner and r["status"]["phase"] not in over
        ]


def until(what: str, ready: Callable[[], Any], timeout: float, every: float = 0.1) -> Any:
    """Returns the first true answer of ready(); raises TimedOut naming what did not happen."""
    deadline = time.monotonic() + timeout
    while not (answer := ready()):
        if time.monotonic() > deadline:
            raise TimedOut(f"{what}: not within {timeout:g} s")
        time.sleep(every)
    return answer

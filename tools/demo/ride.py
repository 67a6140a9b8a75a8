# SPDX-License-Identifier: Apache-2.0
"""The first ride, with real parts: train, be interrupted, go on, register, serve, call, lose the
server, account.

Called by `./dev demo [--keep] [--check]`, in the environment that tools/setup/python.sh made;
TANDEM_BIN is the folder of the built programs. Everything happens in a temporary home, through the
command line and the official OpenAI SDK. --check also trains once undisturbed to compare with, and
makes each broken promise an exit code of 1. --keep leaves it running.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import openai

import accounts
import instruct
import serving
import training
from caller import Caller
from narrator import Narrator
from tandem import PROJECT, CommandFailed, Tandem, TimedOut

ROOT = Path(__file__).resolve().parents[2]
SLICES = 2


@dataclasses.dataclass
class Ride:
    """What the steps share: who talks, whom they talk to, and what was found."""

    say: Narrator
    tandem: Tandem
    check: bool
    home: Path
    caller: Caller | None = None
    checks: list[tuple[str, bool, str]] = dataclasses.field(default_factory=list)
    figures: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    notes: dict[str, Any] = dataclasses.field(default_factory=dict)

    def example(self, name: str) -> str:
        return str(Path("examples/tiny-gpt") / name)

    def prove(self, promise: str, kept: bool, detail: str) -> None:
        self.checks.append((promise, kept, detail))
        self.say.result(f"{'kept' if kept else 'BROKEN'}: {promise} ({detail})")

    def figure(self, name: str, value: str) -> None:
        self.figures.append((name, value))


def parse_arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(
        prog="./dev demo", description="The first ride, with real parts.", allow_abbrev=False
    )
    p.add_argument("--keep", action="store_true", help="leave Tandem running at the end")
    p.add_argument(
        "--check",
        action="store_true",
        help="hold the ride to its promises; exit 1 when one is broken",
    )
    return p.parse_args()


def free_port() -> int:
    """Not the usual ones: the ride leaves an installation that runs here already in peace."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(ride: Ride) -> None:
    with ride.say.step(
        "Start Tandem",
        f"A server and a gateway on this machine, {SLICES} slices of its processor as "
        f"devices, nothing else to install. Everything it keeps is in {ride.home}.",
    ):
        addresses = [f"127.0.0.1:{free_port()}" for _ in range(2)]
        ride.tandem.show(
            "up", "--slices", str(SLICES), "--listen", addresses[0], "--gateway", addresses[1]
        )
        ride.tandem.show("status")


def give_ada_a_key(ride: Ride) -> None:
    with ride.say.step(
        "Let a second person in",
        "Ada may train and call in one project, with her own key, and sees "
        "nothing else. Every act of hers is audited.",
    ):
        ride.tandem.show("apply", "-f", ride.example("project.yaml"))
        ride.say.command(
            ["tandem", "key", "create", "ada", "--subject", "user:ada", "--project", PROJECT]
        )
        made = ride.tandem.json(
            "key", "create", "ada", "--subject", "user:ada", "--project", PROJECT
        )
        gateway, key = ride.tandem.json("status")["gateway"]["url"], made["key"]
        ride.caller = Caller(f"{gateway}/v1", key)
        ride.say.result("the key is shown once; Tandem itself keeps only its digest")
        allowed = not ride.tandem.is_refused("get", "jobs", "--project", PROJECT, key=key)
        refused = ride.tandem.is_refused("delete", "project", PROJECT, key=key)
        ride.prove(
            "a person may do what her role allows, and no more",
            allowed and refused,
            "she sees her project's jobs, and may not delete the project",
        )


def finish(ride: Ride) -> bool:
    ride.say.table("What the ride measured", ride.figures)
    broken = [promise for promise, kept, _ in ride.checks if not kept]
    ride.say.table(
        "Promises",
        [
            (promise, "kept: " + detail if kept else "BROKEN: " + detail)
            for promise, kept, detail in ride.checks
        ],
    )
    ride.say.line()
    ride.say.line(
        f"{len(ride.checks) - len(broken)} promises kept, {len(broken)} broken, "
        f"{time.monotonic() - ride.say.started:.0f} s"
    )
    return not broken


def say_what_next(ride: Ride, kept: bool) -> None:
    binary = ride.tandem.binary
    ride.say.line()
    if kept:
        ride.say.line(
            f"It runs on. Talk to it with TANDEM_HOME={ride.home} set; {binary} down --all ends it."
            " Try next:"
        )
        commands = [
            f"{binary} run -- echo hello",
            f"{binary} why job/train --project {PROJECT}",
            f"{binary} usage explain job/train --project {PROJECT}",
        ]
    else:
        ride.say.line("Try next:")
        commands = [
            "./dev demo --keep",
            f"{binary} up && {binary} run -- echo hello",
            f"{binary} --help",
        ]
    for command in commands:
        ride.say.line(f"   {command}")


def take(ride: Ride) -> bool:
    start(ride)
    give_ada_a_key(ride)
    training.take(ride)
    serving.take(ride)
    instruct.take(ride)
    accounts.take(ride)
    return finish(ride)


def end(ride: Ride, keep: bool, well: bool) -> None:
    if keep:
        return
    with contextlib.suppress(CommandFailed, OSError):
        ride.tandem.run("down", "--all", timeout=120)
    if well:
        shutil.rmtree(ride.home, ignore_errors=True)
    else:
        ride.say.line(f"What Tandem and its tasks wrote is kept in {ride.home}")


def main() -> int:
    arguments = parse_arguments()
    os.chdir(ROOT)
    binary = Path(os.environ.get("TANDEM_BIN", ROOT / "build/release/bin")) / "tandem"
    if not binary.is_file():
        sys.exit(f"demo: no {binary}: ./dev build release first, or set TANDEM_BIN")
    say = Narrator()
    home = Path(tempfile.mkdtemp(prefix="tandem-demo-"))
    ride = Ride(
        say,
        Tandem(binary, home, Path(sys.executable), ROOT / "runtimes", say),
        arguments.check,
        home,
    )
    # Terminated or interrupted, it ends what it started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    well = False
    try:
        well = take(ride)
        say_what_next(ride, arguments.keep)
    except (CommandFailed, TimedOut, openai.OpenAIError) as error:
        say.line(f"\ndemo: {error}")
        return 1
    except KeyboardInterrupt:
        say.line("\ndemo: interrupted")
        return 130
    finally:
        end(ride, arguments.keep and well, well)
    return 0 if well or not arguments.check else 1


if __name__ == "__main__":
    sys.exit(main())

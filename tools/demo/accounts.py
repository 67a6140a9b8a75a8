# SPDX-License-Identifier: Apache-2.0
"""Last part of the ride: every device-second and token is accounted for, and counted again by
another program."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from tandem import PROJECT, until

if TYPE_CHECKING:
    from ride import Ride

JOBS = ("train", "longer", "urgent", "witness")


def report(ride: Ride) -> None:
    assert ride.caller is not None
    caller = ride.caller
    with ride.say.step(
        "Account for it",
        "Time of devices by what it was spent on, idle time too; tokens by key, service "
        "and version. What a person made wait or lose is named, not hidden in an average.",
    ):
        until("all usage shipped", lambda: metered(ride) >= caller.made, 30)
        ride.tandem.show("usage", "report", "--project", PROJECT, lines_max=30)
        ride.tandem.show("usage", "explain", "job/train", "--project", PROJECT, lines_max=30)
        counted = metered(ride)
        ride.prove(
            "no request was lost, none counted twice",
            counted == caller.made and not caller.failed,
            f"{caller.made} made, {counted} metered, {len(caller.failed)} failed",
        )
        lost = [job for job in JOBS if ride.tandem.phase("job", job) != "succeeded"]
        ride.prove("no job was lost", not lost, f"{len(JOBS) - len(lost)} of {len(JOBS)} succeeded")
        ride.figure("jobs lost", str(len(lost)))


def metered(ride: Ride) -> int:
    rows = ride.tandem.json("usage", "report", "--project", PROJECT).get("tokens", [])
    return sum(int(row["requests"]) for row in rows)


def figure_phases(ride: Ride) -> None:
    rows = ride.tandem.json("usage", "report", "--project", PROJECT).get("devices", [])
    totals: dict[str, int] = {}
    for row in rows:
        totals[row["state"]] = totals.get(row["state"], 0) + int(row["deviceMs"])
    for state, total in totals.items():
        ride.figure(f"device-seconds {state}", f"{total / 1000:.1f}")


def count_again(ride: Ride) -> None:
    with ride.say.step(
        "Count it again",
        "Another program, which shares no code with the ledger, counts the exported history "
        "from the start and must come to the same milliseconds.",
    ):
        history, told = ride.home / "history.ndjson", ride.home / "usage.json"
        report = ride.tandem.json("usage", "report")
        told.write_text(json.dumps(report), encoding="utf-8")
        ride.tandem.show("admin", "export-history", str(history))
        program = ride.tandem.binary.with_name("tandem-recount")
        words = [str(history), "--report", str(told), "--until", report["to"]]
        ride.say.command([program.name, *words])
        done = subprocess.run([program, *words], text=True, capture_output=True, timeout=60)
        last = (done.stdout.strip().splitlines() or [done.stderr.strip()])[-1]
        ride.prove("an independent recount agrees to the millisecond", done.returncode == 0, last)


def take(ride: Ride) -> None:
    report(ride)
    figure_phases(ride)
    count_again(ride)

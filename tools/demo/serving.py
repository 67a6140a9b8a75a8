# SPDX-License-Identifier: Apache-2.0
"""Second part of the ride: the trained weights become a version, a service serves it, asleep until
called."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from caller import Answer, Load
from tandem import PROJECT, until
from training import checkpoint_of, wait_done

if TYPE_CHECKING:
    from ride import Ride

MODEL = "tiny-gpt"
PROMPTS = [
    "of the Program",
    "The GNU General Public License",
    "a covered work",
    "to the extent that",
    "conditions of this License",
    "free software",
    "you may convey",
    "the source code",
]
TOKENS = 24


def register(ride: Ride) -> None:
    with ride.say.step(
        "Register the weights",
        "What the training left is known by its digest already; it becomes a "
        "version of a model, with its origin.",
    ):
        ride.tandem.show(
            "model", "push", MODEL, "--job", "train", "--output", "model", "--project", PROJECT
        )
        outputs = {o["name"]: o["digest"] for o in ride.tandem.status("job", "train")["outputs"]}
        served = ride.tandem.get("modelversion", f"{MODEL}.v1")["spec"]["digest"]
        ride.prove(
            "the served digest is the trained one", outputs.get("model") == served, served[:19]
        )


def greedy_job(ride: Ride) -> dict[str, Any]:
    """Asks the trainer's own program; of several prompts the one whose choices are the least close,
    since where two tokens are level, rounding alone decides and two right programs may differ."""
    checkpoint = checkpoint_of(ride, "train")
    assert checkpoint is not None
    output = ride.tandem.run(
        "run",
        "--project",
        PROJECT,
        "--",
        str(ride.tandem.runtimes / "pytorch/run.sh"),
        str(ride.tandem.runtimes.parent / "examples/tiny-gpt/greedy.py"),
        checkpoint["path"],
        f"--tokens={TOKENS}",
        *PROMPTS,
        timeout=120,
    )
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return max(lines, key=lambda line: line["margin"])


def wake(ride: Ride) -> None:
    assert ride.caller is not None
    with ride.say.step(
        "Serve it, asleep",
        "The service has no replica while nobody calls and costs nothing. The first "
        "call is held, wakes it, and is answered when a replica has generated a token.",
    ):
        ride.tandem.show("apply", "-f", ride.example("service.yaml"))
        until("the service asleep", lambda: ride.tandem.phase("service", MODEL) == "asleep", 30)
        ride.tandem.show("get", "service", MODEL, "--project", PROJECT)
        cold = ride.caller.complete(MODEL, PROMPTS[0], TOKENS)
        warm = ride.caller.complete(MODEL, PROMPTS[0], TOKENS)
        ride.say.result(f"{PROMPTS[0]!r} is continued: {cold.text!r}")
        prove_stream(ride, cold)
        ride.figure("time to first token, cold (asleep)", f"{cold.first_s:.2f} s")
        ride.figure("time to first token, warm", f"{1000 * warm.first_s:.1f} ms")
        ride.tandem.show("get", "service", MODEL, "--project", PROJECT)


def prove_stream(ride: Ride, answer: Answer) -> None:
    ride.prove(
        "the stream came in more than one piece, usage at its end",
        answer.pieces > 1 and answer.usage_last and answer.completion_tokens == TOKENS,
        f"{answer.pieces} pieces, {answer.completion_tokens} tokens",
    )


def compare_with_trainer(ride: Ride) -> None:
    assert ride.caller is not None
    with ride.say.step(
        "Ask the trainer the same",
        "A served model must say what the trained one says. The trainer's own "
        "program continues the same prompt, as a job of one line.",
    ):
        own = greedy_job(ride)
        served = ride.caller.complete(MODEL, own["prompt"], TOKENS)
        ride.say.result(f"{own['prompt']!r}\ntrainer: {own['text']!r}\nserved:  {served.text!r}")
        ride.prove(
            "the served text is the trainer's own greedy continuation",
            own["text"] == served.text,
            f"{TOKENS} tokens, closest choice {own['margin']} logits apart",
        )


def scale(ride: Ride) -> None:
    assert ride.caller is not None
    with ride.say.step(
        "Scale up, lose a replica, scale to zero",
        "More callers than one replica takes: a second starts. "
        "One is killed from outside: another takes its place. Nobody calls: both go.",
    ):
        load = Load(ride.caller, MODEL, PROMPTS[0], 200)
        try:
            until(
                "two replicas", lambda: ride.tandem.status("service", MODEL).get("ready") == 2, 60
            )
            ride.tandem.show("get", "replicas", "--project", PROJECT)
        finally:
            answered = load.stop()
        ride.say.result(f"{answered} calls answered while it grew from one replica to two")
        ride.prove("no call failed while scaling", not ride.caller.failed, f"{answered} answered")
        replace_killed_replica(ride)
        until(
            "the service asleep again", lambda: ride.tandem.phase("service", MODEL) == "asleep", 60
        )
        ride.tandem.show("why", f"service/{MODEL}", "--project", PROJECT)


def replace_killed_replica(ride: Ride) -> None:
    assert ride.caller is not None
    victim = ride.tandem.replicas(MODEL)[0]
    name = victim["metadata"]["name"]
    os.kill(pid_of(victim), signal.SIGKILL)
    ride.say.command(["kill", "-9", f"PID-of-{name}"])
    answered = ride.caller.call_whole(MODEL, PROMPTS[0], 8)
    ride.prove(
        "a killed replica does not take the service with it",
        answered,
        f"{name} killed, the next call answered",
    )


def train_longer(ride: Ride) -> None:
    manifest = Path(ride.example("train.yaml")).read_text(encoding="utf-8")
    longer = ride.home / "longer.yaml"
    text = manifest.replace("name: train\n", "name: longer\n", 1).replace("=80", "=100", 1)
    longer.write_text(text, encoding="utf-8")
    ride.tandem.show("apply", "-f", str(longer))
    ride.prove(
        "the longer training succeeded", wait_done(ride, "longer") == "succeeded", "100 steps"
    )


def change_version(ride: Ride) -> None:
    assert ride.caller is not None
    with ride.say.step(
        "Change the version while it is called",
        "A longer training gives a second version. A replica of it starts beside the old one and"
        " must generate a token; only then callers move over, and the old one finishes its calls.",
    ):
        train_longer(ride)
        load = Load(ride.caller, MODEL, PROMPTS[0], 60, callers=1)
        try:
            served = lambda: ride.tandem.status("service", MODEL).get("servingVersion")  # noqa: E731
            until("the first version serving", lambda: load.answered > 2, 30)
            old = served()
            ride.tandem.show(
                "model", "push", MODEL, "--job", "longer", "--output", "model", "--project", PROJECT
            )
            until("the second version serving", lambda: served() != old, 60)
            answered_before = load.answered
            until("calls on the new version", lambda: load.answered > answered_before + 2, 30)
        finally:
            answered = load.stop()
        ride.prove(
            "no call failed while the version changed",
            not ride.caller.failed,
            f"{old} to {served()}, {answered} answered",
        )


def pid_of(replica: dict[str, Any]) -> int:
    """The handle is the executor's proof of identity: pid, start time, boot id."""
    digits = "".join(c if c.isdigit() else " " for c in replica["status"]["handle"]).split()
    return int(digits[0])


def take(ride: Ride) -> None:
    register(ride)
    wake(ride)
    compare_with_trainer(ride)
    scale(ride)
    change_version(ride)

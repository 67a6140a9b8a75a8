# SPDX-License-Identifier: Apache-2.0
"""First part of the ride: train, be preempted, save, wait, go on, and lose nothing by it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tandem import PROJECT, until

if TYPE_CHECKING:
    from ride import Ride

DONE = ("succeeded", "failed", "cancelled")
PREEMPT_AT_STEP = 20


def checkpoint_of(ride: Ride, job: str) -> dict[str, Any] | None:
    return ride.tandem.status("job", job).get("checkpoint")


def losses_of(ride: Ride, job: str) -> dict[str, float]:
    checkpoint = checkpoint_of(ride, job)
    if checkpoint is None:
        return {}
    text = (Path(checkpoint["path"]) / "losses.json").read_text(encoding="utf-8")
    return {step: float(loss) for step, loss in json.loads(text).items()}


def wait_done(ride: Ride, job: str, timeout: float = 120) -> str:
    phase = until(
        f"job {job} done", lambda: (p := ride.tandem.phase("job", job)) in DONE and p, timeout
    )
    if phase != "succeeded":
        ride.say.result(ride.tandem.run("why", f"job/{job}", "--project", PROJECT))
    return str(phase)


def train_undisturbed(ride: Ride) -> None:
    """What the interrupted training must equal; the same manifest under another name."""
    with ride.say.step(
        "Train once undisturbed",
        "Only for --check: the losses to compare the interrupted training with.",
    ):
        manifest = Path(ride.example("train.yaml")).read_text(encoding="utf-8")
        calm = ride.home / "calm.yaml"
        calm.write_text(manifest.replace("name: train\n", "name: calm\n", 1), encoding="utf-8")
        ride.tandem.show("apply", "-f", str(calm))
        wait_done(ride, "calm")
        ride.notes["calm"] = losses_of(ride, "calm")


def start_training(ride: Ride) -> None:
    with ride.say.step(
        "Train a small GPT",
        "Two ranks of PyTorch, one slice each, started together or not at all. They learn from"
        " /usr/share/common-licenses/GPL-3, a licence text that Debian's base-files carries.",
    ):
        ride.tandem.show("apply", "-f", ride.example("train.yaml"))
        until(
            "a complete checkpoint of the training",
            lambda: (checkpoint_of(ride, "train") or {"step": 0})["step"] >= PREEMPT_AT_STEP,
            120,
        )
        ride.tandem.show("get", "job", "train", "--project", PROJECT)


def take_the_slices(ride: Ride) -> None:
    with ride.say.step(
        "More urgent work takes the slices",
        "A job of higher priority needs both. The training is asked "
        "to stop, saves the step it is in, and waits its turn; nobody had to intervene.",
    ):
        ride.tandem.show("apply", "-f", ride.example("urgent.yaml"))
        until(
            "the urgent job running",
            lambda: ride.tandem.phase("job", "urgent") in ("running", *DONE),
            40,
        )
        ride.tandem.show("why", "job/train", "--project", PROJECT)
        saved = checkpoint_of(ride, "train")
        ride.say.result(f"the training saved step {saved['step'] if saved else 0}")
        ride.prove(
            "the more urgent job ran",
            wait_done(ride, "urgent", 60) == "succeeded",
            "it waited for nobody to save",
        )


def go_on(ride: Ride) -> None:
    with ride.say.step(
        "The training goes on",
        "The slices are free again. It starts from its checkpoint, not from the "
        "beginning, and its losses are those of a training that nobody disturbed.",
    ):
        phase = wait_done(ride, "train")
        status = ride.tandem.status("job", "train")
        ride.tandem.show("logs", "job/train", "--project", PROJECT, lines_max=16)
        ride.prove(
            "the interrupted training succeeded",
            phase == "succeeded",
            f"{status.get('preemptions', 0)} preemption, {status.get('starts')} starts",
        )
        lost = status.get("stepsLost", 0)
        ride.prove(
            "no step was lost beyond the checkpoint",
            lost == 0 and status.get("preemptions", 0) >= 1,
            f"{lost} lost",
        )
        ride.figure("steps lost by preemption", str(lost))
        if "calm" in ride.notes:
            compare_losses(ride, ride.notes["calm"], losses_of(ride, "train"))


def compare_losses(ride: Ride, calm: dict[str, float], disturbed: dict[str, float]) -> None:
    apart = [step for step in calm if round(calm[step], 4) != round(disturbed.get(step, -1.0), 4)]
    last = max(calm, key=int, default="0")
    detail = (
        f"{len(calm)} steps, at the last {disturbed.get(last, 0):.4f}"
        if not apart
        else f"apart from step {apart[0]} on"
    )
    ride.prove(
        "losses after resume equal an undisturbed run's to 4 digits",
        bool(calm) and not apart,
        detail,
    )


def take(ride: Ride) -> None:
    if ride.check:
        train_undisturbed(ride)
    start_training(ride)
    take_the_slices(ride)
    go_on(ride)

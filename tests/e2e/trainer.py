#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
"""The example trainer keeps to the checkpoint contract: two real ranks, stopped by SIGTERM and
started again, end with the losses and the very weights of a run that nobody disturbed; damaged
checkpoints are refused.
"""

from __future__ import annotations

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
COMMAND = [ROOT / "runtimes/pytorch/run.sh", ROOT / "examples/tiny-gpt/train.py"]
OPTIONS = [
    "--text=/usr/share/common-licenses/GPL-3",
    "--steps=12",
    "--checkpoint-every=4",
    "--batch=2",
]
RESUME_ME = 75


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Gang:
    """Two ranks in one folder."""

    def __init__(self, folder: Path, resume_from: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        port = str(free_port())
        self.ranks = [self.start(rank, port, resume_from) for rank in range(2)]

    def start(self, rank: int, port: str, resume_from: Path | None) -> subprocess.Popen[str]:
        environment = os.environ | {
            "RANK": str(rank),
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "TANDEM_CHECKPOINT_DIR": str(self.folder / "checkpoints"),
            "TANDEM_RESUME_FROM": str(resume_from or ""),
            "TANDEM_PROGRESS_FILE": str(self.folder / f"progress-{rank}"),
            "TANDEM_OUTPUT_DIR": str(self.folder / f"outputs-{rank}"),
        }
        return subprocess.Popen(
            [*COMMAND, *OPTIONS],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def step(self) -> int:
        try:
            return json.loads((self.folder / "progress-1").read_text())["step"]
        except FileNotFoundError:
            return 0

    def wait_for_step(self, step: int) -> None:
        deadline = time.monotonic() + 120
        while self.step() < step:
            if time.monotonic() > deadline or self.ranks[1].poll() is not None:
                raise AssertionError(f"step {step} was not reached: {self.finish()}")
            time.sleep(0.02)

    def finish(self) -> tuple[list[int], str]:
        outputs = [rank.communicate(timeout=150)[0] for rank in self.ranks]
        return [rank.returncode for rank in self.ranks], "".join(outputs)

    def checkpoints(self) -> list[Path]:
        return sorted((self.folder / "checkpoints").iterdir())

    def output(self, name: str) -> bytes:
        return (self.folder / "outputs-0" / name).read_bytes()


class Trainer(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_interrupted_run_equals_undisturbed_run(self) -> None:
        calm = Gang(self.folder / "calm")
        self.assertEqual(calm.finish()[0], [0, 0])
        first = Gang(self.folder / "disturbed")
        first.wait_for_step(6)
        first.ranks[1].send_signal(
            signal.SIGTERM
        )  # one rank is asked: all of them stop, at one step
        codes, text = first.finish()
        self.assertEqual(codes, [RESUME_ME, RESUME_ME], text)
        checkpoint = first.checkpoints()[-1]
        step = json.loads((checkpoint / "manifest.json").read_text())["step"]
        self.assertGreaterEqual(step, 6)
        second = Gang(self.folder / "disturbed", resume_from=checkpoint)
        codes, text = second.finish()
        self.assertEqual(codes, [0, 0], text)
        self.assertIn(f"from step {step} of", text)
        self.assertEqual(len(json.loads(calm.output("losses.json"))), 12)
        for name in ("losses.json", "weights.safetensors", "model.gguf"):
            self.assertEqual(calm.output(name), second.output(name), name)

    def test_damaged_or_absent_checkpoint_is_refused(self) -> None:
        calm = Gang(self.folder / "calm")
        self.assertEqual(calm.finish()[0], [0, 0])
        self.assertEqual([f.name for f in calm.checkpoints()], ["step-000008", "step-000012"])
        damaged = calm.checkpoints()[-1]
        with (damaged / "weights.safetensors").open("r+b") as file:
            file.truncate(1000)
        for folder, complaint in (
            (damaged, "is not the file"),
            (self.folder / "no", "is not a complete checkpoint"),
        ):
            codes, text = Gang(self.folder / "again", resume_from=folder).finish()
            self.assertEqual(codes, [1, 1])
            self.assertIn(complaint, text)


if __name__ == "__main__":
    unittest.main()

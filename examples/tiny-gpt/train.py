# SPDX-License-Identifier: Apache-2.0
"""Trains the tiny GPT, one process a rank, gradients averaged over gloo.

Tandem starts each rank with torchrun's environment contract (RANK, WORLD_SIZE, MASTER_ADDR,
MASTER_PORT) and with its checkpoint contract (checkpoint.py). SIGTERM to any rank: all ranks finish
the step they are in, rank 0 saves it, and all exit 75 ("not done: start me again from the
checkpoint"). Exit 0 means trained to the last step and written to TANDEM_OUTPUT_DIR:
  model.gguf  weights.safetensors  tokenizer.json  losses.json {"1": "6.215013", ...}
Losses of earlier attempts travel in the checkpoint, so the curve is whole however often it was
interrupted.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType

# Read when the library loads: a second thread a rank would only fight over the rank's one core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

import checkpoint
import tensors
import text
from export import write_gguf
from model import Config, TinyGpt

EXIT_RESUME_ME = 75  # EX_TEMPFAIL
WEIGHTS = "weights.safetensors"
OPTIMISER = "optimiser.safetensors"
TOKENIZER = "tokenizer.json"
LOSSES = "losses.json"


def parse_arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(description="Train the tiny GPT.", allow_abbrev=False)
    p.add_argument("--text", type=Path, required=True, help="UTF-8 text to learn")
    p.add_argument("--steps", type=int, default=80)
    p.add_argument("--checkpoint-every", type=int, default=20, metavar="STEPS")
    p.add_argument("--batch", type=int, default=8, help="sequences a rank and step")
    p.add_argument("--learning-rate", type=float, default=8e-3)
    p.add_argument("--warmup", type=int, default=5, metavar="STEPS")
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


def environment_path(name: str) -> Path | None:
    value = os.environ.get(name, "")
    return Path(value) if value else None


def required_path(name: str) -> Path:
    path = environment_path(name)
    if path is None:
        sys.exit(f"{name} must be set: run me under Tandem, or see examples/tiny-gpt/README.md")
    path.mkdir(parents=True, exist_ok=True)
    return path


class StopRequest:
    """SIGTERM, remembered until the step in hand is done."""

    def __init__(self) -> None:
        self.received = False
        signal.signal(signal.SIGTERM, self.on_signal)

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.received = True


@dataclasses.dataclass
class Run:
    """What a checkpoint holds: weights, optimiser, tokenizer, losses and the step they belong
    to."""

    net: TinyGpt
    optimiser: torch.optim.AdamW
    tokenizer: Tokenizer
    step: int = 0
    losses: dict[str, str] = dataclasses.field(default_factory=dict)

    def optimiser_tensors(self) -> dict[str, Tensor]:
        state = self.optimiser.state_dict()["state"]
        names = [name for name, _ in self.net.named_parameters()]
        return {
            f"{part}.{names[index]}": torch.as_tensor(value, dtype=torch.float32)
            for index, entry in state.items()
            for part, value in entry.items()
        }

    def write(self, folder: Path) -> None:
        tensors.write_tensors(folder / WEIGHTS, self.net.state_dict())
        tensors.write_tensors(folder / OPTIMISER, self.optimiser_tensors())
        self.tokenizer.save(str(folder / TOKENIZER))
        (folder / LOSSES).write_text(json.dumps(self.losses), encoding="utf-8")

    def read(self, folder: Path) -> None:
        self.step = checkpoint.verify(folder)
        self.net.load_state_dict(tensors.read_tensors(folder / WEIGHTS))
        index = {name: i for i, (name, _) in enumerate(self.net.named_parameters())}
        entries: dict[int, dict[str, Tensor]] = {}
        for key, value in tensors.read_tensors(folder / OPTIMISER).items():
            part, name = key.split(".", 1)
            entries.setdefault(index[name], {})[part] = value
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": entries, "param_groups": groups})
        self.tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
        self.losses = json.loads((folder / LOSSES).read_text(encoding="utf-8"))


def start_run(arguments: argparse.Namespace, corpus: str, resume_from: Path | None) -> Run:
    config = Config()
    torch.manual_seed(arguments.seed)
    net = TinyGpt(config)
    optimiser = torch.optim.AdamW(net.parameters(), lr=arguments.learning_rate)
    run = Run(net, optimiser, text.make_tokenizer(corpus, config.vocabulary))
    if resume_from is not None:
        run.read(resume_from)
    return run


def agree(loss: float, stop: bool) -> tuple[float, bool]:
    """All ranks learn the mean loss, and whether any of them was asked to stop, at the same
    step."""
    shared = torch.tensor([loss, float(stop)], dtype=torch.float64)
    dist.all_reduce(shared)
    return shared[0].item() / dist.get_world_size(), shared[1].item() > 0


def train_step(run: Run, ddp: nn.Module, ids: Tensor, arguments: argparse.Namespace) -> float:
    context = run.net.config.context
    inputs, targets = text.draw_batch(
        ids, context, arguments.batch, arguments.seed, run.step, dist.get_rank()
    )
    loss = F.cross_entropy(ddp(inputs).flatten(0, 1), targets.flatten())
    for group in run.optimiser.param_groups:
        group["lr"] = arguments.learning_rate * min(1.0, (run.step + 1) / arguments.warmup)
    run.optimiser.zero_grad()
    loss.backward()
    run.optimiser.step()
    run.step += 1
    return loss.item()


def save(run: Run, root: Path) -> None:
    if dist.get_rank() == 0:
        started = time.monotonic()
        folder = checkpoint.save(root, run.step, run.write)
        print(
            f"checkpoint {folder.name} complete in {1000 * (time.monotonic() - started):.0f} ms",
            flush=True,
        )
    dist.barrier()


def train(run: Run, ids: Tensor, arguments: argparse.Namespace, root: Path) -> bool:
    """Returns False when it was asked to stop before the last step."""
    stop = StopRequest()
    ddp = nn.parallel.DistributedDataParallel(run.net)
    progress = environment_path("TANDEM_PROGRESS_FILE")
    checkpoint.report_progress(progress, run.step)
    while run.step < arguments.steps:
        loss, stopping = agree(train_step(run, ddp, ids, arguments), stop.received)
        run.losses[str(run.step)] = f"{loss:.6f}"
        checkpoint.report_progress(progress, run.step)
        last = run.step == arguments.steps
        if dist.get_rank() == 0 and (run.step % 10 == 0 or last or stopping):
            print(f"step {run.step}/{arguments.steps} loss {loss:.6f}", flush=True)
        if stopping or last or run.step % arguments.checkpoint_every == 0:
            save(run, root)
        if stopping and not last:
            return False
    return True


def write_outputs(run: Run, folder: Path) -> None:
    tensors.write_tensors(folder / WEIGHTS, run.net.state_dict())
    run.tokenizer.save(str(folder / TOKENIZER))
    checkpoint.replace_file(folder / LOSSES, json.dumps(run.losses, indent=0) + "\n")
    write_gguf(folder / "model.gguf", run.net, json.loads(run.tokenizer.to_str()))


def main() -> int:
    arguments = parse_arguments()
    checkpoints = required_path("TANDEM_CHECKPOINT_DIR")
    outputs = required_path("TANDEM_OUTPUT_DIR")
    if shutil.disk_usage(checkpoints).free < 64 << 20:
        sys.exit(f"TANDEM_CHECKPOINT_DIR={checkpoints} has less than 64 MiB free")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    corpus = text.read_text(arguments.text)
    resume_from = environment_path("TANDEM_RESUME_FROM")
    run = start_run(arguments, corpus, resume_from)
    ids = torch.tensor(run.tokenizer.encode(corpus).ids)
    if dist.get_rank() == 0:
        origin = f"step {run.step} of {resume_from}" if resume_from else "the start"
        weights = sum(p.numel() for p in run.net.parameters())
        print(
            f"{weights} parameters, {len(ids)} tokens of {arguments.text}, "
            f"{dist.get_world_size()} ranks, from {origin}",
            flush=True,
        )
    done = train(run, ids, arguments, checkpoints)
    if done and dist.get_rank() == 0:
        write_outputs(run, outputs)
    dist.barrier()
    dist.destroy_process_group()
    return 0 if done else EXIT_RESUME_ME


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ValueError, OSError) as error:
        sys.exit(f"train: {error}")

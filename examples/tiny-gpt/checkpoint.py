# SPDX-License-Identifier: Apache-2.0
"""Tandem's checkpoint contract, trainer's side.

  TANDEM_CHECKPOINT_DIR  folder that outlives the attempts of a job; checkpoints are folders in it
  TANDEM_RESUME_FROM     complete checkpoint to go on from; empty or unset: from the start
  TANDEM_PROGRESS_FILE   {"step": n, "time": unix seconds}, replaced at each step; heartbeat too

A checkpoint is a folder step-NNNNNN. It is complete, and counts, from the moment its manifest.json
is renamed into place; by then every file named there, and the folder, is on the disk.
manifest.json:
  {"version": 1, "step": n, "files": [{"name": ..., "bytes": n, "sha256": ...}, ...]}
Whatever dies before that leaves a folder without manifest, which nobody reads and the next save
clears.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

MANIFEST = "manifest.json"
KEPT = 2


def sync_path(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: Path, text: str, durable: bool = False) -> None:
    """Readers see the old content or the new one, never a part."""
    draft = path.with_name(path.name + ".tmp")
    draft.write_text(text, encoding="utf-8")
    if durable:
        sync_path(draft)
    os.replace(draft, path)
    if durable:
        sync_path(path.parent)


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_complete(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def save(root: Path, step: int, write_files: Callable[[Path], None]) -> Path:
    """Makes the checkpoint of this step complete; write_files puts its files into the folder it is
    given. A complete one of the same step is kept: the same step of the same job has the same
    state."""
    folder = root / f"step-{step:06d}"
    if is_complete(folder):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_files(folder)
    files = sorted(folder.iterdir())
    for file in files:
        sync_path(file)
    entries = [{"name": f.name, "bytes": f.stat().st_size, "sha256": sha256_of(f)} for f in files]
    sync_path(root)
    manifest = {"version": 1, "step": step, "files": entries}
    replace_file(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n", durable=True)
    drop_older(root)
    return folder


def drop_older(root: Path) -> None:
    complete = sorted(f for f in root.glob("step-*") if is_complete(f))
    for folder in complete[:-KEPT]:
        # The manifest goes first: a folder that is half gone must not look complete.
        (folder / MANIFEST).unlink()
        shutil.rmtree(folder)


def verify(folder: Path) -> int:
    """Returns the step; raises ValueError naming what is wrong."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{folder} is not a complete checkpoint: it has no {MANIFEST}") from None
    for entry in manifest["files"]:
        file = folder / entry["name"]
        if (
            not file.is_file()
            or file.stat().st_size != entry["bytes"]
            or sha256_of(file) != entry["sha256"]
        ):
            raise ValueError(f"{file} is not the file that {MANIFEST} describes")
    return int(manifest["step"])


def report_progress(path: Path | None, step: int) -> None:
    if path is not None:
        replace_file(path, json.dumps({"step": step, "time": round(time.time(), 3)}) + "\n")

# SPDX-License-Identifier: Apache-2.0
"""Named tensors in one file, in the safetensors layout: no code in the file, nothing is unpickled.

Layout: 8 bytes little-endian header length, a JSON header {name: {dtype, shape, data_offsets}}, raw
data. Float32 only, which is all that this trainer keeps.
"""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

HEADER_BYTES_MAX = 1 << 20


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    header: dict[str, dict[str, object]] = {}
    offset = 0
    for name, tensor in sorted(tensors.items()):
        end = offset + 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, tensor in sorted(tensors.items()):
            file.write(tensor.detach().to(torch.float32).contiguous().numpy().tobytes())


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Raises ValueError when the file is not what write_tensors makes."""
    content = path.read_bytes()
    (header_bytes,) = (
        struct.unpack_from("<Q", content) if len(content) >= 8 else (HEADER_BYTES_MAX + 1,)
    )
    if header_bytes > min(HEADER_BYTES_MAX, len(content) - 8):
        raise ValueError(f"{path}: header length {header_bytes} does not fit the file")
    data = memoryview(content)[8 + header_bytes :]
    tensors: dict[str, Tensor] = {}
    for name, entry in json.loads(content[8 : 8 + header_bytes]).items():
        begin, end = entry["data_offsets"]
        if entry["dtype"] != "F32" or not 0 <= begin <= end <= len(data):
            raise ValueError(f"{path}: tensor {name} is not float32 data inside the file")
        if end - begin != 4 * math.prod(entry["shape"]):
            raise ValueError(
                f"{path}: tensor {name} has {end - begin} bytes for shape {entry['shape']}"
            )
        array = np.frombuffer(data[begin:end], dtype="<f4").reshape(entry["shape"])
        tensors[name] = torch.from_numpy(array.copy())
    return tensors

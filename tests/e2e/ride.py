#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
"""The whole ride of `./dev demo --check`, held to each of its promises."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PYTHON = str(ROOT / ".tandem/venv-serving/bin/python")

os.execv(PYTHON, [PYTHON, str(ROOT / "tools/demo/ride.py"), "--check", *sys.argv[1:]])

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison with live peers at its smallest, where Slurm is installed: both finish the same work, and on no more devices than there are."""

from __future__ import annotations

import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "bench/peers"), str(Path(__file__).resolve().parents[2] / "bench")]
import slurm  # noqa: E402

NODES, DEVICES = 2, 8
WORK = [(1, 1, 6), (4, 1, 4), (8, 1, 3)]
LEAST = sum(devices * seconds * count for devices, seconds, count in WORK) / (NODES * DEVICES)


class Peers(unittest.TestCase):
    def judge(self, figures: dict) -> None:
        self.assertEqual(figures["jobs"], sum(count for _, _, count in WORK))
        # Start and end of Slurm's jobs are whole seconds.
        self.assertGreaterEqual(figures["wall"], LEAST - 1)
        self.assertLessEqual(figures["utilisation"], 130)  # of whole seconds
        self.assertGreater(figures["placements"], 0)
        self.assertGreaterEqual(figures["wait_p95"], 0)
        self.assertGreaterEqual(figures["cpu"]["scheduler"], 0)

    def test_tandem_finishes_the_work(self) -> None:
        from peers_bench import bench_tandem
        with tempfile.TemporaryDirectory() as folder:
            self.judge(bench_tandem(Path(folder) / "tandem", NODES, DEVICES, WORK, 90))

    @unittest.skipIf(slurm.missing() or os.geteuid(), "Slurm is not installed, or not for this user")
    def test_slurm_finishes_the_work(self) -> None:
        from peers_bench import bench_slurm
        with tempfile.TemporaryDirectory() as folder:
            self.judge(bench_slurm(Path(folder) / "slurm", NODES, DEVICES, WORK, 90))


if __name__ == "__main__":
    unittest.main()

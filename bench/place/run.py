#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Placement: what part of the devices each policy gets allocated on the openb trace, beside the published figures.

Wants the folder of the trace (--data): the node list, pod lists, and the published means and deviations in
fgd_expected/summary_*.csv. Published policies are held to those; `tandem` to `fgd` with the same seeds, and on gpuspec33
to 89 % when 95 % of the demand has arrived. Also the time for all runs of the published policies.
"""

import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import report  # noqa: E402

SEEDS = "42..51"
PERCENTS = (95, 100, 130)
PUBLISHED = {"random": "01-Random", "dotprod": "02-DotProd", "clustering": "03-GpuClustering", "packing": "04-GpuPacking",
             "bestfit": "05-BestFit", "fgd": "06-FGD"}


def read_published(data: pathlib.Path) -> dict:
    """(mix, policy, percent) -> mean, deviation over ten seeds."""
    found = {}
    for path in sorted((data / "fgd_expected").glob("summary_*.csv")):
        for row in csv.DictReader(path.open()):
            key = row["workload"].removeprefix("openb_pod_list_"), row["policy"], int(row["arrived_pct"])
            found[key] = float(row["alloc_pct_mean"]), float(row["alloc_pct_std"])
    return found


def list_mixes(data: pathlib.Path) -> dict[str, pathlib.Path]:
    return {path.name.removeprefix("openb_pod_list_").split(".")[0]: path for path in sorted(data.glob("openb_pod_list_*.csv*"))}


def run(simulator: str, data: pathlib.Path, pods: pathlib.Path, policy: str) -> dict:
    words = [simulator, "place", "--nodes", data / "openb_node_list_gpu_node.csv", "--pods", pods, "--policy", policy,
             "--seeds", SEEDS, "--load", "130", "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True, timeout=600).stdout)


def mean_at(answer: dict, percent: int) -> float:
    return answer["allocation"]["mean"][str(percent)]


def compare_published(out: report.Report, published: dict, mix: str, policy: str, answer: dict) -> None:
    for percent in PERCENTS:
        if (known := published.get((mix, PUBLISHED[policy], percent))) is None:
            continue
        mean, deviation = known
        allowed = max(0.3 if policy == "fgd" else 0.6, 3 * deviation * math.sqrt(2 / 10))
        out.add(f"{mix} {policy} at {percent} %: off by", abs(mean_at(answer, percent) - mean), "points", bar=f"<= {allowed:.3f}",
                peer="published %", peer_value=mean)


def compare_own(out: report.Report, mix: str, own: dict, fgd: dict) -> None:
    for percent, below in ((100, 0), (130, 0.3)):
        out.add(f"{mix} tandem at {percent} %", mean_at(own, percent), "%", bar=f">= {mean_at(fgd, percent) - below:.4f}",
                peer="fgd, same seeds, %", peer_value=mean_at(fgd, percent))
    if mix == "gpuspec33":
        out.add("gpuspec33 tandem at 95 %", mean_at(own, 95), "%", bar=">= 89", peer="fgd, same seeds, %", peer_value=mean_at(fgd, 95))


def main() -> int:
    options = report.parser(__doc__.split("\n")[0])
    options.add_argument("--data", type=pathlib.Path, required=True, metavar="DIR", help="folder of the openb trace")
    options.add_argument("--mix", action="append", help="only these mixes")
    chosen = options.parse_args()
    simulator = os.path.join(os.environ.get("TANDEM_BIN", str(ROOT / "build/release/bin")), "tandem-sim")
    published = read_published(chosen.data)
    out = report.Report("place", chosen.json)
    seconds, runs = 0.0, 0
    for mix, pods in list_mixes(chosen.data).items():
        if chosen.mix and mix not in chosen.mix:
            continue
        answers = {}
        for policy in PUBLISHED:
            begin = time.monotonic()
            answers[policy] = run(simulator, chosen.data, pods, policy)
            seconds, runs = seconds + time.monotonic() - begin, runs + len(answers[policy]["seeds"])
            compare_published(out, published, mix, policy, answers[policy])
        compare_own(out, mix, run(simulator, chosen.data, pods, "tandem"), answers["fgd"])
    if runs:
        out.add("720 runs of the published policies", seconds * 720 / runs, "s", bar="<= 600")
    return out.finish()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds tandem sim jobs, backfill and deadlines against the published tables.

  run.py TANDEM_SIM FOLDER     FOLDER has muri/, batsim_backfill/ and itp_elasticflow/

Exit 0: every figure is within its bar. Without a folder nothing is judged.
"""
import csv
import json
import pathlib
import subprocess
import sys


def ask(binary, *words):
    return json.loads(subprocess.run([binary, *map(str, words), "--json"], check=True,
                                     capture_output=True, timeout=300).stdout)


class Judge:
    def __init__(self):
        self.failed = 0

    def at_most(self, what, value, bar):
        good = value <= bar
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {what}: {value:.6g} <= {bar:.6g}")


def judge_jobs(judge, binary, folder):
    with open(folder / "muri/expected_sim_results.csv", encoding="utf-8") as file:
        expected = {(row["policy"], row["metric"]): row for row in csv.DictReader(file)}
    names = {"SRTF": "srtf", "SRSF": "srsf", "Tiresias_L": "tiresias-l"}
    for trace in sorted((folder / "muri/sim_traces").glob("*.csv.gz")):
        name = trace.name.removesuffix(".csv.gz")
        found = {}
        for paper, policy in names.items():
            found[policy] = ask(binary, "jobs", "--trace", trace, "--policy", policy)
            for metric, bar in (("avg_jct_s", 1e-3), ("makespan_s", 5e-3), ("p99_jct_s", 5e-3)):
                row = expected.get((paper, metric), {})
                if not row.get(name):
                    continue
                want = float(row[name])
                judge.at_most(f"{name} {policy} {metric}, relative error",
                              abs(found[policy][metric] - want) / want, bar)
        for durations, peer, bar in (("known", "srsf", 1.05), ("unknown", "tiresias-l", 1.0)):
            own = ask(binary, "jobs", "--trace", trace, "--policy", "tandem", "--durations", durations)
            judge.at_most(f"{name} tandem {durations} / {peer}",
                          own["avg_jct_s"] / found[peer]["avg_jct_s"], bar)


def judge_backfill(judge, binary, folder):
    words = ("backfill", "--trace", folder / "batsim_backfill/easy_out_jobs.csv.gz",
             "--format", "batsim-jobs", "--nodes", 32, "--policy")
    easy = ask(binary, *words, "easy")
    judge.at_most("easy, mean wait, error", abs(easy["mean_wait_s"] - 9.516326), 1e-6)
    judge.at_most("easy, max wait, error", abs(easy["max_wait_s"] - 316.742718), 1e-6)
    own = ask(binary, *words, "tandem")
    judge.at_most("tandem, mean wait", own["mean_wait_s"], 8.7)
    judge.at_most("tandem, max wait", own["max_wait_s"], 317)


def judge_deadlines(judge, binary, folder):
    base = folder / "itp_elasticflow"
    rows = [("cluster01", 64, .182, .985, .66), ("cluster02", 64, .228, .967, .87),
            ("cluster05", 64, .375, .988, .77), ("cluster06", 64, .105, .851, .73),
            ("cluster08", 128, None, .993, .96), ("cluster09", 128, .8, .997, .99),
            ("cluster10", 32, .769, .992, .94), ("philly_103959_deadline", 32, None, .930, .88)]
    for name, nodes, edf, alone, eighth in rows:
        trace = next(base.glob(name + ".csv*"), None)
        if trace is None:
            continue
        words = ("deadlines", "--trace", trace, "--curves", base / "throughputs_A100", "--nodes")
        if edf is not None:
            met = ask(binary, *words, nodes, "--policy", "edf")["met_ratio"]
            judge.at_most(f"{name} edf, error", abs(met - edf), .05)
        for count, bar in ((nodes, .98 * alone), (nodes // 8, eighth)):
            met = ask(binary, *words, count, "--policy", "tandem")["met_ratio"]
            judge.at_most(f"{name} tandem on {count} nodes, share missed", 1 - met, 1 - bar)


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    judge = Judge()
    for part in (judge_jobs, judge_backfill, judge_deadlines):
        part(judge, sys.argv[1], pathlib.Path(sys.argv[2]))
    print(f"{judge.failed} failed")
    return 1 if judge.failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Running programs and counting tests, for run_tests.py: one Result for a gtest program, a script, a check, a build."""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTPUT_LINES = 150          # of a failing test that are shown


class Run(NamedTuple):
    status: int             # exit status, negative for a signal, 124 when it ran out of time
    output: str
    seconds: float


class Result(NamedTuple):
    name: str
    passed: int
    failed: int
    skipped: int = 0
    seconds: float = 0.0
    output: str = ""


_groups: set[int] = set()     # process groups that are running now


def end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def end_all(number, _frame) -> None:
    """Interrupted: nothing that was started stays behind."""
    for group in list(_groups):
        end_group(group)
    os.write(2, f"\ninterrupted by {signal.Signals(number).name}\n".encode())
    os._exit(128 + number)


def run(command, timeout=600, env=None, cwd=ROOT) -> Run:
    """Runs a program in a process group of its own; nothing of the group is left when this returns."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as sink:
        try:
            process = subprocess.Popen([str(word) for word in command], cwd=cwd, env=dict(os.environ, **(env or {})),
                                       stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as error:
            return Run(127, f"{command[0]}: {error}", 0.0)
        _groups.add(process.pid)
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = 124
        end_group(process.pid)
        process.wait()
        _groups.discard(process.pid)
        sink.seek(0)
        output = sink.read().decode(errors="replace")
    if status == 124:
        output += f"\n(no end after {timeout} s)"
    return Run(status, output, time.monotonic() - started)


def tail(text: str) -> str:
    lines = text.strip().split("\n")
    return "\n".join(lines if len(lines) <= OUTPUT_LINES else ["..."] + lines[-OUTPUT_LINES:])


# ---- gtest ----

def failing_part(output: str) -> str:
    """From a gtest run, the output of the cases that failed and of one that never ended."""
    kept, block = [], []
    for line in output.split("\n"):
        if line.startswith("[ RUN      ]"):
            block = [line]
        elif line.startswith(("[       OK ]", "[  SKIPPED ]")):
            block = []
        else:
            block.append(line)
            if line.startswith("[  FAILED  ]"):
                kept += block
                block = []
    return "\n".join(kept + block)


def read_gtest_report(name: str, report: str | None, ran: Run) -> Result:
    """Counts cases; a program that died before it could report counts as one more failure."""
    passed = failed = skipped = 0
    for suite in json.loads(report)["testsuites"] if report else ():
        for case in suite["testsuite"]:
            if case["status"] != "RUN":
                continue
            if case.get("failures"):
                failed += 1
            elif case["result"] == "SKIPPED":
                skipped += 1
            else:
                passed += 1
    if not report or (ran.status != 0 and failed == 0):
        passed = passed if report else len(re.findall(r"^\[       OK \]", ran.output, re.M))
        failed += 1
    output = tail(failing_part(ran.output) + f"\nexit status {ran.status}") if failed else ""
    return Result(name, passed, failed, skipped, ran.seconds, output)


def run_gtest(name: str, command, timeout=300, env=None, cwd=ROOT) -> Result:
    with tempfile.TemporaryDirectory(prefix="tandem-test-") as folder:
        report = pathlib.Path(folder, "report.json")
        words = [word for word in command if not str(word).startswith("--gtest_brief")]
        ran = run([*words, f"--gtest_output=json:{report}"], timeout, env, cwd)
        return read_gtest_report(name, report.read_text() if report.exists() else None, ran)


def run_check(name: str, command, timeout=300, env=None, cwd=ROOT) -> Result:
    """Anything else: one test, or as many as a Python test run says."""
    ran = run(command, timeout, env, cwd)
    count = re.search(r"^Ran (\d+) tests?", ran.output, re.M)
    bad = re.search(r"^FAILED \((.*)\)", ran.output, re.M)
    failed = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", bad[1])) if bad else int(ran.status != 0)
    return Result(name, (int(count[1]) if count else 1) - failed, failed, 0, ran.seconds, tail(ran.output) if failed else "")


# ---- building ----

def configure(preset: str, *options, folder: str | None = None) -> Run:
    folder = folder or f"build/{preset}"
    return run(["cmake", "--preset", preset, "-B", folder, *options])


def compile_targets(folder: str, *targets) -> Run:
    return run(["ninja", "-C", folder, "-j", os.cpu_count() or 2, *targets], timeout=3600)


def build_failure(name: str, ran: Run) -> Result:
    lines = [line for line in ran.output.split("\n") if not re.match(r"\[\d+/\d+\]", line)]
    return Result(name, 0, 1, 0, ran.seconds, tail("\n".join(lines[:OUTPUT_LINES])))


def targets_of(folder: str) -> set[str]:
    return set(re.findall(r"^([\w.-]+): phony", run(["ninja", "-C", folder, "-t", "targets", "all"]).output, re.M))


def build(name: str, preset: str, *targets, options=(), folder: str | None = None) -> Result | None:
    """None when it worked."""
    folder = folder or f"build/{preset}"
    for ran in (lambda: configure(preset, *options, folder=folder), lambda: compile_targets(folder, *targets)):
        if (done := ran()).status != 0:
            return build_failure(name, done)
    return None


def ctest_entries(folder: str) -> list[dict]:
    listed = run(["ctest", "--test-dir", folder, "--show-only=json-v1"])
    if listed.status:
        return []
    entries = []
    for test in json.loads(listed.output[listed.output.index("{"):])["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", ())}
        env = dict(item.split("=", 1) for item in properties.get("ENVIRONMENT", ()))
        entries.append({"name": test["name"], "command": test.get("command", ["missing"]), "env": env,
                        "timeout": properties.get("TIMEOUT", 300), "cwd": properties.get("WORKING_DIRECTORY", ROOT)})
    return entries


def run_entry(entry: dict, prefix="") -> Result:
    program = pathlib.Path(entry["command"][0])
    runner = run_gtest if program.name.endswith("_test") else run_check
    return runner(prefix + entry["name"], entry["command"], entry["timeout"], entry["env"], entry["cwd"])


def in_parallel(work, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        yield from pool.map(work, items)

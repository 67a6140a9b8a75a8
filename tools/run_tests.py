#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and runs every test, one step after another; `./dev test --help` says which. Last line: N passed, N failed.

A gtest program counts with each of its cases, a script, a simulator run, a planted defect and a check with one.
"""

import argparse
import os
import pathlib
import re
import signal
import sys
import tempfile
import time
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from testing import (ROOT, Result, build, build_failure, compile_targets, configure, ctest_entries, end_all,  # noqa: E402
                     in_parallel, run, run_check, run_entry, run_gtest, tail, targets_of)

SCRIPT_TIMEOUT_S = 180      # a script says otherwise by a line "# timeout: SECONDS" near its top


# ---- steps: each yields results ----

class Options(NamedTuple):
    long: bool = False
    only: str = ""
    ci: bool = False

    def wants(self, step: str, name: str = "") -> bool:
        return not self.only or self.only == step or bool(name) and self.only in name


def step_unit(options: Options):
    entries = [e for e in ctest_entries("build/dev") if options.wants("unit", e["name"])]
    yield from in_parallel(run_entry, entries)


def scripts_of(folder: pathlib.Path) -> list[pathlib.Path]:
    """Executable scripts are tests; the others are what tests share. A test that can't be started would pass for ever."""
    for path in folder.glob("*.py"):
        if "__main__" in path.read_text() and not os.access(path, os.X_OK):
            sys.exit(f"run_tests: {path.relative_to(ROOT)} is a test that is not executable: chmod +x")
    return sorted(p for p in folder.glob("*") if p.suffix in (".sh", ".py") and os.access(p, os.X_OK))


def script_timeout(script: pathlib.Path) -> int:
    match = re.search(r"^# timeout: (\d+)", "\n".join(script.read_text().split("\n")[:20]), re.M)
    return int(match[1]) if match else SCRIPT_TIMEOUT_S


def run_script(script: pathlib.Path, binaries: pathlib.Path, *arguments, timeout: int | None = None) -> Result:
    with tempfile.TemporaryDirectory(prefix="tandem-e2e-") as folder:
        env = {"TANDEM_BIN": str(binaries), "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        return run_check(str(script.relative_to(ROOT)), [script, *arguments], timeout or script_timeout(script), env)


def step_e2e(options: Options):
    for script in scripts_of(ROOT / "tests/e2e"):
        if options.wants("e2e", str(script.relative_to(ROOT))):
            yield run_script(script, ROOT / "build/dev/bin")


def simulator_of(folder: str) -> list[str] | None:
    """How to call the simulator of a build folder; its own small program builds much faster than all of tandem."""
    known = targets_of(folder)
    if "tandem-sim" in known:
        return ["tandem-sim"]
    return ["tandem", "sim"] if {"tandem", "sim"} <= known else None


def step_sim(options: Options):
    seeds = 20_000 if options.long else 2_000
    if not options.wants("sim") or not (words := simulator_of("build/dev")):
        return
    if broken := build("sim: release build", "release", words[0]):
        yield broken
        return
    release, dev = ([ROOT / f"build/{preset}/bin" / words[0], *words[1:]] for preset in ("release", "dev"))
    yield run_check(f"sim: {seeds} seeds", [*release, "--seeds", seeds], timeout=3600)
    digests = [run([*program, "--seeds", 20, "--digests"], 300) for program in (release, dev)]
    same = digests[0].status == digests[1].status == 0 and digests[0].output == digests[1].output != ""
    yield Result("sim: digests of g++ and clang++ are equal", int(same), int(not same), 0, sum(d.seconds for d in digests),
                 "" if same else tail(f"g++:\n{digests[0].output}\nclang++:\n{digests[1].output}"))


def step_kills(options: Options):
    script = ROOT / "tests/kills/run.py"
    if script.exists() and options.wants("kills"):
        yield run_script(script, ROOT / "build/dev/bin", "--kills", 500 if options.long else 50, timeout=3600)


class Plant(NamedTuple):
    name: str
    targets: list[str]
    proof: str               # a gtest filter, or a script under tests/


def read_plants(text: str) -> list[Plant]:
    rows = (line.split() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return [Plant(name, targets.split(","), proof) for name, targets, proof in rows]


def prove(plant: Plant, folder: str) -> Result:
    binaries = ROOT / folder / "bin"
    if plant.proof.startswith("tests/"):
        return run_script(ROOT / plant.proof, binaries)
    return run_gtest(plant.name, [binaries / plant.targets[0], f"--gtest_filter={plant.proof}"])


def judge_plant(plant: Plant, sound: Result, planted: Result) -> Result:
    """Found: the proof passes without the defect and fails with it."""
    name, seconds = f"plant {plant.name}", sound.seconds + planted.seconds
    if sound.failed or not sound.passed:
        why = "its test fails without the defect too:\n" + sound.output if sound.failed else "no test matches its filter"
    elif not planted.failed:
        why = f"compiled in, and {plant.proof} still passes"
    elif "(no end after" in planted.output:
        why = "its test hangs instead of failing:\n" + planted.output
    else:
        return Result(name, 1, 0, 0, seconds)
    return Result(name, 0, 1, 0, seconds, why)


def step_plants(options: Options):
    for plant in read_plants((ROOT / "tools/planted.txt").read_text()):
        if not options.wants("plants", plant.name):
            continue
        broken = build(f"plant {plant.name}", "dev", *plant.targets, folder="build/plant",
                       options=[f"-DTANDEM_PLANT={plant.name}"])
        yield broken or judge_plant(plant, prove(plant, "build/dev"), prove(plant, "build/plant"))


def read_sanitized(text: str) -> dict[str, list[str]]:
    """Preset -> modules."""
    rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {preset: [module for module, presets in rows if preset in presets.split(",")] for preset in ("asan", "tsan")}


def sanitized(preset: str, modules: list[str], long: bool):
    folder = f"build/{preset}"
    if (ran := configure(preset, *(["-DTANDEM_FUZZ=ON"] if preset == "asan" else []))).status:
        yield build_failure(f"{preset}: configure", ran)
        return
    known = targets_of(folder)
    tests = [m for m in modules if m.replace("/", "_") + "_test" in known]
    fuzzers = sorted(p.stem for m in modules for p in (ROOT / "src" / m).glob("*_fuzz.cc") if p.stem in known)
    if (ran := compile_targets(folder, *[m.replace("/", "_") + "_test" for m in tests], *fuzzers)).status:
        yield build_failure(f"{preset}: build", ran)
        return
    entries = [e for e in ctest_entries(folder) if e["name"] in tests]
    yield from in_parallel(lambda entry: run_entry(entry, f"{preset} "), entries)
    yield from in_parallel(lambda name: fuzz(name, long), fuzzers)


def step_sanitizers(options: Options):
    wanted = options.ci or options.long or options.only == "sanitizers"
    if not wanted or not options.wants("sanitizers"):
        return
    os.environ["PATH"] += ":/usr/lib/llvm-19/bin"      # where the sanitizers look for a symbolizer
    presets = read_sanitized((ROOT / "tools/sanitized.txt").read_text())
    yield from sanitized("asan", presets["asan"], options.long)
    if options.long:
        yield from sanitized("tsan", presets["tsan"], options.long)


def fuzz(name: str, long: bool) -> Result:
    """Replays the corpus, then tries inputs around it: 2,000 or 20 s, whichever ends first; or for a minute."""
    corpus = ROOT / "tests/corpora" / name
    budget = ["-max_total_time=60", "-max_len=65536"] if long else ["-runs=2000", "-max_total_time=20", "-seed=1", "-max_len=4096"]
    with tempfile.TemporaryDirectory(prefix="tandem-fuzz-") as found:
        folders = [found] + ([corpus] if corpus.is_dir() else [])
        return run_check(f"fuzz {name}", [ROOT / "build/asan/bin" / name, *budget, "-timeout=10",
                                          f"-artifact_prefix={ROOT}/build/asan/{name}-", *folders], 300)


STEPS = {"unit": step_unit, "e2e": step_e2e, "sim": step_sim, "kills": step_kills, "plants": step_plants,
         "sanitizers": step_sanitizers}


# ---- telling ----

def tell(result: Result) -> None:
    counts = f"{result.passed} passed" + (f", {result.failed} failed" if result.failed else "")
    counts += f", {result.skipped} skipped" if result.skipped else ""
    print(f"   {'FAILED ' if result.failed else ''}{result.name}: {counts}, {result.seconds:.1f} s", flush=True)
    if result.failed:
        print("\n".join("      | " + line for line in result.output.split("\n")), flush=True)


def list_tests() -> int:
    for entry in ctest_entries("build/dev"):
        print("unit  ", entry["name"])
    for script in scripts_of(ROOT / "tests/e2e"):
        print("e2e   ", script.relative_to(ROOT))
    for plant in read_plants((ROOT / "tools/planted.txt").read_text()):
        print("plants", plant.name)
    print("sim\nkills\nsanitizers")
    return 0


def run_steps(options: Options) -> list[Result]:
    results, started = [], time.monotonic()
    print("== build dev", flush=True)
    broken = build("build dev", "dev")
    print(f"   build dev: {time.monotonic() - started:.1f} s", flush=True)
    if broken:
        tell(broken)
        return [broken]
    for name, step in STEPS.items():
        began, head = time.monotonic(), False
        for result in step(options):
            if not head:
                print(f"== {name}", flush=True)
                head = True
            tell(result)
            results.append(result)
        if head:
            print(f"   {name}: {time.monotonic() - began:.1f} s", flush=True)
    return results


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev test", description=__doc__)
    parser.add_argument("--long", action="store_true", help="20,000 seeds, 500 kills, sanitizers, fuzzers for 60 s each")
    parser.add_argument("--only", default="", metavar="NAME", help="a step, or what has NAME in its name")
    parser.add_argument("--list", action="store_true", help="say what there is")
    given = parser.parse_args(arguments)
    if given.list:
        return list_tests()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_all)
    started = time.monotonic()
    results = run_steps(Options(given.long, given.only, os.environ.get("CI") == "true"))
    passed, failed, skipped = (sum(getattr(r, part) for r in results) for part in ("passed", "failed", "skipped"))
    if bad := [r.name for r in results if r.failed]:
        print("failed:", ", ".join(bad))
    elif not passed:
        print(f"nothing has \"{given.only}\" in its name")
    print(f"{skipped} skipped, {time.monotonic() - started:.0f} s")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

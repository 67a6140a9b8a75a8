#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clean build of the dev preset without the compiler cache, timed.

The bar holds for two quiet cores; the row's setup names the load that was there.
"""

import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import report  # noqa: E402

FOLDER = ROOT / "build/bench-build"


def lines_of_code() -> int:
    return sum(p.read_bytes().count(b"\n") for p in (ROOT / "src").rglob("*") if p.suffix in (".h", ".cc", ".c"))


def timed_build() -> float | None:
    """Seconds of the compilation alone; configuring is not in it."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=", "-DCMAKE_C_COMPILER_LAUNCHER="]
    configured = subprocess.run(["cmake", "--preset", "dev", "-B", FOLDER, *launcher], cwd=ROOT, capture_output=True, text=True)
    if configured.returncode:
        print(configured.stdout + configured.stderr)
        return None
    started = time.monotonic()
    built = subprocess.run(["ninja", "-C", FOLDER, "-j2"], cwd=ROOT, capture_output=True, text=True)
    if built.returncode:
        print(built.stdout[-4000:])
        return None
    return time.monotonic() - started


def main() -> int:
    given = report.parser(__doc__.split("\n")[0]).parse_args()
    rows = report.Report("build", given.json)
    rows.say(f"{lines_of_code():,} lines under src/, tests included")
    setup = f"{report.machine()}, ninja -j2, clang 19 -O0, {lines_of_code():,} lines"
    rows.add("clean build of dev, no cache", timed_build(), "s", bar="<= 300", setup=setup)
    shutil.rmtree(FOLDER, ignore_errors=True)
    return rows.finish()


if __name__ == "__main__":
    sys.exit(main())

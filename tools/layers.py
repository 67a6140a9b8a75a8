#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the source to ARCHITECTURE.md: layers, purity, sizes, names, house rules. Exit 1 when anything is off.

The edges between modules are read from the tandem_module lines of src/CMakeLists.txt; there is no second
table. What a module may take from third parties, and which modules are pure, stands below.
`layers.py` checks; `layers.py --sizes` also prints the largest files and functions.
Exceptions to a size stand in tools/size_exceptions.txt with the present size, so that they can only shrink; `--widths`
(of ./dev lint) also refuses lines wider than 100 columns: files that still have some stand in tools/wide_files.txt with how
many, which `layers.py --wide` writes anew.
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cpp_text  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Third-party headers by prefix -> the modules that may include them ("*": any).
THIRD_PARTY = {
    "fmt/": {"*"}, "gtest/": {"test"}, "gmock/": {"test"}, "rapidcheck": {"test"}, "benchmark/": {"bench"},
    "boost/json": {"codec"}, "boost/asio": {"net/http"}, "boost/beast": {"net/http"}, "boost/": {"net/http", "codec"},
    "yaml-cpp/": {"codec"}, "openssl/": {"crypto", "net/http", "net/relay"}, "argon2.h": {"crypto"},
    "spdlog/": {"telemetry"}, "prometheus/": {"telemetry"}, "nghttp2/": {"net/http"}, "sqlite3.h": {"store/sqlite"},
    "libpq": {"store/postgres"}, "CLI/": {"cli", "apps"}, "zlib.h": {"sim/trace"},
}
POSIX = ("sys/", "linux/", "netinet/", "arpa/", "net/", "asm/")
PURE = {"base", "model", "sched", "serving", "ledger", "traffic", "auth", "advisor", "core", "sim", "sim/trace", "sim/place", "sim/time", "sim/workload"}
PORTS_ONLY = ("store/", "executor/", "blob", "api")      # of core they may see core/ports.h alone
SINGLE_HEADERS = {"executor/local": {"shim/protocol.h"}}  # edges to one header instead of a module
IO_FILES = re.compile(r"base/assert\.cc|sim/\w*(reader|report|runner|command)\w*\.(h|cc)")  # pure modules' few edges

BANNED_HEADERS = re.compile(
    r"(thread|mutex|shared_mutex|condition_variable|future|atomic|semaphore|latch|barrier|stop_token|chrono|ctime|time\.h"
    r"|random|locale|csignal|signal\.h|sys/.*|netinet/.*|arpa/.*|pthread\.h|poll\.h|unistd\.h|fcntl\.h|cerrno|errno\.h)$")
BANNED_IO = re.compile(r"(fstream|iostream|ostream|istream|filesystem|cstdio|stdio\.h)$")
BANNED_CODE = [
    (r"\b(system|steady|high_resolution|utc)_clock\b|\bclock_gettime\b|\bgettimeofday\b|\bstd::time\b|\blocaltime", "reads a clock; take the tick's time"),
    (r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|\bstd::j?thread\b|\bthread_local\b", "uses threads or sleeps"),
    (r"\b(secure_)?getenv\b", "reads the environment; take it as an argument"),
    (r"\brandom_device\b|\bstd::mt19937|\bstd::\w+_distribution\b|\bstd::(shuffle|sample)\b|\bs?rand\(", "use base/random.h"),
    (r"\b(map|set)<[^<>,()]*\*\s*[,>]", "is ordered by addresses; order by an id"),
]
FLOAT = re.compile(r"\b(float|double)\b|(?<![\w.'])\d[\d']*\.\d+")
LIMITS = {"test": (800, 800), "header": (200, 400), "source": (400, 800), "function": (70, 70)}  # soft, hard
WIDTH_MAX = 100
BANNED_NAMES = re.compile(r"\b(?:class|struct)\s+(\w*(?:Manager|Helper|Util|Utils|Impl))(?![a-z])")
BANNED_FILE_NAMES = re.compile(r"(^|[_/])(manager|helpers?|utils?|impl|common|misc)([_./]|$)")
BANNED_TEXT = re.compile("/" + r"work/|/" + r"tmp/w/|/" + r"tmp/parts\b|\bFIX" + r"ME\b")


def kind_of(path: str) -> str:
    stem = pathlib.PurePath(path).stem
    for kind in ("test", "fuzz", "bench"):
        if stem.endswith("_" + kind) or kind == "test" and stem.startswith("test_"):
            return kind
    return "header" if path.endswith(".h") else "source"


def read_edges(cmake: str) -> dict[str, dict[str, set[str]]]:
    """Module -> {"DEPS": ..., "TEST_DEPS": ...} from the tandem_module lines."""
    edges = {}
    for body in re.findall(r"tandem_module\(([^)]*)\)", re.sub(r"#[^\n]*", "", cmake)):
        name, *words = body.split()
        edges[name] = {"DEPS": set(), "TEST_DEPS": set()}
        section = ""
        for word in words:
            if word.isupper() and word.replace("_", "").isalpha():
                section = word
            elif section in edges[name]:
                edges[name][section].add(word)
    return edges


def find_cycle(edges: dict[str, dict[str, set[str]]]) -> list[str]:
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return path[path.index(module):] + [module]
        if module in done:
            return []
        for dep in sorted(edges.get(module, {}).get("DEPS", ())):
            if cycle := visit(dep, path + [module]):
                return cycle
        done.add(module)
        return []
    return next((c for m in sorted(edges) if (c := visit(m, []))), [])


def module_of(path: str, modules) -> str:
    """The module whose folder holds `path` (relative to src/): "store/sqlite/x.cc" -> "store/sqlite"."""
    parts = path.split("/")
    for count in (2, 1):
        if "/".join(parts[:count]) in modules and len(parts) > count:
            return "/".join(parts[:count])
    return parts[0]


def third_party_of(target: str) -> set[str] | None:
    return next((names for prefix, names in THIRD_PARTY.items() if target.startswith(prefix)), None)


def exposures(headers: dict[str, str]) -> dict[str, set[str]]:
    """Project header -> third-party headers that come with it, also through other headers."""
    direct = {path: {i.path for i in cpp_text.includes(text)} for path, text in headers.items()}

    def reach(path: str, seen: set[str]) -> set[str]:
        if path in seen or path not in direct:
            return set()
        seen.add(path)
        return {t for t in direct[path] if third_party_of(t)}.union(*(reach(t, seen) for t in direct[path]))
    return {path: reach(path, set()) for path in headers}


def check_includes(path: str, source: str, edges, exposed: dict[str, set[str]]) -> list[str]:
    module, kind, found = module_of(path, edges), kind_of(path), []
    deps = edges.get(module, {"DEPS": set(), "TEST_DEPS": set()})
    allowed = deps["DEPS"] | {module} | (deps["TEST_DEPS"] if kind in ("test", "bench", "fuzz") else set())
    for line, target, system in cpp_text.includes(source):
        where = f"src/{path}:{line}"
        for third in [target] if third_party_of(target) else sorted(exposed.get(target, ())):
            owners = third_party_of(third)
            if not owners & {"*", module, module.split("/")[0], kind}:
                through = "" if third == target else f", which comes with {target}"
                found.append(f"{where}: {module} may not include <{third}>{through}; it belongs to {', '.join(sorted(owners))}")
        if system and "/" in target and not third_party_of(target) and not target.startswith(POSIX):
            found.append(f"{where}: <{target}> is not in the third-party table of tools/layers.py")
        if not system and target.endswith(".h") and kind_of(target) == "test" and kind not in ("test", "fuzz", "bench"):
            found.append(f"{where}: {target} is for tests")
        if system or third_party_of(target) or module == "apps":
            continue
        other = module_of(target, edges)
        if target not in SINGLE_HEADERS.get(module, ()) and other not in allowed:
            found.append(f"{where}: {module} may not include {other} ({target}); see its line in src/CMakeLists.txt")
        elif other == "core" and kind != "test" and module.startswith(PORTS_ONLY) and target != "core/ports.h":
            found.append(f"{where}: of core, {module} may include core/ports.h only, not {target}")
        elif path == "core/ports.h" and other not in ("base", "model"):
            found.append(f"{where}: core/ports.h may include base and model only")
    return found


def check_purity(path: str, source: str, header: str) -> list[str]:
    """Rules of the pure modules. `header` is the text of the file's own header, for its members."""
    kind, blanked, found = kind_of(path), cpp_text.blank(source), []
    if kind in ("bench", "fuzz"):
        return []
    for line, target, system in cpp_text.includes(source) if kind != "test" else ():
        if system and (BANNED_HEADERS.match(target) or BANNED_IO.match(target)) and not IO_FILES.fullmatch(path):
            found.append(f"src/{path}:{line}: a pure module may not include <{target}>")
    rules = BANNED_CODE if kind != "test" else BANNED_CODE[:4]
    floats = kind != "test" and not pathlib.PurePath(path).stem.endswith("_estimator")
    for number, line in enumerate(blanked.split("\n"), 1):
        found += [f"src/{path}:{number}: {why}" for pattern, why in rules if re.search(pattern, line)]
        if floats and FLOAT.search(line) and not IO_FILES.fullmatch(path):
            found.append(f"src/{path}:{number}: floating point outside a *_estimator file; use scaled integers")
    if kind != "test":
        names = cpp_text.unordered_names(blanked) | cpp_text.unordered_names(cpp_text.blank(header))
        found += [f"src/{path}:{n}: walks a hash container; its order is not defined"
                  for n in cpp_text.hash_order_loops(blanked, names)]
    return found


def check_form(path: str, source: str) -> list[str]:
    found, lines = [], source.split("\n")
    if lines[0] != "// SPDX-License-Identifier: Apache-2.0":
        found.append(f"src/{path}:1: must begin with // SPDX-License-Identifier: Apache-2.0")
    if path.endswith(".h"):
        if not (len(lines) > 1 and lines[1].startswith("// ")):
            found.append(f"src/{path}:2: needs the contract: what it is, who calls it, units, errors, thread rule")
        if "#pragma once" not in lines:
            found.append(f"src/{path}: needs #pragma once")
        if "TANDEM_PLANT_" in source:
            found.append(f"src/{path}: planted defects belong in .cc files")
    for match in BANNED_NAMES.finditer(cpp_text.blank(source)):
        found.append(f"src/{path}: {match[1]}: name it after what it does")
    if BANNED_FILE_NAMES.search(path):
        found.append(f"src/{path}: name the file after what it holds")
    return found


def sizes_of(path: str, source: str) -> list[tuple[str, str, int]]:
    """(what, kind, lines) for the file and each of its functions."""
    kind = kind_of(path)
    kind = kind if kind in LIMITS else "source"
    return [(path, kind, source.count("\n"))] + [
        (f"{path}:{f.name}", "function", f.length) for f in cpp_text.functions(source)]


def check_sizes(sizes, exceptions: dict[str, int]) -> list[str]:
    found, present = [], {what: lines for what, _, lines in sizes}
    for what, kind, lines in sizes:
        hard = exceptions.get(what, LIMITS[kind][1])
        if lines > hard:
            found.append(f"src/{what}: {lines} lines, at most {hard} for a {kind}")
    for what, lines in exceptions.items():
        if present.get(what, 0) < lines:
            found.append(f"tools/size_exceptions.txt: {what} is {present.get(what, 0)} lines now: lower or drop its entry")
    return found


def wide_lines(source: str) -> list[int]:
    """Numbers of the lines that are wider than WIDTH_MAX; a character is a column."""
    return [number for number, line in enumerate(source.split("\n"), 1) if len(line) > WIDTH_MAX]


def check_widths(texts: dict[str, str], allowed: dict[str, int]) -> list[str]:
    found = []
    for path, source in texts.items():
        wide, most = wide_lines(source), allowed.get(path, 0)
        if len(wide) <= most:
            continue
        have = f", {len(wide)} of them where {most} are known" if most else ""
        found.append(f"src/{path}:{wide[-1]}: line wider than {WIDTH_MAX} columns{have}; clang-format-19 -i breaks most")
    return found


def check_text(files: dict[str, str]) -> list[str]:
    found = []
    for path, text in files.items():
        for match in BANNED_TEXT.finditer(text):
            found.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: \"{match[0]}\" has no place in the tree")
        if path.endswith((".py", ".sh")) and "SPDX-License-Identifier: Apache-2.0" not in text[:200]:
            found.append(f"{path}:1: needs # SPDX-License-Identifier: Apache-2.0")
    return found


def tracked_texts(root: pathlib.Path) -> dict[str, str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False).stdout
    texts = {}
    for name in filter(None, listed.split("\0")):
        path = root / name
        if path.is_file() and path.stat().st_size < 2_000_000 and b"\0" not in path.read_bytes()[:4096]:
            texts[name] = path.read_text(errors="replace")
    return texts


def read_exceptions(text: str) -> dict[str, int]:
    rows = (line.split(maxsplit=2) for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return {what: int(lines) for lines, what, *_ in rows}


def read_sources(root: pathlib.Path) -> dict[str, str]:
    return {str(p.relative_to(root / "src")): p.read_text()
            for p in sorted((root / "src").rglob("*")) if p.suffix in (".h", ".cc", ".c")}


def write_wide(root: pathlib.Path) -> None:
    file = root / "tools/wide_files.txt"
    head = [line for line in file.read_text().splitlines() if line.startswith("#")] if file.exists() else []
    counts = ((len(wide_lines(source)), path) for path, source in read_sources(root).items())
    file.write_text("\n".join(head + [f"{count} {path}" for count, path in counts if count]) + "\n")


def check_tree(root: pathlib.Path) -> tuple[list[str], list]:
    edges = read_edges((root / "src/CMakeLists.txt").read_text())
    cycle = find_cycle(edges)
    found, sizes = [f"src/CMakeLists.txt: cycle {' -> '.join(cycle)}"] if cycle else [], []
    texts = read_sources(root)
    exposed = exposures({path: text for path, text in texts.items() if path.endswith(".h")})
    for path, source in texts.items():
        module = module_of(path, edges)
        if module not in edges and module != "apps":
            found.append(f"src/{path}: {module} has no tandem_module line in src/CMakeLists.txt")
        found += check_includes(path, source, edges, exposed) + check_form(path, source)
        if module in PURE:
            found += check_purity(path, source, texts.get(path[:-3] + ".h", "") if path.endswith(".cc") else "")
        sizes += sizes_of(path, source)
    exceptions = root / "tools/size_exceptions.txt"
    found += check_sizes(sizes, read_exceptions(exceptions.read_text()) if exceptions.exists() else {})
    return found + check_text(tracked_texts(root)), sizes


def report_sizes(sizes) -> None:
    for group in ("header", "source", "test", "function"):
        rows = sorted(((lines, what) for what, kind, lines in sizes if kind == group), reverse=True)
        if not rows:
            continue
        counts = [lines for lines, _ in rows]
        soft = LIMITS[group][0]
        print(f"{group}s: {len(rows)}, median {counts[len(counts) // 2]}, 90 % below {counts[len(counts) // 10]}, "
              f"largest {counts[0]}, {sum(c > soft for c in counts)} above {soft}")
        for lines, what in rows[:5]:
            print(f"  {lines:5}  {what}")


def main() -> int:
    if "--wide" in sys.argv:
        write_wide(ROOT)
    found, sizes = check_tree(ROOT)
    if "--widths" in sys.argv:
        known = ROOT / "tools/wide_files.txt"
        found += check_widths(read_sources(ROOT), read_exceptions(known.read_text()) if known.exists() else {})
    for line in found:
        print(line)
    if "--sizes" in sys.argv:
        report_sizes(sizes)
    print(f"layers: {len({w for w, k, _ in sizes if k != 'function'})} files, {len(found)} found wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

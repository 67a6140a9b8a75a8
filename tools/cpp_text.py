# SPDX-License-Identifier: Apache-2.0
"""C++ source as text: comments and literals blanked, includes, functions with their lengths, hash containers.

Used by layers.py. It reads style-conforming code, not all of C++: raw strings and line continuations are
understood, digraphs and macros that open braces are not. Line numbers are kept through every step.
"""

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r'R"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)"'       # raw string
    r'|//(?:\\\n|[^\n])*|/\*.*?\*/'                  # comments
    r'|"(?:\\.|[^"\\\n])*"'                          # string
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",        # character, but not the ' of 1'000
    re.S)


def blank(source: str) -> str:
    """The same text with comments and literals emptied; every newline stays where it was."""
    def replacement(match: re.Match) -> str:
        text = match.group(0)
        lines = "\n" * text.count("\n")
        if text.startswith("/"):
            return lines or " "
        return ('""' if text[0] in 'R"' else "' '") + lines
    return _TOKEN.sub(replacement, source)


class Include(NamedTuple):
    line: int
    path: str
    system: bool


def includes(source: str) -> list[Include]:
    found = []
    for number, line in enumerate(source.split("\n"), 1):
        if match := re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line):
            found.append(Include(number, match[1] or match[2], match[2] is not None))
    return found


class Function(NamedTuple):
    name: str
    line: int
    length: int


_NOT_FUNCTION = re.compile(r"\b(?:class|struct|union|enum|namespace|extern|concept)\b|=\s*$|\breturn\b|\bconcept\b")
_KEYWORDS = {"if", "for", "while", "switch", "catch", "requires", "decltype", "alignas", "noexcept"}


def _function_name(head: str) -> str | None:
    """The name in what stands before a brace, if that reads as a function's signature."""
    head = re.sub(r"^\s*#.*$", "", head, flags=re.M).strip()
    flat = head
    while (shorter := re.sub(r"<[^<>()]*>", "", flat)) != flat:
        flat = shorter
    if "(" not in flat or re.match(r"(?:template\s*)?(?:inline\s+)?(?:class|struct|union|enum|namespace)\b", flat):
        return None
    if _NOT_FUNCTION.search(flat[:flat.index("(")]):
        return None
    match = re.match(r".*?([\w:~]+|operator\s*\S+?)\s*\(\s*([^,()]*)(?:,\s*([^,()]*))?", flat, re.S)
    if not match or match[1] in _KEYWORDS:
        return None
    if re.fullmatch(r"TEST(_F|_P)?|TYPED_TEST", match[1]):
        return f"{(match[2] or '').strip()}.{(match[3] or '').strip()}"
    return match[1]


def functions(source: str) -> list[Function]:
    """Every function body at namespace or class scope, signature line to closing brace."""
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: "\n" * m[0].count("\n"), blank(source), flags=re.M)
    found, scopes, start = [], [], 0          # scopes: (name or None, line of the signature)
    inside = 0                                # how many open scopes are function bodies
    line_of = [0]
    for match in re.finditer(r"\n", text):
        line_of.append(match.end())

    def line_at(position: int) -> int:
        low, high = 0, len(line_of)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if line_of[middle] <= position else (low, middle)
        return low + 1

    for match in re.finditer(r"[{};]", text):
        at = match.start()
        if match[0] == "{":
            head = text[start:at]
            name = None if inside else _function_name(head)
            scopes.append((name, line_at(start + len(head) - len(head.lstrip()))))
            inside += name is not None
        elif match[0] == "}" and scopes:
            name, line = scopes.pop()
            if name is not None:
                inside -= 1
                found.append(Function(name, line, line_at(at) - line + 1))
        start = match.end()
    return found


def _skip_angles(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            break
    return at


def unordered_names(blanked: str) -> set[str]:
    """Variables and members declared as hash containers, also through a `using`."""
    names, types = set(), [r"(?:std::)?unordered_(?:multi)?(?:map|set)\b"]
    types += [rf"\b{m[1]}\b" for m in re.finditer(r"using\s+(\w+)\s*=\s*std::unordered_\w+", blanked)]
    for match in re.finditer("|".join(types), blanked):
        at = match.end()
        if blanked[at:at + 1] == "<":
            at = _skip_angles(blanked, at)
        if declared := re.match(r"[\s&*]+(\w+)\s*(?![\w(])", blanked[at:]):
            names.add(declared[1])
    return names


def hash_order_loops(blanked: str, names: set[str]) -> list[int]:
    """Lines that walk one of `names` from begin to end."""
    lines = []
    for match in re.finditer(r"\bfor\s*\([^;()]*?[^:]:(?!:)\s*([^;{}\n]*?)\)", blanked):
        last = re.findall(r"\w+", match[1].split("(")[0])
        if last and last[-1] in names:
            lines.append(blanked.count("\n", 0, match.start()) + 1)
    for match in re.finditer(r"(\w+)\s*\.\s*c?begin\s*\(", blanked):
        if match[1] in names:
            lines.append(blanked.count("\n", 0, match.start()) + 1)
    return lines

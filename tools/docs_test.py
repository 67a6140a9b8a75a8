# SPDX-License-Identifier: Apache-2.0
"""Documents must not rot: links lead somewhere, requirements are complete, decisions have their parts."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import layers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = {"build", "node_modules"}


def documents():
    return [p for p in sorted(ROOT.rglob("*.md")) if not any(part in SKIPPED or part.startswith(".") for part in p.relative_to(ROOT).parts)]


class Documents(unittest.TestCase):
    def test_relative_links_lead_to_files(self):
        for page in documents():
            for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                if not re.match(r"[a-z]+:|#", target):
                    self.assertTrue((page.parent / target.split("#")[0]).exists(), f"{page.relative_to(ROOT)}: {target}")

    def test_files_named_in_code_type_exist(self):
        for page in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
            for name in re.findall(r"`((?:src|tools|docs|tests|bench|examples)/[\w./-]+\.\w+)`", (ROOT / page).read_text()):
                self.assertTrue("NAME" in name or (ROOT / name).exists(), f"{page}: {name}")

    def test_table_of_modules_is_that_of_the_build(self):
        table = re.findall(r"^\| `([\w/]+)` \| ([^|]*) \|", (ROOT / "ARCHITECTURE.md").read_text(), re.M)
        said = {name: set(words.split(";")[0].split()) for name, words in table}
        for name, edges in layers.read_edges((ROOT / "src/CMakeLists.txt").read_text()).items():
            if edges["DEPS"]:
                self.assertEqual(said.get(name), edges["DEPS"], name)

    def test_decisions_have_their_parts(self):
        pages = sorted((ROOT / "docs/decisions").glob("*.md"))
        self.assertEqual([p.name[:4] for p in pages], [f"{i + 1:04}" for i in range(len(pages))])
        for page in pages:
            heads = re.findall(r"^## (.+)", page.read_text(), re.M)
            self.assertEqual(heads, ["Context", "Decision", "Rejected", "Consequences"], page.name)


class Requirements(unittest.TestCase):
    ROWS = re.findall(r"^\| (R\d{3}) \| (.+) \| (.+) \| ?(.*)\|$", (ROOT / "docs/requirements.md").read_text(), re.M)

    def test_each_has_one_row(self):
        self.assertEqual(sorted(row[0] for row in self.ROWS), [f"R{i:03}" for i in range(1, 212)])

    def test_done_and_partly_name_the_command_that_shows_it(self):
        for name, _, state, shown in self.ROWS:
            self.assertIn(state, ("done", "partly", "not yet"), name)
            if state != "not yet":
                self.assertRegex(shown, r"`[^`]+`", f"{name} is {state} without a command")


class Packages(unittest.TestCase):
    def test_each_has_a_group_and_a_reason(self):
        names = []
        for line in (ROOT / "tools/setup/packages.txt").read_text().splitlines():
            if line and not line.startswith("#"):
                name, group, reason = line.split(maxsplit=2)
                self.assertIn(group, ("build", "test", "demo", "bench"), line)
                names.append(name)
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()

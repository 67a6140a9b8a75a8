# SPDX-License-Identifier: Apache-2.0
"""Each rule of layers.py is shown a case that it must refuse and one that it must let pass."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cpp_text  # noqa: E402
import layers  # noqa: E402

CMAKE = """
# tandem_module(ghost DEPS nothing)
tandem_module(base LIBS fmt::fmt)
tandem_module(model DEPS base)
tandem_module(core DEPS base model)
tandem_module(codec DEPS base model PRIVATE_LIBS Boost::json)
tandem_module(net/http DEPS base)
tandem_module(store/sqlite DEPS base model core codec LIBS SQLite::SQLite3)
tandem_module(store/memory DEPS base model core TEST_DEPS codec)
tandem_module(executor/local DEPS base core)
tandem_module(shim)
"""
EDGES = layers.read_edges(CMAKE)


def includes(path, *targets, exposed=None):
    text = "".join(f"#include {t if t[0] == '<' else chr(34) + t + chr(34)}\n" for t in targets)
    return layers.check_includes(path, text, EDGES, exposed or {})


def purity(body, path="core/state.cc", header=""):
    return layers.check_purity(path, body, header)


class Table(unittest.TestCase):
    def test_lines_are_read_with_their_sections(self):
        self.assertEqual(EDGES["store/memory"], {"DEPS": {"base", "model", "core"}, "TEST_DEPS": {"codec"}})
        self.assertEqual(EDGES["shim"]["DEPS"], set())
        self.assertNotIn("ghost", EDGES)

    def test_a_cycle_is_named(self):
        edges = layers.read_edges("tandem_module(a DEPS b)\ntandem_module(b DEPS c)\ntandem_module(c DEPS a)")
        self.assertEqual(layers.find_cycle(edges), ["a", "b", "c", "a"])
        self.assertEqual(layers.find_cycle(EDGES), [])

    def test_modules_in_subfolders_are_found(self):
        self.assertEqual(layers.module_of("store/sqlite/rows.cc", EDGES), "store/sqlite")
        self.assertEqual(layers.module_of("core/ports.h", EDGES), "core")


class Includes(unittest.TestCase):
    def test_declared_edges_pass(self):
        self.assertEqual(includes("core/step.cc", "core/step.h", "model/job.h", "base/result.h", "<map>", "<fmt/format.h>"), [])

    def test_an_undeclared_edge_is_refused(self):
        self.assertIn("model may not include core", includes("model/job.cc", "core/step.h")[0])

    def test_test_files_may_use_test_deps(self):
        self.assertEqual(includes("store/memory/memory_store_test.cc", "codec/json.h"), [])
        self.assertEqual(len(includes("store/memory/memory_store.cc", "codec/json.h")), 1)

    def test_adapters_see_the_ports_of_core_alone(self):
        self.assertEqual(includes("store/sqlite/rows.cc", "core/ports.h"), [])
        self.assertIn("core/ports.h only", includes("store/sqlite/rows.cc", "core/state.h")[0])
        self.assertIn("core/ports.h only", includes("executor/local/run.cc", "core/state.h")[0])

    def test_ports_see_base_and_model_alone(self):
        self.assertEqual(includes("core/ports.h", "base/result.h", "model/job.h"), [])
        self.assertEqual(len(includes("core/ports.h", "core/state.h")), 1)

    def test_one_header_may_be_an_edge(self):
        self.assertEqual(includes("executor/local/run.cc", "shim/protocol.h"), [])
        self.assertEqual(len(includes("executor/local/run.cc", "shim/ring.h")), 1)

    def test_third_parties_stay_where_they_belong(self):
        self.assertEqual(includes("codec/json.cc", "<boost/json.hpp>"), [])
        self.assertEqual(includes("store/sqlite/rows.cc", "<sqlite3.h>"), [])
        self.assertEqual(includes("core/step_test.cc", "<gtest/gtest.h>", "<rapidcheck.h>"), [])
        for path, target in [("core/step.cc", "<boost/json.hpp>"), ("codec/json.cc", "<boost/asio.hpp>"),
                             ("core/step.cc", "<gtest/gtest.h>"), ("shim/shim.c", "<openssl/ssl.h>")]:
            self.assertEqual(len(includes(path, target)), 1, (path, target))

    def test_what_tests_share_is_for_tests(self):
        self.assertEqual(includes("net/http/test_server.h", "<gtest/gtest.h>"), [])
        self.assertEqual(includes("net/http/server_test.cc", "net/http/test_server.h"), [])
        self.assertIn("is for tests", includes("net/http/server.cc", "net/http/test_server.h")[0])

    def test_an_unknown_library_is_refused(self):
        self.assertIn("third-party table", includes("codec/json.cc", "<absl/strings/str_cat.h>")[0])
        self.assertEqual(includes("shim/shim.c", "<sys/wait.h>", "<unistd.h>"), [])

    def test_a_third_party_may_not_leak_through_a_header(self):
        exposed = layers.exposures({"codec/inner.h": "#include <boost/json.hpp>\n",
                                    "codec/codec.h": '#include "codec/inner.h"\n', "codec/clean.h": ""})
        self.assertEqual(includes("codec/a.cc", "codec/codec.h", exposed=exposed), [])
        self.assertEqual(includes("store/sqlite/a.cc", "codec/clean.h", exposed=exposed), [])
        self.assertIn("comes with codec/codec.h", includes("store/sqlite/a.cc", "codec/codec.h", exposed=exposed)[0])


class Purity(unittest.TestCase):
    def test_clocks_threads_environment_and_chance_are_refused(self):
        for body in ["auto t = std::chrono::steady_clock::now();", "std::thread t(f);", "std::getenv(\"X\");",
                     "std::random_device d;", "std::uniform_int_distribution<int> d;", "std::shuffle(a, b, g);",
                     "#include <thread>", "#include <fstream>", "#include <sys/socket.h>", "std::map<Job*, int> m;"]:
            self.assertEqual(len(purity(body)), 1, body)

    def test_words_in_comments_and_strings_do_not_count(self):
        self.assertEqual(purity('// std::thread, 0.5\nauto s = "getenv double 1.5"; /* steady_clock */\n'), [])

    def test_floats_belong_in_estimators(self):
        self.assertEqual(len(purity("double x = 1;")), 1)
        self.assertEqual(len(purity("auto x = 0.5;")), 1)
        self.assertEqual(purity("double x = 0.5;", "serving/rollout_estimator.cc"), [])
        self.assertEqual(purity("auto x = 1'000; auto y = a.b; f(1, ...);"), [])

    def test_walking_a_hash_container_is_refused(self):
        declared = "std::unordered_map<int, std::vector<std::pair<int, int>>> rows_;\n"
        for loop in ["for (const auto& [id, row] : rows_) use(id);", "for (auto& r : state.rows_) use(r);",
                     "auto it = rows_.begin();", "for (auto& r : this->rows_) {}"]:
            self.assertEqual(len(purity(declared + loop)), 1, loop)
            self.assertEqual(len(purity(loop, header=declared)), 1, loop)
        alias = "using Rows = std::unordered_set<int>;\nRows rows;\n"
        self.assertEqual(len(purity(alias + "for (int r : rows) {}")), 1)
        self.assertEqual(purity(declared + "auto it = rows_.find(1); for (int x : std::vector{1}) use(x);"), [])
        self.assertEqual(purity("std::map<int, int> rows_; for (auto& r : rows_) {}"), [])

    def test_tests_may_use_hash_order_but_no_clock(self):
        self.assertEqual(purity("std::unordered_set<int> s; for (int x : s) {}  double d = 0.5;", "core/step_test.cc"), [])
        self.assertEqual(len(purity("std::this_thread::sleep_for(x);", "core/step_test.cc")), 1)


class Form(unittest.TestCase):
    GOOD = "// SPDX-License-Identifier: Apache-2.0\n// Contract.\n#pragma once\n"

    def test_a_header_needs_licence_contract_and_guard(self):
        self.assertEqual(layers.check_form("a/b.h", self.GOOD), [])
        self.assertEqual(len(layers.check_form("a/b.h", "#pragma once\n")), 2)
        self.assertEqual(len(layers.check_form("a/b.h", self.GOOD.replace("// Contract.", "#include <map>"))), 1)

    def test_empty_names_are_refused(self):
        for name in ("JobManager", "ParserHelper", "StringUtil", "StoreImpl"):
            self.assertEqual(len(layers.check_form("a/b.h", self.GOOD + f"class {name} {{}};\n")), 1, name)
        self.assertEqual(layers.check_form("a/b.h", self.GOOD + "class Implication {};\n"), [])
        self.assertEqual(len(layers.check_form("a/string_utils.cc", self.GOOD)), 1)

    def test_plants_stand_in_sources(self):
        self.assertEqual(len(layers.check_form("a/b.h", self.GOOD + "#if defined(TANDEM_PLANT_X)\n#endif\n")), 1)

    def test_machine_paths_and_open_ends_are_refused(self):
        self.assertEqual(len(layers.check_text({"a.md": "see /" + "work/x", "b.cc": "// FIX" + "ME", "c.md": "fine"})), 2)
        self.assertEqual(len(layers.check_text({"a.py": "import os\n"})), 1)


class Sizes(unittest.TestCase):
    SOURCE = '''namespace x {
struct A : B<int> { int size() const { return 1; } };
enum class E { a, b };
constexpr std::array<int, 2> table{{1, 2}};
template <class T>
std::vector<T> spread(const std::map<int, T>& m,
                      int n) {
    auto f = [&](int i) { return i; };
    if (n) { return {}; }
    return {};
}
A::A(int a) : a_(a), b_{a} {
}
TEST(subject, does_things) {
    const char* s = R"({ "a": } )";
}
}  // namespace x
'''

    def test_functions_are_measured(self):
        found = {f.name: (f.line, f.length) for f in cpp_text.functions(self.SOURCE)}
        self.assertEqual(found["spread"], (5, 7))
        self.assertEqual(found["subject.does_things"][1], 3)
        self.assertEqual(found["size"][1], 1)
        self.assertIn("A::A", found)
        self.assertFalse({"f", "if", "table", "E"} & set(found))

    def test_limits_are_hard(self):
        long_function = "void f() {\n" + "    g();\n" * 70 + "}\n"
        sizes = layers.sizes_of("a/b.cc", long_function)
        self.assertIn("a/b.cc:f: 72 lines", layers.check_sizes(sizes, {})[0])
        self.assertEqual(layers.check_sizes(sizes, {"a/b.cc:f": 72}), [])
        self.assertEqual(len(layers.check_sizes([("a/b.h", "header", 401)], {})), 1)
        self.assertEqual(len(layers.check_sizes([("a/b.cc", "source", 801)], {})), 1)

    def test_wide_lines_are_found_and_known_ones_do_not_grow(self):
        wide = "// " + "x" * 98
        texts = {"a/b.cc": "short\n" + wide + "\n" + "宽" * 100 + "\n"}
        self.assertIn("src/a/b.cc:2: line wider than 100 columns", layers.check_widths(texts, {})[0])
        self.assertEqual(layers.check_widths(texts, {"a/b.cc": 1}), [])
        texts["a/b.cc"] += wide
        self.assertIn("2 of them where 1 are known", layers.check_widths(texts, {"a/b.cc": 1})[0])

    def test_exceptions_only_shrink(self):
        self.assertEqual(len(layers.check_sizes([("a/b.cc", "source", 850)], {"a/b.cc": 900})), 1)
        self.assertEqual(len(layers.check_sizes([], {"a/b.cc": 900})), 1)
        self.assertEqual(layers.read_exceptions("# why\n900 a/b.cc one table\n"), {"a/b.cc": 900})


class Tree(unittest.TestCase):
    def test_a_tree_is_judged_as_a_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src/core").mkdir(parents=True)
            (root / "src/stray").mkdir()
            (root / "src/CMakeLists.txt").write_text(CMAKE)
            licence = "// SPDX-License-Identifier: Apache-2.0\n"
            (root / "src/core/step.cc").write_text(licence + '#include "net/http/server.h"\ndouble x;\n')
            (root / "src/stray/a.cc").write_text(licence)
            subprocess.run(["git", "init", "-q"], cwd=root, check=True)
            found, sizes = layers.check_tree(root)
            self.assertEqual(len(found), 3, found)
            self.assertEqual(len(sizes), 2)


if __name__ == "__main__":
    unittest.main()

// SPDX-License-Identifier: Apache-2.0
// Every scenario under tests/scenarios keeps its promises; the language says what is wrong with a
// text.
#include "sim/workload/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/workload/run.h"

namespace tandem::sim {
namespace {

namespace fs = std::filesystem;

fs::path scenarios_folder() {
    for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
        if (fs::is_directory(folder / "tests" / "scenarios")) return folder / "tests" / "scenarios";
        if (folder == folder.root_path()) return {};
    }
}

std::string read(const fs::path& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::string> scenarios() {
    std::vector<std::string> names;
    if (scenarios_folder().empty()) return names;
    for (const fs::directory_entry& entry : fs::directory_iterator(scenarios_folder())) {
        if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
    }
    std::ranges::sort(names);
    return names;
}

class Scenario : public testing::TestWithParam<std::string> {};

TEST_P(Scenario, keeps_its_promises) {
    const auto workload = parse_workload(read(scenarios_folder() / (GetParam() + ".yaml")));
    ASSERT_TRUE(workload) << workload.error().field << ": " << workload.error().message;
    EXPECT_EQ(workload->name, GetParam());
    const WorkloadReport report = run_workload(*workload);
    for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
}

std::string name_of_test(const testing::TestParamInfo<std::string>& info) {
    std::string name = info.param;
    std::ranges::replace(name, '-', '_');
    return name;
}
INSTANTIATE_TEST_SUITE_P(All, Scenario, testing::ValuesIn(scenarios()), name_of_test);

TEST(Workload, scenarios_are_found) {
    EXPECT_GE(scenarios().size(), 30U);
}

TEST(Workload, each_mistake_names_its_field) {
    const std::pair<const char*, const char*> mistakes[] = {
        {"name: x", "ops"},
        {"name: x\nops: [{jump: 1}]", "ops[0].jump"},
        {"name: x\nops: [{run: soon}]", "ops[0].run"},
        {"name: x\nops: [{nodes: {count: -1}}]", "ops[0].nodes.count"},
        {"name: x\nops: [{nodes: {colour: red}}]", "ops[0].nodes.colour"},
        {"name: x\nops: [{run: 1s}, {queue: {name: a, quotas: [{flavor: g, nominal: x}]}}]",
         "ops[1].queue.spec.quotas[0].nominal"},
        {"name: x\nops: [{job: {name: a, priority: high}}]", "ops[0].job.spec.priority"},
        {"name: x\nops: [{expect: {why: {a: {needed: 3}}}}]", "ops[0].expect.why.a.code"},
        {"name: x\nops: [{expect: {used: {a: {g: many}}}}]", "ops[0].expect.used.a.g"},
        {"name: x\nmore: 1\nops: []", "more"},
    };
    for (const auto& [text, field] : mistakes) {
        const auto workload = parse_workload(text);
        ASSERT_FALSE(workload) << text;
        EXPECT_EQ(workload.error().field, field) << workload.error().message;
    }
}

TEST(Workload, what_is_expected_and_is_not_so_is_told) {
    const auto workload = parse_workload(R"(
name: wrong
ops:
  - nodes: {name: n, devices: 1}
  - queue: {name: team}
  - job: {name: a, queue: team}
  - job: {name: b, queue: nowhere}
  - expect: {running: [b], evictions: 1, why: {a: noCapacity}, used: {team: {gpu: 2}}}
)");
    ASSERT_TRUE(workload) << workload.error().message;
    const WorkloadReport report = run_workload(*workload);
    ASSERT_EQ(report.problems.size(), 5U) << report.json;
    EXPECT_TRUE(report.problems[0].starts_with("ops[3].job: was refused: spec.queue"));
    EXPECT_TRUE(report.json.starts_with(
        R"({"name":"wrong","virtualSeconds":0,"jobs":{"total":2,"running":1)"))
        << report.json;
}

}  // namespace
}  // namespace tandem::sim

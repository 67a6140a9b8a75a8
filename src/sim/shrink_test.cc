// SPDX-License-Identifier: Apache-2.0
// A rule that is too strict stands for a defect: the world that breaks it is made small. Every case
// under tests/regressions was such a world, and holds now.
#include "sim/shrink.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace tandem::sim {
namespace {

namespace fs = std::filesystem;

// "No job of many ranks that saves is ever preempted": two jobs are needed to break it, no fault.
std::string too_strict(const model::BatchRecord&, const core::State& state) {
    for (const auto& [id, job] : state.table<model::Job>().rows())
        if (job.status.preemptions > 0 && job.spec.checkpoint.enabled)
            return "T1: " + job.meta.name + " was preempted";
    return {};
}
// A rule that only a fault breaks.
std::string faultless(const model::BatchRecord&, const core::State& state) {
    for (const auto& [id, job] : state.table<model::Job>().rows())
        if (job.status.failures > 1 && !job.spec.env.contains("EXIT"))
            return "T2: " + job.meta.name + " failed twice";
    return {};
}

std::optional<std::uint64_t> first_that_breaks(const Rule& rule) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed)
        if (!World(seed, rule).run().violation.empty()) return seed;
    return {};
}

TEST(ShrinkSeed, the_case_of_all_that_happened_is_the_run_of_the_seed) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const SeedResult whole = World(seed).run();
        ASSERT_EQ(whole.violation, "");
        EXPECT_GT(whole.happened.operations.size(), 40u);
        const SeedResult again = World(whole.happened).run();
        EXPECT_EQ(again.violation, "");
        EXPECT_EQ(again.digest, whole.digest);
        EXPECT_EQ(again.inputs, whole.inputs);
        EXPECT_EQ(again.happened, whole.happened);
    }
}

TEST(ShrinkSeed, little_is_left_and_breaks_the_same_rule) {
    for (const Rule& rule : {Rule(too_strict), Rule(faultless)}) {
        const auto seed = first_that_breaks(rule);
        ASSERT_TRUE(seed);
        const auto shrunk = shrink_seed(*seed, 250, rule);
        ASSERT_TRUE(shrunk);
        EXPECT_EQ(shrunk->least.happened.rule, shrunk->whole.happened.rule);
        const Case& left = shrunk->least.happened;
        const std::size_t before =
            shrunk->whole.happened.operations.size() + shrunk->whole.happened.strikes.size();
        EXPECT_LE(left.operations.size(), 6u) << render_case(left);
        EXPECT_LE(left.operations.size() + left.strikes.size(),
                  std::max<std::size_t>(8, before / 5))
            << render_case(left);
        EXPECT_LT(shrunk->least.inputs, shrunk->whole.inputs);
        const auto read = parse_case(render_case(left));
        ASSERT_TRUE(read) << read.error().field;
        EXPECT_EQ(*read, left);
        const auto played = play_case(*read, rule);
        ASSERT_TRUE(played) << played.error().message;
        EXPECT_EQ(played->violation, shrunk->least.violation);
        EXPECT_EQ(World(left).run().violation, "");  // the rule was too strict, core is right
    }
}

TEST(ShrinkSeed, a_seed_that_holds_has_nothing_to_shrink) {
    EXPECT_FALSE(shrink_seed(1, 10));
}

TEST(Case, wrong_files_are_refused_by_field_and_other_worlds_are_told) {
    const auto field_of = [](std::string_view text) {
        const auto read = parse_case(text);
        return read ? std::string("accepted") : read.error().field;
    };
    EXPECT_EQ(field_of(R"({"operations": [], "strikes": []})"), "seed");
    EXPECT_EQ(field_of(R"({"seed": -1, "operations": [], "strikes": []})"), "seed");
    EXPECT_EQ(field_of(R"({"seed": 1, "strikes": []})"), "operations");
    EXPECT_EQ(field_of(R"({"seed": 1, "operations": [{"number": 1}], "strikes": []})"),
              "operations[0].what");
    EXPECT_EQ(
        field_of(R"({"seed": 1, "operations": [], "strikes": [{"fault": "rain", "ask": 1}]})"),
        "strikes[0].fault");
    const auto stale = play_case({.seed = 1, .operations = {{1, "job-1: never drawn"}}});
    ASSERT_FALSE(stale);
    EXPECT_EQ(stale.error().field, "operations[0].what");
}

fs::path regressions_folder() {
    for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
        if (fs::is_directory(folder / "tests" / "regressions"))
            return folder / "tests" / "regressions";
        if (folder == folder.root_path()) return {};
    }
}

TEST(Regressions, kept_cases_hold) {
    std::int64_t cases = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(regressions_folder())) {
        std::ostringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        const auto kept = parse_case(text.str());
        ASSERT_TRUE(kept) << entry.path() << kept.error().field << kept.error().message;
        const auto played = play_case(*kept);
        ASSERT_TRUE(played) << entry.path() << played.error().field << played.error().message;
        EXPECT_EQ(played->violation, "") << entry.path();
        cases += 1;
    }
    EXPECT_GE(cases, 1);
}

}  // namespace
}  // namespace tandem::sim

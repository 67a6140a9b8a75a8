// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/kueue.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tandem::sim {
namespace {

// Two queues of 4 in one cohort; each gets three small and one large.
constexpr const char* small_load = R"(
cohorts:
- className: cohort
  count: 1
  queuesSets:
  - className: cq
    count: 2
    nominalQuota: 4
    borrowingLimit: "4"
    reclaimWithinCohort: Any
    withinClusterQueue: LowerPriority
    workloadsSets:
    - count: 3
      creationIntervalMs: 100
      workloads:
      - className: small
        runtimeMs: 1_000
        priority: 50
        request: 1
    - count: 1
      creationIntervalMs: 50
      workloads:
      - className: large
        runtimeMs: 2000
        priority: 100
        request: "4000m"
)";

std::string replaced(std::string from, std::string to) {
    std::string text = small_load;
    text.replace(text.find(from), from.size(), to);
    return text;
}

std::string field_of(const std::string& yaml) {
    const auto load = parse_kueue(yaml);
    return load ? "taken" : load.error().field;
}

TEST(Kueue, generator_is_read_with_its_queues_and_work) {
    const auto load = parse_kueue(small_load);
    ASSERT_TRUE(load) << load.error().message;
    EXPECT_EQ(load->queues.size(), 2u);
    EXPECT_EQ(load->work.size(), 8u);
    EXPECT_EQ(load->unit_milli, 1000);
    EXPECT_EQ(kueue_node_devices(*load), 16);
    EXPECT_TRUE(std::ranges::is_sorted(load->work, {}, [](const KueueWork& work) {
        return work.created.ms;
    }));
    EXPECT_EQ(make_job(*load, load->work.front()).spec.roles.at(0).resources.flavor, "unit");
}

TEST(Kueue, load_runs_to_its_end_within_its_quota) {
    const auto load = parse_kueue(small_load);
    ASSERT_TRUE(load);
    const KueueReport report = play_kueue(*load);
    EXPECT_EQ(report.violation, "");
    EXPECT_EQ(report.classes.at("small").count, 6);
    EXPECT_EQ(report.classes.at("large").count, 2);
    // 2 x (3 x 1 x 1 s + 4 x 2 s) of work on 8 units.
    EXPECT_EQ(report.ideal_ms, 2750);
    EXPECT_GE(report.wall_ms, report.ideal_ms);
    EXPECT_LE(report.wall_ms, 5000);
}

TEST(Kueue, bad_generators_are_refused_by_field) {
    EXPECT_EQ(field_of("cohorts: []"), "cohorts");
    EXPECT_EQ(field_of("- 1"), "cohorts");
    EXPECT_EQ(field_of(replaced("nominalQuota: 4", "nominalQuota: -4")),
              "cohorts[0].queuesSets[0].nominalQuota");
    EXPECT_EQ(field_of(replaced("count: 2", "count: 0")), "cohorts[0].queuesSets[0].count");
    EXPECT_EQ(field_of(replaced("request: 1", "request: none")),
              "cohorts[0].queuesSets[0].workloadsSets[0].workloads[0].request");
    EXPECT_EQ(field_of(replaced("runtimeMs: 1_000", "runTimeMs: 1000")),
              "cohorts[0].queuesSets[0].workloadsSets[0].workloads[0].runtimeMs");
    EXPECT_EQ(field_of(replaced("reclaimWithinCohort: Any", "reclaimWithinCohort: Some")),
              "cohorts[0].queuesSets[0].reclaimWithinCohort");
    EXPECT_EQ(field_of(replaced("      - className: small", "      - class: small")),
              "cohorts[0].queuesSets[0].workloadsSets[0].workloads[0].className");
}

}  // namespace
}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sim/workload/chart.h"
#include "sim/workload/curves.h"
#include "sim/workload/report_html.h"
#include "sim/workload/report_json.h"
#include "sim/workload/run.h"

namespace tandem::sim {
namespace {

constexpr Instant begin{1'000'000};
const CurveKey used{CurveOf::used, "card", {}};

TEST(Curves, time_beyond_the_buckets_doubles_them_and_loses_nothing) {
    Curves curves(begin);
    curves.hold(begin, {{used, 1000}});
    curves.hold(begin + seconds(100), {{used, 3000}});
    curves.close(begin + seconds(240));
    EXPECT_EQ(curves.width(), seconds(1));
    EXPECT_EQ(curves.means(used).size(), 240u);
    curves.close(begin + seconds(1000));
    EXPECT_EQ(curves.width(), seconds(8));
    EXPECT_EQ(curves.integral(used), Wide{100'000} * 1000 + Wide{900'000} * 3000);
    const std::vector<std::int64_t> means = curves.means(used);
    ASSERT_EQ(means.size(), 125u);
    EXPECT_EQ(means.front(), 1000);
    EXPECT_EQ(means[12], 2000);  // 96 to 104 s: half of each
    EXPECT_EQ(means.back(), 3000);
}

TEST(Curves, what_is_not_named_is_nothing_from_then_on) {
    Curves curves(begin);
    curves.hold(begin, {{used, 1000}});
    curves.hold(begin + seconds(1), {});
    curves.close(begin + seconds(4));
    EXPECT_EQ(curves.means(used), (std::vector<std::int64_t>{1000, 0, 0, 0}));
    EXPECT_TRUE(curves.all_zero(CurveOf::used));
}

// Two queues of weights 3 and 1 share four cards, and both want all of them for an hour.
constexpr const char* story = R"(
name: "weights <3:1> & more"
ops:
  - nodes: {name: n, count: 1, devices: 4, flavor: card}
  - queue: {name: both, quotas: [{flavor: card, nominal: 4}]}
  - queue: {name: heavy, parent: both, quotas: [{flavor: card, nominal: 0, weight: 3}]}
  - queue: {name: light, parent: both, quotas: [{flavor: card, nominal: 0, weight: 1}]}
  - job: {name: h, count: 8, queue: heavy, runTime: 1h}
  - job: {name: l, count: 8, queue: light, runTime: 1h}
  - run: 1h
)";

WorkloadReport play() {
    const auto workload = parse_workload(story);
    EXPECT_TRUE(workload) << workload.error().field << workload.error().message;
    return run_workload(*workload);
}

const ClassFigures& class_named(const ChronicleFigures& figures, const std::string& name) {
    return *std::ranges::find(figures.classes, name, &ClassFigures::name);
}

TEST(Chronicle, use_waits_and_shares_are_those_of_the_story) {
    const WorkloadReport report = play();
    const ChronicleFigures& figures = report.figures;
    ASSERT_EQ(figures.flavors.size(), 1u);
    EXPECT_EQ(figures.flavors[0].capacity_ms, Wide{4000} * figures.length.ms);
    EXPECT_EQ(figures.flavors[0].used_ms, Wide{4000} * figures.length.ms);
    Wide by_queue = 0;
    for (const QueueFigures& one : figures.queues)
        if (one.queue != "both") by_queue += one.used_ms;
    EXPECT_EQ(by_queue, figures.flavors[0].used_ms);
    const auto heavy = std::ranges::find(figures.queues, "heavy", &QueueFigures::queue);
    ASSERT_NE(heavy, figures.queues.end());
    EXPECT_EQ(heavy->share_by_weight, 750);
    // All four to the first that came; an hour later to both by weight.
    const ClassFigures& first = class_named(figures, "heavy");
    EXPECT_EQ(first.jobs, 8);
    EXPECT_EQ(first.waits_ms.front(), 0);
    EXPECT_EQ(class_named(figures, "light").jobs, 8);
    EXPECT_EQ(figures.waiting[1], 12'000);
}

TEST(Chronicle, percentiles_are_of_the_ranks) {
    EXPECT_EQ(percentile_of({}, 50), 0);
    EXPECT_EQ(percentile_of({1, 2, 3, 4}, 50), 2);
    EXPECT_EQ(percentile_of({1, 2, 3, 4}, 95), 4);
    EXPECT_EQ(percentile_of({1, 2, 3, 4}, 100), 4);
    EXPECT_EQ(spread_of({0, 999, 1000, 700'000'000})[0], 2);
    EXPECT_EQ(spread_of({0, 999, 1000, 700'000'000}).back(), 1);
}

TEST(ReportPage, names_are_escaped_and_nothing_comes_from_outside) {
    const WorkloadReport report = play();
    const WorkloadReport again = play();
    const std::string page = render_page({.title = "weights <3:1> & \"more\"",
                                          .parts = {{"run", "运行", &report.figures, {}}},
                                          .problems = {"<script>alert(1)</script>"}});
    EXPECT_NE(page.find("weights &lt;3:1&gt; &amp; &quot;more&quot;"), std::string::npos);
    for (const char* outside : {"<script", "src=", "href=", "url(", "@import"})
        EXPECT_EQ(page.find(outside), std::string::npos) << outside;
    EXPECT_EQ(page, render_page({.title = "weights <3:1> & \"more\"",
                                 .parts = {{"run", "运行", &again.figures, {}}},
                                 .problems = {"<script>alert(1)</script>"}}));
    EXPECT_EQ(escape_xml(std::string("a\x01\xff\"b", 5)).find('\x01'), std::string::npos);
}

TEST(ReportPage, nothing_at_all_has_a_page) {
    const ChronicleFigures nothing;
    const std::string page =
        render_page({.title = "empty", .parts = {{"run", "运行", &nothing, {}}}});
    EXPECT_NE(page.find("</html>"), std::string::npos);
}

}  // namespace
}  // namespace tandem::sim

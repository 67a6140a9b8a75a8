// SPDX-License-Identifier: Apache-2.0
#include "recount/recount.h"

#include <gtest/gtest.h>

namespace tandem::recount {
namespace {

std::string time(std::int64_t ms) {
    return render_instant(Instant{ms});
}

// Histories by hand: a segment at 0, then batches.
class History {
  public:
    History() {
        line(
            R"({"segment":{"number":1,"coreVersion":"0.1.0","changesKeptAfter":0,"meta":{"time":")" +
            time(0) + "\"}}}");
    }
    void line(const std::string& text) {
        const Status status = recounter_.read(text);
        ASSERT_TRUE(status) << status.error().message << " in " << text;
    }
    void at(std::int64_t ms) {
        line(R"({"batch":{"sequence":1,"now":")" + time(ms) +
             R"(","seed":"","digest":"","inputs":[]}})");
    }
    void change(const std::string& type, const std::string& object) {
        line(R"({"change":{"version":)" + std::to_string(++version_) + R"(,"type":")" + type +
             R"(","now":"","object":)" + object + "}}");
    }
    void node(int devices) {
        std::string list;
        for (int i = 0; i < devices; ++i)
            list += (i ? "," : "") + (R"({"index":)" + std::to_string(i) + "}");
        change("added",
               R"({"kind":"Node","metadata":{"uid":"n","name":"n1"},"status":{"devices":[)" + list +
                   "]}}");
    }
    void pool(const std::string& name, const std::string& form, const std::string& held = {}) {
        change("added", R"({"kind":"Pool","metadata":{"uid":")" + name + R"(","name":")" + name +
                            R"("},"spec":{"form":")" + form + R"("},"status":{"held":[)" + held +
                            "]}}");
    }
    void replica(const std::string& name, const std::string& phase, const std::string& devices,
                 const std::string& more = {}) {
        change("modified", R"({"kind":"Replica","metadata":{"uid":")" + name + R"(","name":")" +
                               name + R"(","project":"vision"},"status":{"phase":")" + phase +
                               R"(","epoch":1,"node":"n1","devices":[)" + devices + "]" + more +
                               "}}");
    }
    std::map<std::string, std::int64_t> totals(std::int64_t until) {
        count_ = *recounter_.finish(Instant{until});
        std::map<std::string, std::int64_t> sums;
        for (const auto& [key, milli_ms] : count_.milli_ms) sums[key.state] += milli_ms;
        return sums;
    }
    const Count& count() const { return count_; }
    Recounter& recounter() { return recounter_; }

  private:
    Recounter recounter_{};
    std::int64_t version_ = 0;
    Count count_{};
};

using Sums = std::map<std::string, std::int64_t>;

TEST(Recount, phases_of_a_replica_become_held_running_and_idle_allocated) {
    History history;
    history.at(10);
    history.pool("default", "shared");
    history.node(1);
    history.at(20);
    history.replica("a", "starting", R"({"index":0})");
    history.at(30);
    history.replica("a", "running", R"({"index":0})");
    history.at(80);
    history.replica("a", "stopping", R"({"index":0})", R"(,"exit":{"at":")" + time(75) + "\"}");
    history.at(90);
    history.replica("a", "succeeded", R"({"index":0})", R"(,"exit":{"at":")" + time(75) + "\"}");
    EXPECT_EQ(
        history.totals(100),
        (Sums{{"held", 10'000}, {"running", 45'000}, {"idleAllocated", 15'000}, {"idle", 20'000}}));
    EXPECT_EQ(history.count().milli_ms.at({"n1", 0, "running", "", "vision"}), 45'000);
    EXPECT_EQ(history.count().milli_ms.at({"n1", 0, "idle", "default", ""}), 20'000);
}

TEST(Recount, shares_leave_the_rest_idle) {
    History history;
    history.at(0);
    history.pool("default", "shared");
    history.node(1);
    history.replica("a", "running", R"({"index":0,"amount":"0.25"})");
    history.at(10);
    history.replica("b", "running", R"({"index":0,"amount":"0.5"})");
    EXPECT_EQ(history.totals(20),
              (Sums{{"running", 250 * 20 + 500 * 10}, {"idle", 750 * 10 + 250 * 10}}));
}

TEST(Recount, claim_counts_from_when_its_victim_is_gone) {
    History history;
    history.at(0);
    history.pool("default", "shared");
    history.node(1);
    history.replica("a", "running", R"({"index":0})");
    history.at(10);
    history.replica("b", "claimed", R"({"index":0})");
    history.replica("a", "stopping", R"({"index":0})");
    history.at(30);
    history.replica("a", "pending", "");
    history.at(40);
    history.replica("b", "running", R"({"index":0})");
    EXPECT_EQ(history.totals(50), (Sums{{"running", 30'000 + 10'000}, {"held", 10'000}}));
}

TEST(Recount, reserved_pool_holds_its_idle_devices) {
    History history;
    history.at(0);
    history.pool("default", "shared");
    history.node(2);
    history.at(10);
    history.pool("vip", "reserved", R"({"node":"n1","index":1})");
    EXPECT_EQ(history.totals(20), (Sums{{"idle", 20'000 + 10'000}, {"held", 10'000}}));
    EXPECT_EQ(history.count().milli_ms.at({"n1", 1, "held", "vip", ""}), 10'000);
}

TEST(Recount, second_segment_goes_on_and_a_gap_is_refused) {
    History history;
    history.at(0);
    history.pool("default", "shared");
    history.node(1);
    history.at(10);
    history.line(R"({"segment":{"number":2,"changesKeptAfter":2,"meta":{"time":")" + time(10) +
                 "\"}}}");
    history.line(
        R"({"object":{"kind":"Pool","metadata":{"uid":"default","name":"default"},"spec":{"form":"shared"}},"id":1})");
    history.line(
        R"({"object":{"kind":"Node","metadata":{"uid":"n","name":"n1"},"status":{"devices":[{}]}},"id":2})");
    history.at(15);
    EXPECT_FALSE(history.recounter().read(R"({"segment":{"number":3,"changesKeptAfter":9}})"));
    EXPECT_EQ(history.totals(20), (Sums{{"idle", 20'000}}));
}

TEST(Recount, report_is_compared_by_state_to_the_millisecond) {
    Count count;
    count.milli_ms[{"n1", 0, "running", "", "vision"}] = 45'000;
    count.milli_ms[{"n1", 0, "idle", "default", ""}] = 20'500;
    EXPECT_EQ(
        *find_difference(
            count,
            R"({"devices":[{"state":"running","deviceMs":40},{"state":"failedRerun","deviceMs":5},
        {"state":"queued","deviceMs":99},{"state":"idle","deviceMs":20}]})"),
        "");
    EXPECT_EQ(
        *find_difference(
            count,
            R"({"devices":[{"state":"running","deviceMs":44},{"state":"idle","deviceMs":20}]})"),
        "running: 45 device-ms counted, 44 reported");
    EXPECT_EQ(*find_difference(count, R"({"devices":[{"state":"running","deviceMs":45}]})"),
              "idle: 20 device-ms counted, 0 reported");
    EXPECT_FALSE(find_difference(count, "{}"));
    EXPECT_NE(render_count(count).find("\"deviceMs\": 45"), std::string::npos);
}

TEST(Recount, broken_lines_are_named) {
    Recounter recounter;
    EXPECT_FALSE(recounter.read("{"));
    EXPECT_FALSE(recounter.read(R"({"batch":{"sequence":1}})"));
    EXPECT_FALSE(recounter.read(R"({"batch":{"now":"2026-01-01T00:00:00.000Z"}})"));
    EXPECT_TRUE(recounter.read(R"({"cursor":{}})"));
    EXPECT_FALSE(recounter.finish(std::nullopt));
}

}  // namespace
}  // namespace tandem::recount

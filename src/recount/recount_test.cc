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
    History() { segment(1, 0, 0, 0); }
    explicit History(const Window& window) : recounter_(window) { segment(1, 0, 0, 0); }
    void segment(int number, std::int64_t kept_after, std::int64_t version, std::int64_t at_ms,
                 int generation = 1) {
        line(R"({"segment":{"number":)" + std::to_string(number) +
             R"(,"coreVersion":"0.1.0","changesKeptAfter":)" + std::to_string(kept_after) +
             R"(,"meta":{"generation":)" + std::to_string(generation) + R"(,"version":)" +
             std::to_string(version) + R"(,"time":")" + time(at_ms) + "\"}}}");
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
        at(until);
        count_ = *recounter_.finish();
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
    history.segment(2, 2, 2, 10);
    history.line(
        R"({"object":{"kind":"Pool","metadata":{"uid":"default","name":"default"},"spec":{"form":"shared"}},"id":1})");
    history.line(
        R"({"object":{"kind":"Node","metadata":{"uid":"n","name":"n1"},"status":{"devices":[{}]}},"id":2})");
    history.at(15);
    EXPECT_FALSE(history.recounter().read(R"({"segment":{"number":3,"changesKeptAfter":9}})"));
    EXPECT_FALSE(history.recounter().read(
        R"({"segment":{"number":3,"changesKeptAfter":9,"meta":{"generation":1,"version":9}}})"));
    EXPECT_EQ(history.totals(20), (Sums{{"idle", 20'000}}));
}

TEST(Recount, task_that_ran_between_two_batches_is_charged_for_its_own_time) {
    History history;
    history.at(0);
    history.pool("default", "shared");
    history.node(1);
    history.at(10);
    history.replica("a", "starting", R"({"index":0})");
    history.at(40);
    const std::string told =
        R"(,"ranFrom":")" + time(15) + R"(","exit":{"at":")" + time(35) + "\"}";
    history.replica("a", "succeeded", R"({"index":0})", told);
    EXPECT_EQ(
        history.totals(50),
        (Sums{{"held", 5'000}, {"running", 20'000}, {"idleAllocated", 5'000}, {"idle", 20'000}}));
}

TEST(Recount, running_begins_when_the_process_did) {
    History history;
    history.at(0);
    history.pool("default", "shared");
    history.node(1);
    history.replica("a", "starting", R"({"index":0})");
    history.at(40);
    history.replica("a", "running", R"({"index":0})", R"(,"ranFrom":")" + time(15) + "\"");
    EXPECT_EQ(history.totals(50), (Sums{{"held", 15'000}, {"running", 35'000}}));
}

TEST(Recount, attempt_whose_row_was_taken_over_at_once_ends_as_it_did) {
    History history;
    history.at(0);
    history.pool("default", "shared");
    history.node(1);
    history.replica("a", "running", R"({"index":0})");
    history.at(40);
    history.line(
        R"({"change":{"version":90,"type":"modified","now":"","object":{"kind":"Replica","metadata":{"uid":"a","name":"a","project":"vision"},)"
        R"("status":{"phase":"starting","epoch":2,"node":"n1","devices":[{"index":0}],"lastAttempt":{"epoch":1,"exitAt":")" +
        time(30) + "\"}}}}}");
    EXPECT_EQ(history.totals(50),
              (Sums{{"running", 30'000}, {"idleAllocated", 10'000}, {"held", 10'000}}));
}

TEST(Recount, counting_begins_where_changes_are_whole_and_keeps_to_its_window) {
    History history(Window{.from = Instant{120}, .to = Instant{150}});
    Recounter late;
    EXPECT_TRUE(
        late.read(R"({"segment":{"number":1,"changesKeptAfter":5,"meta":{"version":2,"time":")" +
                  time(0) + "\"}}}"));
    EXPECT_TRUE(late.read(R"({"batch":{"sequence":1,"now":")" + time(5) + R"(","inputs":[]}})"));
    EXPECT_FALSE(late.finish());
    history.at(0);
    history.pool("default", "shared");
    history.node(1);
    history.at(200);
    EXPECT_EQ(history.totals(300), (Sums{{"idle", 30'000}}));
}

TEST(Recount, restore_goes_on_with_what_its_segment_says) {
    History history;
    history.at(0);
    history.pool("default", "shared");
    history.node(1);
    history.at(10);
    history.segment(2, 1'000'002, 1'000'002, 10, 2);
    history.line(
        R"({"object":{"kind":"Pool","metadata":{"uid":"default","name":"default"},"spec":{"form":"shared"}},"id":1})");
    history.line(
        R"({"object":{"kind":"Node","metadata":{"uid":"n","name":"n1"},"status":{"devices":[{}]}},"id":2})");
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
        {"state":"queued","deviceMs":99},{"state":"suspended","deviceMs":98},
        {"state":"idle","deviceMs":20}]})"),
        "");
    EXPECT_EQ(
        *find_difference(
            count,
            R"({"devices":[{"state":"running","deviceMs":44},{"state":"idle","deviceMs":20}]})"),
        "running: 45 device-ms counted, 44 reported");
    EXPECT_EQ(*find_difference(count, R"({"devices":[{"state":"running","deviceMs":45}]})"),
              "idle: 20 device-ms counted, 0 reported");
    EXPECT_FALSE(find_difference(count, "{}"));
    EXPECT_EQ(*find_difference(count, R"({"devices":[
        {"state":"running","deviceMs":44,"deviceMsRestMilli":600},
        {"state":"running","deviceMs":0,"deviceMsRestMilli":400},{"state":"idle","deviceMs":20}]})"),
              "");
    EXPECT_NE(render_count(count).find("\"deviceMs\": 45"), std::string::npos);
}

TEST(Recount, broken_lines_are_named) {
    Recounter recounter;
    EXPECT_FALSE(recounter.read("{"));
    EXPECT_FALSE(recounter.read(R"({"batch":{"sequence":1}})"));
    EXPECT_FALSE(recounter.read(R"({"batch":{"now":"2026-01-01T00:00:00.000Z"}})"));
    EXPECT_TRUE(recounter.read(R"({"cursor":{}})"));
    EXPECT_FALSE(recounter.finish());
}

}  // namespace
}  // namespace tandem::recount

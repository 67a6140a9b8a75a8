// SPDX-License-Identifier: Apache-2.0
#include "ledger/report.h"

#include <gtest/gtest.h>

#include "ledger/interval_book.h"

namespace tandem::ledger {
namespace {

using model::LedgerState;

model::UsageRecord row(LedgerState state, std::int64_t from, std::int64_t to,
                       std::int64_t milli = 1000) {
    return {.id = RowId{from + 1},
            .state = state,
            .from = Instant{from},
            .to = Instant{to},
            .milli = milli,
            .node = "n1",
            .device = 0,
            .project = "vision",
            .owner_kind = "Job",
            .owner_name = "train",
            .replica = "train-worker-0"};
}

TEST(DeviceTime, shares_add_up_exactly) {
    DeviceTime sum;
    for (int i = 0; i < 3; ++i) sum = sum + time_of(row(LedgerState::running, 0, 1, 333));
    sum = sum + time_of(row(LedgerState::running, 0, 1, 1));
    EXPECT_EQ(sum, (DeviceTime{1, 0}));
    EXPECT_EQ(time_of(row(LedgerState::running, 0, INT64_MAX / 1000, 1'000'000)).device_ms,
              INT64_MAX / 1000 * 1000);
}

TEST(UsageSums, groups_by_what_is_asked_and_cuts_at_the_window) {
    UsageSums sums({}, {Instant{50}, Instant{150}});
    sums.add(row(LedgerState::running, 0, 100));
    sums.add(row(LedgerState::running, 100, 200, 500));
    sums.add(row(LedgerState::held, 150, 200));
    model::UsageRecord other = row(LedgerState::running, 50, 60);
    other.project = "speech";
    sums.add(other);
    const auto lines = sums.lines();
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].key.project, "speech");
    EXPECT_EQ(lines[0].time.device_ms, 10);
    EXPECT_EQ(lines[1].key.owner_name, "train");
    EXPECT_EQ(lines[1].time.device_ms, 50 + 25);
    UsageSums all({.project = false, .owner = false, .state = false}, {});
    all.add(row(LedgerState::running, 0, 100));
    all.add(other);
    ASSERT_EQ(all.lines().size(), 1U);
    EXPECT_EQ(all.lines()[0].time.device_ms, 110);
}

TEST(TokenSums, counts_by_key_service_and_version) {
    TokenSums sums({Instant{10}, Instant{20}});
    sums.add({.at = Instant{9}, .service = "chat", .prompt_tokens = 1000});
    sums.add({.at = Instant{10},
              .key_id = "a",
              .service = "chat",
              .prompt_tokens = 5,
              .completion_tokens = 7,
              .status = 200});
    sums.add({.at = Instant{19},
              .key_id = "a",
              .service = "chat",
              .prompt_tokens = 5,
              .status = 502,
              .aborted = true});
    sums.add(
        {.at = Instant{15}, .key_id = "b", .service = "chat", .prompt_tokens = 1, .status = 200});
    const auto lines = sums.lines();
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].requests, 2);
    EXPECT_EQ(lines[0].failed, 1);
    EXPECT_EQ(lines[0].aborted, 1);
    EXPECT_EQ(lines[0].prompt_tokens, 10);
    EXPECT_EQ(lines[0].completion_tokens, 7);
}

TEST(Explain, every_interval_has_a_cause_and_all_of_them_add_up) {
    std::int64_t next_id = 1;
    IntervalBook book(next_id);
    const DeviceSlot slot{"n1", 0};
    const Attribution who{.project = "vision",
                          .owner_kind = "Job",
                          .owner_name = "train",
                          .replica = "train-worker-0",
                          .epoch = 1};
    book.add_device(slot, "h200", "default", Instant{0});
    book.queue(RowId{9}, 500, LedgerState::suspended, who, Instant{3});
    book.queue(RowId{9}, 500, LedgerState::queued, who, Instant{5});
    book.dequeue(RowId{9}, Instant{10});
    book.occupy(slot, RowId{7}, 500, LedgerState::held, who, Instant{10});
    book.occupy(slot, RowId{7}, 500, LedgerState::running, who, Instant{20});
    book.release(slot, RowId{7},
                 {.ended_at = Instant{90}, .server_absent = true, .safe_at = Instant{60}},
                 Instant{100});
    std::vector<model::UsageRecord> rows;
    for (const auto& closed : book.drain().closed) {
        if (closed.owner_name == "train") rows.push_back(closed);
    }
    const Explanation explanation = explain(rows);
    EXPECT_TRUE(explanation.adds_up());
    EXPECT_EQ(explanation.span, (DeviceTime{45, 0}));
    std::vector<Cause> causes;
    for (const auto& line : explanation.lines) causes.push_back(line.cause);
    EXPECT_EQ(causes,
              (std::vector<Cause>{Cause::suspended, Cause::waiting, Cause::starting, Cause::working,
                                  Cause::lost_by_failure, Cause::server_absent}));
    EXPECT_EQ(explanation.by_state.at(LedgerState::running), (DeviceTime{20, 0}));
}

TEST(Explain, gap_and_overlap_are_named) {
    EXPECT_FALSE(
        explain({row(LedgerState::held, 0, 10), row(LedgerState::running, 11, 20)}).adds_up());
    const Explanation doubled =
        explain({row(LedgerState::held, 0, 10), row(LedgerState::running, 9, 20)});
    ASSERT_EQ(doubled.gaps.size(), 1U);
    EXPECT_NE(doubled.gaps[0].find("counted twice"), std::string::npos);
    EXPECT_TRUE(explain({}).adds_up());
}

}  // namespace
}  // namespace tandem::ledger

// SPDX-License-Identifier: Apache-2.0
#include "ledger/interval_book.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace tandem::ledger {
namespace {

using model::LedgerState;

const DeviceSlot slot{"n1", 0};

// Sum of milli x ms by state over everything that was closed.
std::map<LedgerState, std::int64_t> sums(const std::vector<model::UsageRecord>& rows) {
    std::map<LedgerState, std::int64_t> by_state;
    for (const model::UsageRecord& row : rows)
        by_state[row.state] += row.milli * (row.to - row.from).ms;
    return by_state;
}

TEST(interval_book, idle_is_an_interval_of_its_own_before_and_after_a_holder) {
    std::int64_t ids = 1;
    IntervalBook book(ids);
    book.add_device(slot, "card", "default", Instant{0});
    book.occupy(slot, RowId{7}, 1000, LedgerState::held, {.replica = "a"}, Instant{100});
    book.occupy(slot, RowId{7}, 1000, LedgerState::running, {.replica = "a"}, Instant{150});
    book.release(slot, RowId{7}, {}, Instant{400});
    EXPECT_EQ(book.check(), "");
    book.remove_device(slot, Instant{1000});
    auto by_state = sums(book.drain().closed);
    EXPECT_EQ(by_state[LedgerState::idle], 700 * 1000);
    EXPECT_EQ(by_state[LedgerState::held], 50 * 1000);
    EXPECT_EQ(by_state[LedgerState::running], 250 * 1000);
}

TEST(interval_book, lost_attempt_is_split_at_its_checkpoint) {
    std::int64_t ids = 1;
    IntervalBook book(ids);
    book.add_device(slot, "card", "default", Instant{0});
    book.occupy(slot, RowId{7}, 1000, LedgerState::running, {.owner_kind = "Job"}, Instant{0});
    book.release(slot, RowId{7}, {.safe_at = Instant{60}, .lost = LedgerState::lost_to_preemption},
                 Instant{100});
    auto by_state = sums(book.drain().closed);
    EXPECT_EQ(by_state[LedgerState::running], 60 * 1000);
    EXPECT_EQ(by_state[LedgerState::lost_to_preemption], 40 * 1000);
}

TEST(interval_book, task_that_ended_without_a_server_closes_at_its_own_time) {
    std::int64_t ids = 1;
    IntervalBook book(ids);
    book.add_device(slot, "card", "default", Instant{0});
    book.occupy(slot, RowId{7}, 1000, LedgerState::running, {.owner_kind = "Job"}, Instant{0});
    book.release(slot, RowId{7}, {.ended_at = Instant{30}, .server_absent = true}, Instant{100});
    const BookChanges changes = book.drain();
    auto by_state = sums(changes.closed);
    EXPECT_EQ(by_state[LedgerState::running], 30 * 1000);
    EXPECT_EQ(by_state[LedgerState::idle_allocated], 70 * 1000);
    for (const model::UsageRecord& row : changes.closed)
        EXPECT_EQ(row.server_absent, row.state == LedgerState::idle_allocated);
}

TEST(interval_book, task_that_ran_between_two_batches_is_charged_for_its_own_time) {
    std::int64_t ids = 1;
    IntervalBook book(ids);
    book.add_device(slot, "card", "default", Instant{0});
    book.occupy(slot, RowId{7}, 1000, LedgerState::held, {.owner_kind = "Job"}, Instant{10});
    book.release(slot, RowId{7}, {.ended_at = Instant{35}, .ran_from = Instant{15}}, Instant{40});
    auto by_state = sums(book.drain().closed);
    EXPECT_EQ(by_state[LedgerState::held], 5 * 1000);
    EXPECT_EQ(by_state[LedgerState::running], 20 * 1000);
    EXPECT_EQ(by_state[LedgerState::idle_allocated], 5 * 1000);
}

TEST(interval_book, state_that_is_told_late_begins_when_it_did_but_not_before_the_one_it_ends) {
    std::int64_t ids = 1;
    IntervalBook book(ids);
    book.add_device(slot, "card", "default", Instant{0});
    book.occupy(slot, RowId{7}, 1000, LedgerState::held, {.owner_kind = "Job"}, Instant{10});
    book.occupy(slot, RowId{7}, 1000, LedgerState::running, {.owner_kind = "Job"}, Instant{40},
                Instant{15});
    book.release(slot, RowId{7}, {}, Instant{50});
    book.occupy(slot, RowId{8}, 1000, LedgerState::held, {.owner_kind = "Job"}, Instant{60});
    book.occupy(slot, RowId{8}, 1000, LedgerState::running, {.owner_kind = "Job"}, Instant{70},
                Instant{1});
    book.release(slot, RowId{8}, {}, Instant{80});
    auto by_state = sums(book.drain().closed);
    EXPECT_EQ(by_state[LedgerState::held], 5 * 1000);
    EXPECT_EQ(by_state[LedgerState::running], 55 * 1000);
}

TEST(interval_book, idle_of_a_reserved_pool_is_held_in_its_name) {
    std::int64_t ids = 1;
    IntervalBook book(ids);
    book.add_device(slot, "card", "default", Instant{0});
    book.set_owner(slot, "reserved", LedgerState::held, Instant{10});
    const BookChanges changes = book.drain();
    ASSERT_EQ(changes.open_put.size(), 1u);
    EXPECT_EQ(changes.open_put.front().pool, "reserved");
    EXPECT_EQ(changes.open_put.front().state, LedgerState::held);
}

// Random holders of random shares: at every moment the device is covered exactly, and undo is
// exact.
TEST(interval_book, random_histories_cover_the_device_without_gap_or_overlap) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        Random random(seed_from(seed));
        std::int64_t ids = 1;
        IntervalBook book(ids);
        book.add_device(slot, "card", "default", Instant{0});
        std::map<RowId, std::int64_t> held;
        std::vector<model::UsageRecord> closed;
        Instant now{0};
        const auto act = [&] {
            now.ms += random.between(0, 50);
            const RowId id{random.between(1, 5)};
            std::int64_t used = 0;
            for (const auto& [other, milli] : held) used += other == id ? 0 : milli;
            if (held.contains(id) && random.chance(500)) {
                book.release(slot, id, {.safe_at = Instant{now.ms - random.between(0, 30)}}, now);
                held.erase(id);
            } else if (used < 1000) {
                held[id] = held.contains(id) ? held[id] : random.between(1, 1000 - used);
                book.occupy(slot, id, held[id],
                            random.chance(500) ? LedgerState::running : LedgerState::held,
                            {.replica = "r"}, now);
            }
        };
        for (int i = 0; i < 100; ++i) {
            act();
            ASSERT_EQ(book.check(), "");
            BookChanges changes = book.drain();
            closed.insert(closed.end(), changes.closed.begin(), changes.closed.end());
            book.forget();
            const std::uint64_t before = book.digest();
            const auto held_before = held;
            const Instant now_before = now;
            const std::int64_t ids_before = ids;
            const std::size_t mark = book.mark();
            act();
            act();
            book.rollback(mark);
            book.forget();
            EXPECT_EQ(book.digest(), before);
            held = held_before;
            now = now_before;
            ids = ids_before;
        }
        for (const auto& [id, milli] : held) book.release(slot, id, {}, now);
        book.remove_device(slot, now);
        BookChanges changes = book.drain();
        closed.insert(closed.end(), changes.closed.begin(), changes.closed.end());
        std::int64_t total = 0;
        for (const auto& [state, sum] : sums(closed)) total += sum;
        EXPECT_EQ(total, 1000 * now.ms) << "seed " << seed;
    }
}

}  // namespace
}  // namespace tandem::ledger

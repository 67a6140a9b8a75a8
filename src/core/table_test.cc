// SPDX-License-Identifier: Apache-2.0
#include "core/table.h"

#include <gtest/gtest.h>

namespace tandem::core {
namespace {

model::Replica replica(std::int64_t id, const std::string& name, std::int64_t owner) {
    model::Replica row;
    row.meta.id = RowId{id};
    row.meta.uid.bytes[0] = static_cast<std::uint8_t>(id);
    row.meta.name = name;
    row.meta.project = "vision";
    row.meta.name_space = "default";
    row.spec.owner_id = RowId{owner};
    return row;
}

TEST(table, look_ups_follow_rows_that_come_go_and_come_again) {
    Table<model::Replica> table;
    for (std::int64_t id = 1; id <= 100; ++id)
        table.insert(RowId{id}, replica(id, "r" + std::to_string(id), 1000 + id % 2));
    ASSERT_NE(table.find_named("vision", "default", "r7"), nullptr);
    EXPECT_EQ(table.find_named("vision", "default", "r7")->meta.id, RowId{7});
    EXPECT_EQ(table.find_named("vision", "other", "r7"), nullptr);
    EXPECT_EQ(table.find_uid(replica(9, "", 0).meta.uid)->meta.name, "r9");
    EXPECT_EQ(table.index().owned_by(RowId{1001}).size(), 50u);
    table.erase(RowId{7});
    EXPECT_EQ(table.find_named("vision", "default", "r7"), nullptr);
    table.insert(RowId{107}, replica(107, "r7", 1000));  // the name again, as another object
    EXPECT_EQ(table.find_named("vision", "default", "r7")->meta.id, RowId{107});
    EXPECT_EQ(table.index().owned_by(RowId{1001}).size(), 49u);
    EXPECT_EQ(table.index().owned_by(RowId{1000}).back(), RowId{107});
}

TEST(table, look_ups_after_an_undo_are_those_of_before) {
    Table<model::Replica> table;
    table.insert(RowId{1}, replica(1, "a", 5));
    table.insert(RowId{2}, replica(2, "b", 5));
    table.forget();
    const std::size_t mark = table.mark();
    table.erase(RowId{1});
    table.insert(RowId{3}, replica(3, "a", 6));
    table.edit(RowId{2}).status.node = "n";
    table.rollback(mark);
    EXPECT_EQ(table.find_named("vision", "default", "a")->meta.id, RowId{1});
    EXPECT_EQ(table.find_named("vision", "default", "b")->status.node, "");
    EXPECT_EQ(table.find_uid(replica(3, "", 0).meta.uid), nullptr);
    EXPECT_EQ(table.index().owned_by(RowId{5}), (std::vector<RowId>{RowId{1}, RowId{2}}));
    EXPECT_TRUE(table.index().owned_by(RowId{6}).empty());
}

// What number_changes() reads: how a row was before the batch, and at its end.
TEST(undo_map, erased_row_tells_how_it_was_before_and_at_its_end) {
    UndoMap<int, std::string> map;
    map.restore(1, "one");
    map.restore(2, "two");
    map.forget();
    const auto told = [&](int key) {
        std::string text = "untouched";
        map.each_touched([&](int touched, const std::string* before, const std::string* now) {
            if (touched != key) return;
            const std::string* end = map.find_erased(key);
            text = (before ? *before : "-") + " > " + (now ? *now : end ? *end : before ? *before : "-");
        });
        return text;
    };
    map.mark();
    map.erase(1);
    EXPECT_EQ(told(1), "one > one");
    map.edit(2) = "second";
    const std::size_t inner = map.mark();
    map.edit(2) = "lost";
    map.rollback(inner);  // one request of the batch was refused
    map.erase(2);
    EXPECT_EQ(told(2), "two > second");
    map.rollback(0);
    EXPECT_EQ(map.get(1), "one");
    EXPECT_EQ(map.get(2), "two");
    map.forget();
    map.erase(1);
    map.insert(1, "again");
    EXPECT_EQ(told(1), "one > again");
    map.rollback(0);
    EXPECT_EQ(map.get(1), "one");
}

}  // namespace
}  // namespace tandem::core

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "model/batch.h"
#include "model/feed.h"
#include "model/verdict.h"

namespace tandem::model {
namespace {

TEST(kind, object_alternatives_stand_in_order_of_kind) {
    for (const KindInfo& info : kind_table) {
        EXPECT_EQ(kind_of(make_object(info.kind)), info.kind);
        EXPECT_EQ(find_kind_by_plural(info.plural), info.kind);
        EXPECT_EQ(find_kind_by_word(name_of(info.kind)), info.kind);
    }
}

TEST(phase, terminal_is_final) {
    for (int from = 0; from < 9; ++from)
        for (int to = 0; to < 9; ++to)
            if (is_terminal(static_cast<Phase>(from)) && from != to)
                EXPECT_FALSE(may_move(static_cast<Phase>(from), static_cast<Phase>(to)));
}

TEST(phase, running_ends_only_through_stopping) {
    EXPECT_TRUE(may_move(Phase::running, Phase::stopping));
    for (Phase end : {Phase::succeeded, Phase::failed, Phase::cancelled, Phase::pending})
        EXPECT_FALSE(may_move(Phase::running, end));
}

TEST(task_name, text_round_trips_and_only_canonical_text_parses) {
    TaskName name{.generation = 3, .uid = Uid{{1, 2, 3}}, .epoch = 2, .rank = 11};
    EXPECT_EQ(TaskName::parse(name.text()), name);
    EXPECT_FALSE(TaskName::parse(name.text() + "x"));
    EXPECT_FALSE(TaskName::parse("g03-" + name.uid.text() + "-e2-r11"));
    EXPECT_FALSE(TaskName::parse("../../etc"));
}

TEST(name, rules_are_named_in_the_error) {
    EXPECT_TRUE(check_name("train-1.v2", "metadata.name"));
    for (const char* bad : {"", "a/b", "A", "-a", "a-", "a b"}) {
        const Status status = check_name(bad, "metadata.name");
        ASSERT_FALSE(status) << bad;
        EXPECT_EQ(status.error().field, "metadata.name");
    }
    EXPECT_FALSE(check_name(std::string(300, 'a'), "metadata.name"));
}

}  // namespace
}  // namespace tandem::model

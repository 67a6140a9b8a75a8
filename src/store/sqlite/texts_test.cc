// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/texts.h"

#include <gtest/gtest.h>

#include "store/sqlite/test_fixture.h"

namespace tandem::store::sqlite {
namespace {

TEST(places, list_is_read_back_as_it_was) {
    const std::vector<PlacedText> list{{1, 9}, {2, 3}, {(std::int64_t{11} << 56) | 7, INT64_MAX / 2}, {(std::int64_t{13} << 56), 1}};
    const auto read = unpack_places(pack_places(list));
    ASSERT_TRUE(read.has_value());
    ASSERT_EQ(read->size(), list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        EXPECT_EQ((*read)[i].place, list[i].place);
        EXPECT_EQ((*read)[i].version, list[i].version);
    }
    EXPECT_TRUE(unpack_places("")->empty());
}

TEST(places, cut_or_endless_numbers_are_refused) {
    EXPECT_FALSE(unpack_places("\x81").has_value());
    EXPECT_FALSE(unpack_places("\x01").has_value());
    EXPECT_FALSE(unpack_places(std::string(30, '\xff')).has_value());
}

class TextsTest : public SqliteFixture {
  protected:
    // Versions that have a row, as "1 4 5".
    std::string kept() {
        auto connection = Connection::open(path(), OpenMode::read_only);
        auto rows = connection->prepare("SELECT version FROM changes ORDER BY version");
        std::string text;
        while (*rows->step()) text += (text.empty() ? "" : " ") + std::to_string(rows->integer(0));
        return text;
    }
    void change(std::size_t job) {
        writer_.change(jobs_[job], model::ChangeType::modified);
        ASSERT_EQ(commit(), core::CommitOutcome::committed);
    }
    void open_segment() {
        writer_.meta.segment += 1;
        ASSERT_TRUE(store_->open_segment(writer_.meta, "test", nullptr).has_value());
    }
    // A day later nothing of before is kept for watchers.
    void wait_a_day() {
        writer_.now = writer_.now + hours(25);
        ASSERT_EQ(commit(), core::CommitOutcome::committed);
    }
    std::vector<std::string> object_lines() {
        std::vector<std::string> lines;
        const Status read = store_->reader().export_history([&](std::string_view line) {
            if (line.starts_with("{\"object\"")) lines.emplace_back(line);
            return true;
        });
        EXPECT_TRUE(read.has_value()) << read.error().message;
        return lines;
    }
};

TEST_F(TextsTest, superseded_change_goes_when_no_watcher_may_ask_for_it) {
    commit_jobs(2);  // 1 2
    change(0);       // 3
    change(0);       // 4
    EXPECT_EQ(kept(), "1 2 3 4");
    wait_a_day();
    EXPECT_EQ(kept(), "2 4");
    change(1);  // 5
    writer_.change(jobs_[0], model::ChangeType::deleted);
    ASSERT_EQ(commit(), core::CommitOutcome::committed);
    EXPECT_EQ(kept(), "2 4 5 6");
    wait_a_day();
    EXPECT_EQ(kept(), "5");
    const auto state = store_->recover();
    ASSERT_TRUE(state.has_value());
    ASSERT_EQ(state->objects.size(), 1u);
    EXPECT_EQ(model::meta_of(state->objects[0]).version, 5);
}

TEST_F(TextsTest, segment_keeps_the_texts_of_its_start) {
    commit_jobs(2);  // 1 2
    open_segment();
    change(0);  // 3
    change(0);  // 4
    wait_a_day();
    EXPECT_EQ(kept(), "1 2 4") << "3 came and went after the segment had opened";
    const std::vector<std::string> lines = object_lines();
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_NE(lines[0].find("\"resourceVersion\":1}"), std::string::npos) << lines[0];
    EXPECT_NE(lines[1].find("\"resourceVersion\":2}"), std::string::npos) << lines[1];
}

TEST_F(TextsTest, texts_of_a_dropped_segment_go_with_it) {
    store_ = nullptr;
    open({.segment_bytes_max = 1});  // the newest and no other
    commit_jobs(2);                  // 1 2
    open_segment();
    change(0);  // 3
    wait_a_day();
    EXPECT_EQ(kept(), "1 2 3");
    open_segment();
    EXPECT_EQ(kept(), "2 3");
    change(1);  // 4: 2 is still told to watchers
    open_segment();
    EXPECT_EQ(kept(), "2 3 4");
    wait_a_day();
    EXPECT_EQ(kept(), "3 4");
    EXPECT_EQ(object_lines().size(), 2u);
}

TEST_F(TextsTest, segment_tells_the_intervals_of_its_start_and_the_store_is_whole) {
    commit_jobs(1);
    writer_.record.open_intervals_put = {sample_usage(writer_.next_id(), 5, 5, "default"),
                                         sample_usage(writer_.next_id(), 6, 6, "other")};
    ASSERT_EQ(commit(), core::CommitOutcome::committed);
    open_segment();
    std::vector<std::string> lines;
    ASSERT_TRUE(store_->reader().export_history([&](std::string_view line) {
        if (line.starts_with("{\"interval\"")) lines.emplace_back(line);
        return true;
    }));
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_NE(lines[0].find("\"project\":\"default\""), std::string::npos) << lines[0];
    EXPECT_NE(lines[1].find("\"project\":\"other\""), std::string::npos) << lines[1];
    const Status checked = store_->check_now({});
    EXPECT_TRUE(checked.has_value()) << checked.error().message;
}

TEST_F(TextsTest, objects_stay_readable_when_nothing_is_kept_for_watchers) {
    commit_jobs(3);
    change(1);
    wait_a_day();
    const auto page = store_->reader().list({.kind = model::Kind::job, .scope = everything});
    ASSERT_TRUE(page.has_value()) << page.error().message;
    EXPECT_EQ(page->items.size(), 3u);
    EXPECT_EQ(store_->reader().changes(0, 10).error().code, ErrorCode::gone);
    const auto found = store_->reader().find(model::key_of(model::Object(jobs_[1])));
    ASSERT_TRUE(found.has_value() && found->has_value());
    EXPECT_EQ((*found)->version, 4);
}

}  // namespace
}  // namespace tandem::store::sqlite

// SPDX-License-Identifier: Apache-2.0
// What every store must do with batches: keep all or nothing of each, give it back at the next
// start.
#include <gtest/gtest.h>

#include <algorithm>

#include "codec/manifest.h"
#include "codec/record.h"
#include "store/contract/test_beds.h"
#include "store/contract/test_samples.h"

namespace tandem::store {
namespace {

using core::CommitOutcome;
using model::ChangeType;

class CommitContract : public testing::TestWithParam<std::string> {
  protected:
    std::unique_ptr<Bed> bed = make_bed(GetParam());
    Writer writer;
    std::vector<model::Job> jobs = [] {
        std::vector<model::Job> none;
        none.reserve(4096);
        return none;
    }();

    CommitOutcome commit() { return bed->store().commit(writer.take()); }
    core::RecoveredState recovered() {
        bed->reopen();
        auto state = bed->store().recover();
        EXPECT_TRUE(state.has_value()) << (state ? "" : state.error().message);
        return state ? *std::move(state) : core::RecoveredState{};
    }
};

// Everything that is stored, as text: equal texts, equal rows.
std::vector<std::string> texts_of(const core::RecoveredState& state) {
    std::vector<std::string> texts{codec::encode(state.meta)};
    for (const auto& object : state.objects)
        texts.push_back(std::to_string(meta_of(object).id.value) + codec::render_object(object) +
                        codec::render_internal(object));
    texts.push_back(codec::encode(state.open_intents));
    texts.push_back(codec::encode(state.open_intervals));
    texts.push_back(codec::encode(state.cursors));
    texts.push_back(codec::encode(state.idempotency));
    return texts;
}

TEST_P(CommitContract, new_store_starts_with_nothing) {
    const core::RecoveredState state = recovered();
    EXPECT_EQ(state.meta, model::CoreMeta{});
    EXPECT_TRUE(state.objects.empty());
}

TEST_P(CommitContract, committed_rows_come_back_after_a_restart) {
    model::Job& job = writer.add(jobs, sample_job("train", "vision", {{"team", "blue"}}));
    std::vector<model::ApiKey> keys;
    model::ApiKey key;
    key.meta.name = "k1";
    key.spec = {.subject = "user:a", .key_id = "abcdefghijkl", .digest = std::string(64, 'd')};
    writer.add(keys, key);
    std::vector<model::Replica> replicas;
    model::Replica replica;
    replica.meta.name = "train-worker-0";
    replica.meta.project = "vision";
    replica.meta.name_space = "default";
    replica.spec.owner_id = job.meta.id;
    replica.spec.owner_uid = job.meta.uid;
    replica.spec.owner_name = "train";
    replica.status.epoch = 2;
    writer.add(replicas, replica);
    const model::TaskName task{.generation = 1, .uid = job.meta.uid, .epoch = 2, .rank = 0};
    writer.record.intents_opened = {
        {.id = writer.next_id(),
         .body = model::StartTask{.task = task, .node = "n1", .command = {"a", "b"}},
         .opened = writer.now},
        {.id = writer.next_id(),
         .body = model::StopTask{.task = task, .node = "n1"},
         .opened = writer.now}};
    writer.record.open_intervals_put = {
        sample_usage(writer.next_id(), 5, 5, "vision", job.meta.uid)};
    writer.record.cursors = {{.gateway = "gw1", .epoch = 4, .sequence = 17}};
    writer.record.idempotency = {
        {.subject = "user:a",
         .key = "k\n1",
         .body_digest = "d",
         .outcomes = {{.key = key_of(model::Object(job)), .uid = job.meta.uid, .created = true}},
         .at = writer.now}};
    writer.meta.audit_head = "abc";
    writer.meta.epoch_base = 9;
    const model::BatchRecord record = writer.take();
    ASSERT_EQ(bed->store().commit(record), CommitOutcome::committed);

    core::RecoveredState want{.meta = record.meta,
                              .open_intents = record.intents_opened,
                              .open_intervals = record.open_intervals_put,
                              .cursors = record.cursors,
                              .idempotency = record.idempotency};
    for (const model::Change& change : record.changes) want.objects.push_back(change.object);
    const core::RecoveredState have = recovered();
    EXPECT_EQ(have.meta, record.meta);
    auto want_texts = texts_of(want);
    auto have_texts = texts_of(have);
    std::ranges::sort(want_texts);
    std::ranges::sort(have_texts);
    EXPECT_EQ(have_texts, want_texts);
    bool digest_kept = false;
    for (const model::Object& object : have.objects)
        if (const auto* stored = std::get_if<model::ApiKey>(&object))
            digest_kept = stored->spec.digest == key.spec.digest;
    EXPECT_TRUE(digest_kept);
}

TEST_P(CommitContract, every_kind_of_object_comes_back) {
    for (const model::KindInfo& info : model::kind_table) {
        model::Object object = make_object(info.kind);
        model::Meta& meta = meta_of(object);
        meta = {.id = writer.next_id(),
                .uid = Uid{{9, static_cast<std::uint8_t>(info.kind)}},
                .name = "thing",
                .generation = 3,
                .version = ++writer.meta.version,
                .created = Instant{77}};
        if (info.scope != model::Scope::cluster) meta.project = "vision";
        if (info.scope == model::Scope::name_space) meta.name_space = "default";
        writer.record.changes.push_back(
            {.version = meta.version, .type = ChangeType::added, .object = object});
    }
    const model::BatchRecord record = writer.take();
    ASSERT_EQ(bed->store().commit(record), CommitOutcome::committed);
    const core::RecoveredState state = recovered();
    ASSERT_EQ(state.objects.size(), model::kind_count);
    for (const model::Change& change : record.changes) {
        const auto found =
            std::ranges::find(state.objects, key_of(change.object),
                              [](const model::Object& object) { return key_of(object); });
        ASSERT_NE(found, state.objects.end());
        EXPECT_EQ(meta_of(*found), meta_of(change.object));
        EXPECT_EQ(codec::render_object(*found), codec::render_object(change.object));
    }
}

TEST_P(CommitContract, changed_and_deleted_objects_are_so_after_a_restart) {
    writer.add(jobs, sample_job("a"));
    writer.add(jobs, sample_job("b"));
    ASSERT_EQ(commit(), CommitOutcome::committed);
    jobs[0].status.phase = model::Phase::running;
    writer.change(jobs[0], ChangeType::modified);
    writer.change(jobs[1], ChangeType::deleted);
    ASSERT_EQ(commit(), CommitOutcome::committed);
    const core::RecoveredState state = recovered();
    ASSERT_EQ(state.objects.size(), 1u);
    EXPECT_EQ(std::get<model::Job>(state.objects[0]).status.phase, model::Phase::running);
    EXPECT_EQ(meta_of(state.objects[0]).version, jobs[0].meta.version);
}

TEST_P(CommitContract, name_freed_in_a_batch_may_be_taken_in_it) {
    writer.add(jobs, sample_job("a"));
    ASSERT_EQ(commit(), CommitOutcome::committed);
    writer.add(jobs, sample_job("a"));
    writer.change(jobs[0], ChangeType::deleted);
    ASSERT_EQ(commit(), CommitOutcome::committed);
    const core::RecoveredState state = recovered();
    ASSERT_EQ(state.objects.size(), 1u);
    EXPECT_EQ(meta_of(state.objects[0]).uid, jobs[1].meta.uid);
}

TEST_P(CommitContract, closed_intents_and_intervals_are_gone_and_usage_is_kept) {
    const model::TaskName task{.generation = 1, .uid = Uid{{1}}, .epoch = 1};
    const RowId intent = writer.next_id();
    const RowId interval = writer.next_id();
    writer.record.intents_opened = {
        {.id = intent, .body = model::StopTask{.task = task}, .opened = writer.now}};
    writer.record.open_intervals_put = {sample_usage(interval, 5, 5, "vision")};
    ASSERT_EQ(commit(), CommitOutcome::committed);
    writer.record.open_intervals_put = {
        sample_usage(interval, 5, 8, "vision")};  // put again under its id
    ASSERT_EQ(commit(), CommitOutcome::committed);
    ASSERT_EQ(recovered().open_intervals.size(), 1u);
    writer.record.intents_closed = {intent};
    writer.record.open_intervals_gone = {interval};
    writer.record.usage = {sample_usage(interval, 5, 9, "vision")};
    ASSERT_EQ(commit(), CommitOutcome::committed);
    const core::RecoveredState state = recovered();
    EXPECT_TRUE(state.open_intents.empty());
    EXPECT_TRUE(state.open_intervals.empty());
    const auto usage = bed->reader().usage({.scope = everything, .to = Instant{100}});
    ASSERT_TRUE(usage.has_value());
    ASSERT_EQ(usage->size(), 1u);
    EXPECT_EQ(codec::encode(usage->front()), codec::encode(sample_usage(interval, 5, 9, "vision")));
}

// A batch that contradicts what is stored is core's error: nothing of it is kept, and the store
// ends.
TEST_P(CommitContract, contradicting_batch_is_fatal_and_leaves_no_trace) {
    using Spoil = void (*)(Writer&, std::vector<model::Job>&);
    const std::pair<const char*, Spoil> spoils[] = {
        {"name taken",
         [](Writer& w, std::vector<model::Job>& kept) { w.add(kept, sample_job("a")); }},
        {"unknown object modified",
         [](Writer& w, std::vector<model::Job>& kept) {
             model::Job other = kept[0];
             other.meta.id = w.next_id();
             w.change(other, ChangeType::modified);
         }},
        {"unknown object deleted",
         [](Writer& w, std::vector<model::Job>& kept) {
             model::Job other = kept[0];
             other.meta.id = w.next_id();
             w.change(other, ChangeType::deleted);
         }},
        {"request counted twice",
         [](Writer& w, std::vector<model::Job>&) {
             w.record.requests = {sample_request(1, w.now)};
         }},
        {"interval booked twice",
         [](Writer& w, std::vector<model::Job>&) {
             w.record.usage = {sample_usage(RowId{500}, 1, 2, "p")};
         }},
        {"version used twice",
         [](Writer& w, std::vector<model::Job>& kept) {
             w.meta.version -= 1;
             w.change(kept[0], ChangeType::modified);
         }},
    };
    for (const auto& [what, spoil] : spoils) {
        bed = make_bed(GetParam());
        writer = {};
        jobs.clear();
        writer.add(jobs, sample_job("a"));
        writer.meta.next_id = 1000;
        writer.record.requests = {sample_request(1, writer.now)};
        writer.record.usage = {sample_usage(RowId{500}, 1, 2, "p")};
        ASSERT_EQ(commit(), CommitOutcome::committed) << what;
        const auto before = texts_of(recovered());
        writer.add(jobs, sample_job("innocent"));
        spoil(writer, jobs);
        EXPECT_EQ(commit(), CommitOutcome::fatal) << what;
        EXPECT_EQ(commit(), CommitOutcome::fatal) << what << ": an ended store went on";
        EXPECT_EQ(texts_of(recovered()), before) << what;
    }
}

TEST_P(CommitContract, full_store_keeps_nothing_of_the_batch_reads_on_and_still_opens) {
    bed = make_bed(GetParam(), {.small_disk = true});
    CommitOutcome outcome = CommitOutcome::committed;
    std::int64_t kept = 0;
    while (outcome == CommitOutcome::committed && kept < 2000) {
        for (int i = 0; i < 10; ++i)
            writer.add(jobs, sample_job("j" + std::to_string(jobs.size())));
        outcome = commit();
        if (outcome == CommitOutcome::committed) kept += 10;
    }
    ASSERT_EQ(outcome, CommitOutcome::full);
    EXPECT_GT(kept, 0);
    const auto page =
        bed->reader().list({.kind = model::Kind::job, .scope = everything, .limit = 1});
    ASSERT_TRUE(page.has_value());
    EXPECT_EQ(page->remaining + 1, kept);
    EXPECT_EQ(std::ssize(recovered().objects), kept);
}

TEST_P(CommitContract, old_idempotency_rows_are_let_go) {
    writer.record.idempotency = {{.subject = "u", .key = "old", .at = writer.now}};
    ASSERT_EQ(commit(), CommitOutcome::committed);
    writer.now.ms += hours(25).ms;
    writer.record.idempotency = {{.subject = "u", .key = "new", .at = writer.now}};
    ASSERT_EQ(commit(), CommitOutcome::committed);
    const core::RecoveredState state = recovered();
    ASSERT_EQ(state.idempotency.size(), 1u);
    EXPECT_EQ(state.idempotency[0].key, "new");
}

TEST_P(CommitContract, idempotency_key_used_again_after_its_day_has_its_newer_answer) {
    for (const char* digest : {"first", "second"}) {
        writer.record.idempotency = {
            {.subject = "u", .key = "k", .body_digest = digest, .at = writer.now}};
        ASSERT_EQ(commit(), CommitOutcome::committed);
        writer.now.ms += hours(24).ms - 10;
    }
    const core::RecoveredState state = recovered();
    ASSERT_EQ(state.idempotency.size(), 1u);
    EXPECT_EQ(state.idempotency[0].body_digest, "second");
}

TEST_P(CommitContract, segment_number_is_kept_and_history_starts_with_its_state) {
    writer.add(jobs, sample_job("before"));
    ASSERT_EQ(commit(), CommitOutcome::committed);
    writer.meta.segment = 1;
    ASSERT_TRUE(bed->store().open_segment(writer.meta, "0.1.0", nullptr).has_value());
    writer.add(jobs, sample_job("after"));
    writer.record.inputs = {
        model::TimerFired{},
        model::TaskGone{.task = {.generation = 1, .uid = Uid{{4}}}, .detail = "line\nfeed"}};
    ASSERT_EQ(commit(), CommitOutcome::committed);
    EXPECT_EQ(recovered().meta.segment, 1);
    std::vector<std::string> lines;
    ASSERT_TRUE(
        bed->reader()
            .export_history([&](std::string_view line) { return lines.emplace_back(line), true; })
            .has_value());
    ASSERT_EQ(lines.size(), 4u);
    EXPECT_TRUE(lines[0].starts_with(
        R"({"segment":{"number":1,"coreVersion":"0.1.0","changesKeptAfter":1,)"))
        << lines[0];
    EXPECT_TRUE(lines[1].starts_with(R"({"object":{)")) << lines[1];
    EXPECT_NE(lines[1].find("\"before\""), std::string::npos);
    EXPECT_TRUE(
        lines[2].starts_with(R"({"batch":{"sequence":2,"now":"1970-01-01T00:16:40.020Z","seed":")"))
        << lines[2];
    EXPECT_NE(lines[2].find(R"("digest":"fedcba9876543212")"), std::string::npos) << lines[2];
    EXPECT_NE(lines[2].find(R"(line\nfeed)"), std::string::npos) << lines[2];
    EXPECT_TRUE(lines[3].starts_with(
        R"({"change":{"version":2,"type":"added","now":"1970-01-01T00:16:40.020Z","object":{)"))
        << lines[3];
    for (const std::string& line : lines) EXPECT_TRUE(codec::parse_json(line).has_value()) << line;
}

INSTANTIATE_TEST_SUITE_P(stores, CommitContract, testing::Values("memory", "sqlite"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tandem::store

// SPDX-License-Identifier: Apache-2.0
// A SQLite store in a folder of its own, and batches for it. Tests only.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "store/contract/test_beds.h"
#include "store/contract/test_samples.h"
#include "store/sqlite/connection.h"

namespace tandem::store::sqlite {

class SqliteFixture : public testing::Test {
  protected:
    void SetUp() override {
        store_ = nullptr;
        writer_ = {};
        jobs_.clear();
        jobs_.reserve(100'000);
        for (const char* suffix : {"", "-wal", "-shm", ".mark", ".away"}) std::filesystem::remove(path() + suffix);
        open();
    }
    std::string path() const { return folder_ / "store.db"; }
    void open(SqliteOptions options = {}) {
        options.path = path();
        auto opened = SqliteStore::open(std::move(options));
        ASSERT_TRUE(opened.has_value()) << opened.error().message;
        store_ = *std::move(opened);
    }
    // Empty when it could be opened; store_ is then open.
    std::string open_error() {
        store_ = nullptr;
        auto opened = SqliteStore::open({.path = path()});
        if (!opened) return opened.error().message;
        store_ = *std::move(opened);
        return "";
    }
    // Goes on where the store ends.
    void resume() {
        const auto state = store_->recover();
        ASSERT_TRUE(state.has_value());
        writer_ = {};
        writer_.meta = state->meta;
        writer_.now = state->meta.time;
    }
    core::CommitOutcome commit() { return store_->commit(writer_.take()); }
    core::CommitOutcome commit_jobs(int count) {
        for (int i = 0; i < count; ++i) writer_.add(jobs_, sample_job("j" + std::to_string(writer_.meta.next_id)));
        return commit();
    }
    // All that a person's submission of one job makes durable.
    void add_submission(int number) {
        const model::Job& job = writer_.add(jobs_, sample_job("s" + std::to_string(number)));
        const model::ObjectKey key = key_of(model::Object(job));
        writer_.record.events.push_back({.id = writer_.next_id(), .at = writer_.now, .about = key, .uid = job.meta.uid, .reason = {.code = model::ReasonCode::submitted}});
        writer_.record.audit.push_back({.sequence = ++writer_.meta.audit_sequence, .at = writer_.now, .caller = {.subject = "user:a"}, .action = "jobs.create", .hash = std::string(64, 'h')});
        writer_.record.idempotency.push_back({.subject = "user:a", .key = "key" + std::to_string(number), .body_digest = std::string(64, 'd'), .outcomes = {{.key = key, .uid = job.meta.uid}}, .at = writer_.now});
        model::UsageRecord waiting = sample_usage(writer_.next_id(), writer_.now.ms, writer_.now.ms, "default", job.meta.uid);
        waiting.state = model::LedgerState::queued;
        writer_.record.open_intervals_put.push_back(waiting);
        writer_.record.inputs.push_back(model::Command{.caller = {.subject = "user:a"}, .actions = {model::ApplyObject{.object = job}}});
    }
    std::int64_t total_rows() {
        auto connection = Connection::open(path(), OpenMode::read_only);
        std::int64_t total = 0;
        for (const char* table : {"objects", "changes", "batches", "intents", "open_intervals", "usage", "request_usage", "cursors", "idempotency", "events", "audit", "meta"})
            total += connection->query_integer(std::string("SELECT count(*) FROM ") + table).value_or(1'000'000);
        return total;
    }

    TemporaryFolder folder_{};
    std::unique_ptr<SqliteStore> store_{};
    Writer writer_{};
    std::vector<model::Job> jobs_{};
};

}  // namespace tandem::store::sqlite

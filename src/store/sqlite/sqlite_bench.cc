// SPDX-License-Identifier: Apache-2.0
// Commits per second through the store beside a raw loop of SQLite calls that writes the same rows, as many a
// transaction, on the same file system. Set TMPDIR to choose it. Items are submissions of one job.
#include <benchmark/benchmark.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "codec/manifest.h"
#include "codec/record.h"
#include "store/contract/test_beds.h"
#include "store/contract/test_samples.h"

namespace tandem::store::sqlite {
namespace {

// All that a person's submission of one job makes durable.
void add_submission(Writer& writer, std::vector<model::Job>& jobs, std::int64_t number) {
    jobs.clear();
    const model::Job& job = writer.add(jobs, sample_job("job-" + std::to_string(number)));
    const model::ObjectKey key = key_of(model::Object(job));
    writer.record.events.push_back({.id = writer.next_id(), .at = writer.now, .about = key, .uid = job.meta.uid, .reason = {.code = model::ReasonCode::submitted}});
    writer.record.audit.push_back({.sequence = ++writer.meta.audit_sequence, .at = writer.now, .caller = {.subject = "user:a"}, .action = "jobs.create", .object = "default/default/" + job.meta.name, .rule = "admin", .hash = std::string(64, 'h')});
    writer.record.idempotency.push_back({.subject = "user:a", .key = "key-" + std::to_string(number), .body_digest = std::string(64, 'd'), .outcomes = {{.key = key, .uid = job.meta.uid, .version = job.meta.version, .generation = 1, .created = true, .changed = true}}, .at = writer.now});
    model::UsageRecord waiting = sample_usage(writer.next_id(), writer.now.ms, writer.now.ms, "default", job.meta.uid);
    waiting.state = model::LedgerState::queued;
    writer.record.open_intervals_put.push_back(waiting);
    writer.record.inputs.push_back(model::Command{.caller = {.subject = "user:a", .key_id = "abcdefghijkl", .request_id = "r"}, .actions = {model::ApplyObject{.object = job}}});
}

void commit_submissions(benchmark::State& state) {
    const TemporaryFolder folder;
    auto store = SqliteStore::open({.path = folder / "store.db"});
    if (!store) return state.SkipWithError(store.error().message.c_str());
    Writer writer;
    std::vector<model::Job> jobs;
    std::int64_t number = 0;
    for (auto _ : state) {
        state.PauseTiming();
        for (std::int64_t i = 0; i < state.range(0); ++i) add_submission(writer, jobs, number++);
        const model::BatchRecord record = writer.take();
        state.ResumeTiming();
        if ((*store)->commit(record) != core::CommitOutcome::committed) return state.SkipWithError("not committed");
    }
    state.SetItemsProcessed(number);
    state.counters["us_per_job"] = benchmark::Counter(static_cast<double>(number) / 1e6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(commit_submissions)->Arg(1)->Arg(16)->Arg(100)->Arg(1000)->Iterations(200)->UseRealTime();

// The same rows by plain calls: texts are made before the clock starts.
class RawLoop {
  public:
    explicit RawLoop(const std::string& path) {
        sqlite3_open(path.c_str(), &handle_);
        sqlite3_exec(handle_, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-8192;", nullptr, nullptr, nullptr);
        const char* tables[] = {"objects", "changes", "audit", "events", "idempotency", "intervals", "batches", "meta"};
        for (int i = 0; i < 8; ++i) {
            sqlite3_exec(handle_, (std::string("CREATE TABLE ") + tables[i] + "(id INTEGER PRIMARY KEY, a TEXT, b TEXT, c TEXT)").c_str(), nullptr, nullptr, nullptr);
            sqlite3_prepare_v2(handle_, (std::string("INSERT OR REPLACE INTO ") + tables[i] + " VALUES(?1, ?2, ?3, ?4)").c_str(), -1, &insert_[i], nullptr);
        }
    }
    ~RawLoop() {
        for (sqlite3_stmt* statement : insert_) sqlite3_finalize(statement);
        sqlite3_close(handle_);
    }
    void execute(const char* sql) { sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); }
    void insert(int table, std::int64_t id, const std::string& a, const std::string& b, const std::string& c) {
        sqlite3_stmt* statement = insert_[table];
        sqlite3_bind_int64(statement, 1, id);
        int index = 1;
        for (const std::string* text : {&a, &b, &c}) sqlite3_bind_text(statement, ++index, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
        sqlite3_step(statement);
        sqlite3_reset(statement);
    }

  private:
    sqlite3* handle_ = nullptr;
    sqlite3_stmt* insert_[8] = {};
};

void raw_loop(benchmark::State& state) {
    const TemporaryFolder folder;
    RawLoop raw(folder / "raw.db");
    Writer writer;
    std::vector<model::Job> jobs;
    add_submission(writer, jobs, 0);
    const model::BatchRecord record = writer.take();
    const std::string body = codec::render_object(record.changes[0].object);
    const std::string answer = codec::encode(record.idempotency[0]);
    const std::string input = codec::encode_input(record.inputs[0]);
    const std::string audit(160, 'a');
    const std::string small(20, 's');
    std::string inputs;
    for (std::int64_t i = 0; i < state.range(0); ++i) inputs += input;
    std::int64_t id = 0;
    for (auto _ : state) {
        raw.execute("BEGIN IMMEDIATE");
        for (std::int64_t i = 0; i < state.range(0); ++i) {
            ++id;
            raw.insert(0, id, small, body, small);
            raw.insert(1, id, small, body, small);
            raw.insert(2, id, audit, small, small);
            raw.insert(3, id, small, small, small);
            raw.insert(4, id, small, answer, small);
            raw.insert(5, id, small, audit, small);
        }
        raw.insert(6, id, small, inputs, small);
        raw.insert(7, 1, small, small, small);
        raw.execute("COMMIT");
    }
    state.SetItemsProcessed(id);
}
BENCHMARK(raw_loop)->Arg(1)->Arg(16)->Arg(100)->Arg(1000)->Iterations(200)->UseRealTime();

void recover_objects(benchmark::State& state) {
    const TemporaryFolder folder;
    auto store = SqliteStore::open({.path = folder / "store.db"});
    Writer writer;
    std::vector<model::Job> jobs;
    for (std::int64_t number = 0; number < state.range(0);) {
        for (int i = 0; i < 1000; ++i) add_submission(writer, jobs, number++);
        (void)(*store)->commit(writer.take());
    }
    for (auto _ : state) benchmark::DoNotOptimize((*store)->recover());
    state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(recover_objects)->Arg(10'000)->Unit(benchmark::kMillisecond)->Iterations(3);

void open_segment(benchmark::State& state) {
    const TemporaryFolder folder;
    auto store = SqliteStore::open({.path = folder / "store.db"});
    Writer writer;
    std::vector<model::Job> jobs;
    for (std::int64_t number = 0; number < state.range(0);) {
        for (int i = 0; i < 1000; ++i) add_submission(writer, jobs, number++);
        (void)(*store)->commit(writer.take());
    }
    for (auto _ : state) {
        ++writer.meta.segment;
        if (!(*store)->open_segment(writer.meta, "bench")) return state.SkipWithError("no segment");
    }
}
BENCHMARK(open_segment)->Arg(10'000)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace tandem::store::sqlite

// SPDX-License-Identifier: Apache-2.0
// Commits per second through the store beside a raw loop of SQLite calls that writes the same rows,
// as many a transaction, on the same file system. Set TMPDIR to choose it. Items are submissions of
// one job.
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
    writer.record.events.push_back({.id = writer.next_id(),
                                    .at = writer.now,
                                    .about = key,
                                    .uid = job.meta.uid,
                                    .reason = {.code = model::ReasonCode::submitted}});
    writer.record.audit.push_back({.sequence = ++writer.meta.audit_sequence,
                                   .at = writer.now,
                                   .caller = {.subject = "user:a"},
                                   .action = "jobs.create",
                                   .object = "default/default/" + job.meta.name,
                                   .rule = "admin",
                                   .hash = std::string(64, 'h')});
    writer.record.idempotency.push_back({.subject = "user:a",
                                         .key = "key-" + std::to_string(number),
                                         .body_digest = std::string(64, 'd'),
                                         .outcomes = {{.key = key,
                                                       .uid = job.meta.uid,
                                                       .version = job.meta.version,
                                                       .generation = 1,
                                                       .created = true,
                                                       .changed = true}},
                                         .at = writer.now});
    model::UsageRecord waiting =
        sample_usage(writer.next_id(), writer.now.ms, writer.now.ms, "default", job.meta.uid);
    waiting.state = model::LedgerState::queued;
    writer.record.open_intervals_put.push_back(waiting);
    writer.record.inputs.push_back(
        model::Command{.caller = {.subject = "user:a", .key_id = "abcdefghijkl", .request_id = "r"},
                       .actions = {model::ApplyObject{.object = job}}});
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
        if ((*store)->commit(record) != core::CommitOutcome::committed)
            return state.SkipWithError("not committed");
    }
    state.SetItemsProcessed(number);
}
BENCHMARK(commit_submissions)->Arg(1)->Arg(16)->Arg(100)->Arg(1000)->Iterations(200)->UseRealTime();

// Objects alone: the row and its change.
void commit_objects(benchmark::State& state) {
    const TemporaryFolder folder;
    auto store = SqliteStore::open({.path = folder / "store.db"});
    Writer writer;
    std::vector<model::Job> jobs;
    std::int64_t number = 0;
    for (auto _ : state) {
        state.PauseTiming();
        jobs.clear();
        for (std::int64_t i = 0; i < state.range(0); ++i)
            writer.add(jobs, sample_job("job-" + std::to_string(number++)));
        const model::BatchRecord record = writer.take();
        state.ResumeTiming();
        if ((*store)->commit(record) != core::CommitOutcome::committed)
            return state.SkipWithError("not committed");
    }
    state.SetItemsProcessed(number);
}
BENCHMARK(commit_objects)->Arg(100)->Arg(1000)->Iterations(200)->UseRealTime();

// The same rows in the same tables by plain calls: texts are made before the clock starts, nothing
// is checked.
class RawLoop {
  public:
    explicit RawLoop(const std::string& path) {
        {
            const auto schema = SqliteStore::open({.path = path});
        }
        sqlite3_open(path.c_str(), &handle_);
        sqlite3_exec(
            handle_,
            "PRAGMA synchronous=FULL; PRAGMA cache_size=-16384; PRAGMA wal_autocheckpoint=2000;",
            nullptr, nullptr, nullptr);
    }
    ~RawLoop() {
        for (sqlite3_stmt* statement : statements_) sqlite3_finalize(statement);
        sqlite3_close(handle_);
    }
    sqlite3_stmt* prepare(const char* sql) {
        sqlite3_prepare_v2(handle_, sql, -1, &statements_.emplace_back(), nullptr);
        return statements_.back();
    }
    void execute(const char* sql) { sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); }
    void bind(sqlite3_stmt* to, int at, std::int64_t value) { sqlite3_bind_int64(to, at, value); }
    void bind(sqlite3_stmt* to, int at, const std::string& value) {
        sqlite3_bind_text(to, at, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
    }
    void bind(sqlite3_stmt* to, int at, const Uid& value) {
        sqlite3_bind_blob(to, at, value.bytes.data(), 12, SQLITE_STATIC);
    }
    void bind(sqlite3_stmt* to, int at, const Seed& value) {
        sqlite3_bind_blob(to, at, value.data(), 32, SQLITE_STATIC);
    }
    void bind(sqlite3_stmt* to, int at, std::nullptr_t) {
        sqlite3_bind_blob(to, at, "", 0, SQLITE_STATIC);
    }
    template <class... T>
    void insert(sqlite3_stmt* statement, const T&... values) {
        int at = 0;
        (bind(statement, ++at, values), ...);
        sqlite3_step(statement);
        sqlite3_reset(statement);
    }

  private:
    sqlite3* handle_ = nullptr;
    std::vector<sqlite3_stmt*> statements_{};
};

void raw_loop(benchmark::State& state) {
    const TemporaryFolder folder;
    RawLoop raw(folder / "raw.db");
    sqlite3_stmt* object =
        raw.prepare("INSERT INTO objects VALUES(?1,1,?2,?2,?3,?4,?1,1,?5,?2,'',?6,'',?7)");
    sqlite3_stmt* change =
        raw.prepare("INSERT INTO changes VALUES(?1,?2,?2,'added',1,?3,?3,?4,?5,?5,?6)");
    sqlite3_stmt* audit = raw.prepare(
        "INSERT INTO audit VALUES(?1,?1,'user:a','','','jobs.create',?2,1,'admin',1,?3)");
    sqlite3_stmt* event = raw.prepare("INSERT INTO events VALUES(?1,?1,1,?2,?2,?3,?4,?5)");
    sqlite3_stmt* answer = raw.prepare("INSERT INTO idempotency VALUES(?1,'user:a',?2,?1,?3)");
    sqlite3_stmt* interval = raw.prepare(
        "INSERT INTO open_intervals "
        "VALUES(?1,'queued',?1,?1,1000,'n1',2,'cpu-slice',?2,'q',?2,?2,'Job',?3,?4,'train-worker-0'"
        ",3,1)");
    sqlite3_stmt* batch = raw.prepare("INSERT INTO batches VALUES(?1,1,?1,?2,?1,?3)");
    sqlite3_stmt* meta = raw.prepare("UPDATE meta SET batch = ?1, next_id = ?1, version = ?1");
    Writer writer;
    std::vector<model::Job> jobs;
    add_submission(writer, jobs, 0);
    const model::BatchRecord record = writer.take();
    const std::string body = codec::render_object(record.changes[0].object),
                      answered = codec::encode(record.idempotency[0]);
    const std::string input = codec::encode_input(record.inputs[0]),
                      reason = codec::encode(record.events[0].reason);
    const std::string project = "default", phase = "pending", hash(64, 'h');
    std::string inputs;
    for (std::int64_t i = 0; i < state.range(0); ++i) inputs += input;
    std::int64_t id = 0, batches = 0;
    for (auto _ : state) {
        raw.execute("BEGIN IMMEDIATE");
        for (std::int64_t i = 0; i < state.range(0); ++i) {
            ++id;
            const std::string name = "job-" + std::to_string(id);
            const Uid uid{{static_cast<std::uint8_t>(id), static_cast<std::uint8_t>(id >> 8), 7}};
            raw.insert(object, id, project, name, uid, phase, nullptr, body);
            raw.insert(change, id, batches, project, name, nullptr, body);
            raw.insert(audit, id, name, hash);
            raw.insert(event, id, project, name, uid, reason);
            raw.insert(answer, id, name, answered);
            raw.insert(interval, id, project, name, uid);
        }
        raw.insert(batch, ++batches, record.tick.seed, inputs);
        raw.insert(meta, id);
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
        if (!(*store)->open_segment(writer.meta, "bench", nullptr))
            return state.SkipWithError("no segment");
    }
}
BENCHMARK(open_segment)->Arg(10'000)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace tandem::store::sqlite

// SPDX-License-Identifier: Apache-2.0
// Ports: what core needs of the world, and nothing more. Adapters implement them (store/*, executor/*,
// server, sim); the simulator implements faulty ones. base and model types only.
//
// Thread rule: the driver calls Store::recover/commit, Executor::execute, Publisher and Ticks from its one
// thread. StoreReader is called from any thread. Executors report by posting model::Input to the sink they
// were given, from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/batch.h"

namespace tandem::core {

// --- store ----------------------------------------------------------------------------------------------

// Everything that a start needs, read in one transaction.
struct RecoveredState {
    model::CoreMeta meta{};
    std::vector<model::Object> objects{};
    std::vector<model::Intent> open_intents{};
    std::vector<model::UsageRecord> open_intervals{};
    std::vector<model::GatewayCursor> cursors{};
    std::vector<model::IdempotencyRow> idempotency{};  // younger than 24 h
    std::optional<model::LiveMemory> live{};           // of a replay segment that opened in the middle of a life
};

enum class CommitOutcome : std::uint8_t {
    committed,
    full,   // no space, nothing written: roll back, callers get storage_full, the rest is tried again
    busy,   // another program kept the file locked for all of the bounded wait: nothing written, as for full
    fatal,  // I/O error, corruption or unknown outcome: the process must end without answering anybody
};

class Store {
  public:
    virtual ~Store() = default;
    virtual Result<RecoveredState> recover() = 0;
    // Opens a replay segment: keeps the state rows of this moment as its start, in one transaction. Called after
    // recover(), then with `live` null; and between two commits when segment_is_full(), with what core knows without
    // rows. On an error the segment of before goes on.
    virtual Status open_segment(const model::CoreMeta& meta, std::string_view core_version, const model::LiveMemory* live) = 0;
    // The newest segment has grown to its limit.
    virtual bool segment_is_full() const = 0;
    // One transaction. record.audit[i].hash is already chained.
    virtual CommitOutcome commit(const model::BatchRecord& record) = 0;
};

// --- reads, for the API -----------------------------------------------------------------------------------

struct ObjectText {
    std::int64_t version = 0;
    std::string json{};  // the object as the API shows it
};
// Both scopes are mandatory: empty projects means "no project at all", all_projects lifts it.
struct ReadScope {
    bool all_projects = false;
    std::vector<std::string> projects{};
};
struct ListQuery {
    model::Kind kind = model::Kind::job;
    ReadScope scope{};
    std::string project{};          // narrows; empty: all in scope
    std::string name_space{};
    std::string label_selector{};   // "a=b,c!=d,e", parsed by the store's reader
    std::string field_selector{};   // "status.phase=running,metadata.name=x,spec.queue=q"
    std::int64_t limit = 500;       // 1..500
    std::string continue_token{};   // from the page before
};
struct ListPage {
    std::int64_t version = 0;       // read in the same transaction
    std::vector<ObjectText> items{};
    std::string continue_token{};   // empty: the end
    std::int64_t remaining = 0;
};
struct ChangeText {
    std::int64_t version = 0;
    model::ChangeType type = model::ChangeType::modified;
    model::Kind kind = model::Kind::job;
    std::string project{};
    std::string name_space{};
    std::string name{};
    std::string json{};
    model::Labels labels{};
    model::Labels old_labels{};
};
struct UsageQuery {
    ReadScope scope{};
    Instant from{};
    Instant to{};
    std::string project{};
    Uid owner{};                    // all of them when zero
};

inline constexpr std::int64_t newest_rows = -1;

class StoreReader {
  public:
    virtual ~StoreReader() = default;
    virtual Result<std::optional<ObjectText>> find(const model::ObjectKey& key) = 0;
    virtual Result<ListPage> list(const ListQuery& query) = 0;
    // Changes with version in (after, up_to], oldest first, at most limit; ErrorCode::gone when no longer kept.
    virtual Result<std::vector<ChangeText>> changes(std::int64_t after, std::int64_t limit) = 0;
    virtual Result<std::vector<model::UsageRecord>> usage(const UsageQuery& query) = 0;  // closed, then open ones
    virtual Result<std::vector<model::RequestUsage>> requests(const UsageQuery& query) = 0;
    // Newest first.
    virtual Result<std::vector<model::EventRecord>> events(const ReadScope& scope, const Uid& about,
                                                           std::int64_t limit) = 0;
    // Oldest first: those after a sequence number, or (newest_rows) the last ones there are.
    virtual Result<std::vector<model::AuditRecord>> audit(std::int64_t after, std::int64_t limit) = 0;
    // All rows as of one commit, for whoever plays on from there on a copy (whatif). A pass over
    // the whole store: for threads that nobody waits for. The writer goes on meanwhile.
    virtual Result<RecoveredState> rows() = 0;
    // One NDJSON line at a time: segments, state rows, log rows, change rows. For export-history.
    virtual Status export_history(const std::function<bool(std::string_view line)>& sink) = 0;
};

// --- executor -------------------------------------------------------------------------------------------

using InputSink = std::function<void(model::Input)>;

class Executor {
  public:
    virtual ~Executor() = default;
    // Starts doing it; must not block on the world. At least once, by name: starting a task that exists and
    // matches is success, stopping one that is gone reports TaskGone or its recorded exit again.
    virtual void execute(const model::Intent& intent) = 0;
    // The intent was closed or overtaken; stop trying.
    virtual void forget(RowId intent) = 0;
    // The end of this task is stored: it need not be told again, and what was kept to tell it may go.
    virtual void settle(const model::TaskName& task) = 0;
};

// --- publishing, answers, time ----------------------------------------------------------------------------

class State;

class Publisher {
  public:
    virtual ~Publisher() = default;
    // After the commit, before any answer: readers see what callers are told.
    virtual void publish(const model::BatchRecord& record, const State& state) = 0;
    virtual void answer(const model::Answer& answer) = 0;
    virtual void grant(std::int64_t ticket, const std::vector<model::LeaseGrant>& grants) = 0;
    // Usage up to this sequence is booked.
    virtual void acknowledge(std::int64_t ticket, std::int64_t sequence) = 0;
};

// Chain of audit rows; crypto is the server's.
class AuditHasher {
  public:
    virtual ~AuditHasher() = default;
    virtual std::string hash(std::string_view previous, const model::AuditRecord& record) = 0;
};

}  // namespace tandem::core

// SPDX-License-Identifier: Apache-2.0
// BatchRecord: all that one batch of core makes durable, in one transaction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/command.h"
#include "model/input.h"
#include "model/intent.h"
#include "model/live_memory.h"
#include "model/object.h"
#include "model/usage.h"

namespace tandem::model {

enum class ChangeType : std::uint8_t { added, modified, deleted };
template <>
struct EnumNames<ChangeType> {
    static constexpr std::string_view values[] = {"added", "modified", "deleted"};
};

// At most one change an object and batch; version is global and grows by one a change. old_labels lets a
// watch with a selector see an object leave its selection.
struct Change {
    std::int64_t version = 0;
    ChangeType type = ChangeType::modified;
    Object object{};
    Labels old_labels{};
};

// A thing that happened to an object, for people ("tandem events").
struct EventRecord {
    RowId id{};
    Instant at{};
    ObjectKey about{};
    Uid uid{};
    Reason reason{};
};

// hash = SHA-256(previous hash, canonical JSON of the row without hash), filled by the store's side of the
// commit through the AuditHasher port; chained from the first row.
struct AuditRecord {
    std::int64_t sequence = 0;
    Instant at{};
    Caller caller{};
    std::string action{};    // "jobs.create"
    std::string object{};    // "default/default/train"
    bool allowed = true;
    std::string rule{};      // binding that allowed it, or what was missing
    std::int64_t count = 1;  // rate-capped denials
    std::string hash{};
};

// Counters that must survive, one row.
struct CoreMeta {
    std::int64_t generation = 1;     // of the installation; a restore raises it
    std::int64_t segment = 0;
    std::int64_t batch = 0;
    std::int64_t next_id = 1;
    std::int64_t version = 0;        // last resourceVersion
    std::int64_t audit_sequence = 0;
    std::string audit_head{};
    Instant time{};                  // high-water mark
    std::int64_t epoch_base = 0;     // every start takes an epoch above it; a restore raises it
    bool restored = false;           // a restore came since the last batch: tasks of older generations are
                                     // unknown until somebody decides; core's first batch clears it
    bool operator==(const CoreMeta&) const = default;
};

// Last row of a gateway's journal that was booked, per journal epoch.
struct GatewayCursor {
    std::string gateway{};
    std::int64_t epoch = 0;
    std::int64_t sequence = 0;
    bool operator==(const GatewayCursor&) const = default;
};

struct BatchRecord {
    CoreMeta meta{};
    Tick tick{};
    std::vector<Input> inputs{};
    std::uint64_t digest = 0;        // of the state after the batch
    std::vector<Change> changes{};
    std::vector<Intent> intents_opened{};
    std::vector<RowId> intents_closed{};
    std::vector<EventRecord> events{};
    std::vector<AuditRecord> audit{};
    std::vector<UsageRecord> usage{};
    std::vector<RequestUsage> requests{};
    std::vector<GatewayCursor> cursors{};
    std::vector<IdempotencyRow> idempotency{};
    // changes[i].object as the API shows it, once codec::change_text has rendered it (store, answers and watchers
    // share it). Empty until then; filled by the driver's thread only.
    mutable std::vector<std::string> change_texts{};
    std::vector<UsageRecord> open_intervals_put{};  // by id; closed ones leave and appear in usage
    std::vector<RowId> open_intervals_gone{};
};

}  // namespace tandem::model

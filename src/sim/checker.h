// SPDX-License-Identifier: Apache-2.0
// Checker: the rules that hold after every batch (docs/INVARIANTS.md A to D and the ledger's), judged from rows and
// history by code that shares nothing with what it checks.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/state.h"
#include "store/memory/memory_store.h"

namespace tandem::sim {

class Checker {
  public:
    // Empty, or the first broken rule.
    std::string after_batch(const model::BatchRecord& record, const core::State& state, const store::MemoryRows& rows);
    // At the end of a healed run: device time adds up over the whole run.
    std::string ledger_adds_up(const store::MemoryRows& rows, Instant now) const;

  private:
    std::string check_job(const model::Job& job, const core::State& state);
    std::string check_devices(const core::State& state) const;
    struct Seen {
        std::int64_t epoch = 0;
        std::int64_t failures = 0;
        std::int64_t version = 0;
    };
    std::map<Uid, Seen> seen_;
};

}  // namespace tandem::sim

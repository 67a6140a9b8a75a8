// SPDX-License-Identifier: Apache-2.0
// Driver: the one loop around core, over ports; the server and the simulator both run it.
//
//   recover -> { drain -> step each -> plan -> commit -> publish -> answer -> execute } *
//
// When the store says that its replay segment is full, the next one opens between two batches.
// One batch is in flight; the caller (server: its core thread) collects the next meanwhile. Single-threaded.
// After `fatal` nothing was answered and the process must end.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ports.h"
#include "core/state.h"

namespace tandem::core {

enum class BatchResult : std::uint8_t {
    committed,
    full,    // rolled back; callers were told storage_full, other inputs are in `retry` and go first next time
    busy,    // likewise, but callers were told unavailable
    fatal,
};

class Driver {
  public:
    struct Ports {
        Store& store;
        Executor& executor;
        Publisher& publisher;
        AuditHasher& hasher;
    };
    explicit Driver(Ports ports) : ports_(ports) {}

    // Reads the store, rebuilds the state, opens a replay segment, and executes the intents that were open.
    // Until each executor has listed its tasks (TasksListed) nothing is admitted.
    Status start(std::string_view core_version);

    // A bounded batch. `now` of the tick must not lie before state().meta.time.
    BatchResult run(std::vector<model::Input> inputs, const model::Tick& tick);

    // Inputs without a caller from a batch that met a full store; the caller hands them in again, first.
    std::vector<model::Input> take_retry() { return std::exchange(retry_, {}); }

    std::optional<Instant> next_wake() const;
    const State& state() const { return state_; }
    // True: each batch is closed with a digest of the whole state (costs a pass over all rows).
    void set_digests(bool on) { digests_ = on; }

  private:
    void roll_back(const StateMark& mark, std::vector<model::Input> inputs, const Error& told);
    void tell(const model::BatchRecord& record);
    void open_next_segment();
    void execute_overdue(Instant now);

    Ports ports_;
    State state_;
    std::string core_version_;
    std::vector<model::Input> retry_;
    Instant overdue_look_{};  // when open intents are looked through next
    bool digests_ = false;
};

}  // namespace tandem::core

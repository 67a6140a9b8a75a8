// SPDX-License-Identifier: Apache-2.0
// RelayState: where one request stands, and what that allows. PURE.
//
//   waiting ─1─▶ preamble ─2─▶ committed ─3─▶ done
//      │  ▲──4──────┘              └─────5─▶ error
//      └─ any ──6─▶ client_gone;  waiting, preamble ──5─▶ error
//   1 an upstream answered 200   2 first content (or a whole answer) goes to the client   3 complete
//   4 the attempt failed and another may be made   5 no more attempts, or failed after the commit   6 client closed
//
// Before the commit the client has seen nothing: any status can still be answered and another replica tried.
// After it an error can only be told inside the stream.
#pragma once

#include <cstdint>

#include "base/assert.h"

namespace tandem::traffic {

class RelayState {
  public:
    enum class Phase : std::uint8_t { waiting, preamble, committed, done, error, client_gone };

    explicit RelayState(int attempts_max) : attempts_max_(attempts_max) {}

    Phase phase() const { return phase_; }
    int attempts() const { return attempts_; }
    bool over() const { return phase_ >= Phase::done; }
    bool committed() const { return phase_ == Phase::committed; }
    bool may_retry() const { return phase_ <= Phase::preamble && attempts_ < attempts_max_; }

    void attempt() {
        TANDEM_ASSERT(phase_ == Phase::waiting && attempts_ < attempts_max_, "an attempt begins while waiting");
        ++attempts_;
    }
    void answered() {
        TANDEM_ASSERT(phase_ == Phase::waiting, "one answer per attempt");
        phase_ = Phase::preamble;
    }
    void commit() {
        TANDEM_ASSERT(phase_ == Phase::preamble, "content follows an answer");
        phase_ = Phase::committed;
    }
    void complete() {
        TANDEM_ASSERT(phase_ == Phase::committed, "only what was committed completes");
        phase_ = Phase::done;
    }
    void retry() {
        TANDEM_ASSERT(may_retry(), "no further attempt is left");
        phase_ = Phase::waiting;
    }
    void fail() {
        TANDEM_ASSERT(!over(), "over is over");
        phase_ = Phase::error;
    }
    void client_left() {
        TANDEM_ASSERT(!over(), "over is over");
        phase_ = Phase::client_gone;
    }

  private:
    Phase phase_ = Phase::waiting;
    int attempts_ = 0;
    int attempts_max_;
};

}  // namespace tandem::traffic

// SPDX-License-Identifier: Apache-2.0
// Fingerprints of the rows of the planner's primary tables; their sum is the planner's digest, so
// it follows each change at a constant cost and does not depend on the order of changes. Inside of
// sched only.
#pragma once

#include <bit>
#include <cstdint>

#include "sched/decay.h"
#include "sched/facts.h"

namespace tandem::sched {

class Fingerprint {
  public:
    Fingerprint& operator<<(std::uint64_t word) {
        state_ = (std::rotl(state_, 23) ^ word) * 0x9e3779b97f4a7c15ULL;
        return *this;
    }
    Fingerprint& operator<<(std::int64_t word) { return *this << static_cast<std::uint64_t>(word); }
    std::uint64_t value() const { return state_ ^ (state_ >> 29); }

  private:
    std::uint64_t state_ = 0x2545f4914f6cdd1dULL;
};

std::uint64_t fingerprint_of(const Names& names, int name, const NodeFacts& facts);
std::uint64_t fingerprint_of(const Names& names, int name, const PoolFacts& facts);
std::uint64_t fingerprint_of(const Names& names, int name, const QueueFacts& facts);
std::uint64_t fingerprint_of(const Names& names, RowId workload, const OccupantFacts& facts);
std::uint64_t fingerprint_of(const Names& names, RowId id, const BookingFacts& facts);
std::uint64_t fingerprint_of(const Names& names, const Slot& slot);
std::uint64_t fingerprint_of(const Names& names, const Demand& demand);
std::uint64_t fingerprint_of(const Names& names, int queue, int flavor, const Use& use);
std::uint64_t fingerprint_of(const Names& names, int queue, const Bucket& bucket);

}  // namespace tandem::sched

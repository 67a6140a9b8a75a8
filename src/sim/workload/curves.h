// SPDX-License-Identifier: Apache-2.0
// Curves: quantities over virtual time, as exact integrals in at most `buckets_max` buckets of
// equal width. The width begins at one second and doubles (neighbours are added) when time runs
// past the last bucket, so a curve costs the same whether an hour or a year is played. Used by
// Chronicle. Units: a value is what its caller means by it (milli-devices), an integral that times
// milliseconds. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "base/wide.h"

namespace tandem::sim {

inline constexpr std::int64_t buckets_max = 240;

enum class CurveOf : std::uint8_t {
    capacity,    // of a flavor: what pools own
    used,        // of a flavor: what work has of it
    fragmented,  // of a flavor: free, and of no use to what is typical
    queue_used,  // by queue and flavor: what its quota is charged with
    queue_borrowed,
    contested,           // queue_used while somebody of the same parent waits
    contested_borrowed,  // queue_borrowed then
    wanted,              // 1000 while the queue uses something or waits
    waiting,             // jobs, times 1000
};
struct CurveKey {
    CurveOf of = CurveOf::capacity;
    std::string name{};  // flavor or queue
    std::string flavor{};
    auto operator<=>(const CurveKey&) const = default;
};

class Curves {
  public:
    using Values = std::map<CurveKey, std::int64_t>;

    explicit Curves(Instant begin) : begin_(begin), since_(begin) {}

    // These hold from now on; what is not named is 0. Time never goes back.
    void hold(Instant now, Values values);
    void close(Instant now) { accumulate(now); }
    bool all_zero(CurveOf of) const;  // now

    Duration width() const { return width_; }
    Duration length() const { return since_ - begin_; }
    // The mean in each bucket, rounded down; the last may be shorter.
    std::vector<std::int64_t> means(const CurveKey& key) const;
    Wide integral(const CurveKey& key) const;
    std::vector<CurveKey> keys() const;

  private:
    void accumulate(Instant now);
    void widen();

    Instant begin_{};
    Instant since_{};  // up to here all is added
    Duration width_ = seconds(1);
    Values held_{};
    std::map<CurveKey, std::vector<std::int64_t>> cells_{};
};

}  // namespace tandem::sim

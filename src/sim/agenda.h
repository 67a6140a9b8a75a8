// SPDX-License-Identifier: Apache-2.0
// Agenda: what will happen in a simulated world, by virtual time; ties by order of entry. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/time.h"

namespace tandem::sim {

class Agenda {
  public:
    using Happening = std::function<void()>;

    Instant now() const { return now_; }
    void at(Instant when, Happening what) { entries_.emplace(std::pair{std::max(when, now_), next_++}, std::move(what)); }
    void in(Duration delay, Happening what) { at(now_ + delay, std::move(what)); }
    bool empty() const { return entries_.empty(); }
    Instant next_at() const { return entries_.begin()->first.first; }

    // Moves time to the next entry and does it.
    void advance() {
        const auto first = entries_.begin();
        now_ = first->first.first;
        Happening what = std::move(first->second);
        entries_.erase(first);
        what();
    }
    void move_to(Instant when) { now_ = std::max(now_, when); }

  private:
    Instant now_{1'000'000'000'000};
    std::int64_t next_ = 0;
    std::map<std::pair<Instant, std::int64_t>, Happening> entries_;
};

}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
// UsageShipper: carries journal rows to the server, each batch until it is acknowledged, one batch
// at a time and in order. A row keeps its epoch and sequence for ever, so a batch whose answer was
// lost is sent again and the server passes over what it has booked: each row is booked exactly
// once. step() does one round; the thread around it is the link's. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "gateway/usage_journal.h"

namespace tandem::gateway {

class UsageShipper {
  public:
    // Posts the text of a UsageShipped; the sequence up to which the server has booked.
    using Post = std::function<Result<std::int64_t>(std::string body)>;

    UsageShipper(UsageJournal& journal, std::string gateway, Post post)
        : journal_(journal),
          gateway_(std::move(gateway)),
          post_(std::move(post)),
          next_(journal.acknowledged() + 1) {}

    // Ships what is synced, at most one batch. True when there may be more to do at once.
    Result<bool> step();
    bool full() const { return full_; }  // the last batch was as large as one may be: go on at once
    std::int64_t next() const { return next_; }

  private:
    std::string render(const JournalBatch& batch) const;

    UsageJournal& journal_;
    std::string gateway_;
    Post post_;
    std::int64_t next_;
    std::int64_t shift_ = 0;
    bool full_ = false;
};

}  // namespace tandem::gateway

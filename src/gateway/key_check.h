// SPDX-License-Identifier: Apache-2.0
// Who calls: the bearer key of a request against the routes' keys. Every refusal that depends on a
// stored key costs the same work and says the same: unknown, revoked and wrong are one answer.
// Thread rule: check_key is pure.
#pragma once

#include <expected>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "crypto/siphash.h"
#include "gateway/answers.h"
#include "gateway/route_table.h"

namespace tandem::gateway {

// `authorization`: the header's value, empty when there is none. The key lives as long as the
// table.
std::expected<const model::FeedKey*, ApiError> check_key(const RouteTable& table,
                                                         std::string_view authorization,
                                                         Instant now);

// The keys seen lately, so that each of a caller's requests need not be hashed anew. Kept are tags
// under a secret that was drawn for this process (2^-128 that another text has the same), never a
// key; and only for the table they were checked against: a changed one begins from nothing. One
// owner.
class KeyMemo {
  public:
    explicit KeyMemo(const crypto::SipKey& secret);
    // As check_key. `revision`: of the table.
    std::expected<const model::FeedKey*, ApiError> check(const RouteTable& table,
                                                         std::uint64_t revision,
                                                         std::string_view authorization,
                                                         Instant now);

  private:
    static constexpr std::size_t entry_count = 512;
    struct Entry {
        crypto::SipTag tag{};
        std::uint64_t revision = 0;
        const model::FeedKey* key = nullptr;
    };
    Entry& entry_of(const crypto::SipTag& tag);

    crypto::SipKey secret_;
    std::vector<Entry> entries_;
};

}  // namespace tandem::gateway

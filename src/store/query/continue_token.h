// SPDX-License-Identifier: Apache-2.0
// ContinueToken: where a list goes on. Opaque to callers; it belongs to one query, carries the version of
// the list's first page, and is no proof of anything: every page applies its caller's scope anew.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/ports.h"

namespace tandem::store {

struct ContinueToken {
    std::int64_t version = 0;    // of the first page
    std::int64_t last_id = 0;    // row id of the last object that was shown
    std::int64_t remaining = 0;  // after it, as counted for the first page; 0 when not known
    bool operator==(const ContinueToken&) const = default;
};

std::string render_token(const ContinueToken& token, const core::ListQuery& query);
// query.continue_token; invalid when it is damaged or of another query.
Result<ContinueToken> parse_token(const core::ListQuery& query);

}  // namespace tandem::store

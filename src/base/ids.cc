// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

#include <algorithm>

#include "base/hex.h"

namespace tandem {

std::string Uid::text() const {
    return render_hex(bytes);
}

std::optional<Uid> Uid::parse(std::string_view text) {
    Uid uid;
    if (text.size() != uid.bytes.size() * 2) return std::nullopt;
    const auto parsed = parse_hex(text);
    if (!parsed) return std::nullopt;
    std::copy(parsed->begin(), parsed->end(), uid.bytes.begin());
    return uid;
}

}  // namespace tandem

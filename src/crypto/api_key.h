// SPDX-License-Identifier: Apache-2.0
// API keys: td_<id 12>_<secret 43><check 6>. The id is 12 of a-z0-9 and may be shown; the secret is 256
// random bits in base64url; the check is CRC-32 over all before it, big-endian, in base64url, so that a mistyped or cut key is
// known without asking anybody. Only the id and the SHA-256 of the whole text (hex) are ever stored.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace tandem::crypto {

inline constexpr std::size_t api_key_length = 3 + 12 + 1 + 43 + 6;

struct NewApiKey {
    Secret text{};          // shown once to its maker
    std::string key_id{};
    std::string digest{};   // SHA-256 of the text, hex
};
struct ApiKeyProof {
    std::string key_id{};
    std::string digest{};
};

NewApiKey make_api_key();
// What a caller presented: its id and digest, to be compared with the stored one by equal_in_constant_time.
// Error unauthenticated when it is no key at all; the text of the error never carries the key.
Result<ApiKeyProof> parse_api_key(std::string_view text);

}  // namespace tandem::crypto

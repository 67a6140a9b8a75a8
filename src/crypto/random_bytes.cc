// SPDX-License-Identifier: Apache-2.0
#include "crypto/random_bytes.h"

#include <openssl/rand.h>

#include "base/assert.h"
#include "crypto/base64.h"

namespace tandem::crypto {

void fill_random(std::span<std::uint8_t> bytes) {
    TANDEM_ASSERT(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1, "no random bytes");
}

Seed draw_seed() {
    Seed seed;
    fill_random(seed);
    return seed;
}

std::string draw_token() {
    return render_base64url(std::span<const std::uint8_t>(draw_seed()));
}

}  // namespace tandem::crypto

// SPDX-License-Identifier: Apache-2.0
// Digest: a 64-bit non-cryptographic fingerprint (FNV-1a, lengths mixed in) for comparing states and replays.
// Cryptographic digests live in crypto/.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem {

class Digest {
  public:
    void add(std::string_view bytes) {
        add(static_cast<std::int64_t>(bytes.size()));
        for (char c : bytes) mix(static_cast<std::uint8_t>(c));
    }
    void add(std::int64_t number) {
        for (int i = 0; i < 8; ++i) mix(static_cast<std::uint8_t>(static_cast<std::uint64_t>(number) >> (8 * i)));
    }
    std::uint64_t value() const { return state_; }

  private:
    void mix(std::uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
    std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace tandem

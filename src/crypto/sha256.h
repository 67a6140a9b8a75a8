// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104) and HKDF-SHA-256 (RFC 5869), at once or piece by piece.
// The text form of a digest that rows and files carry is "sha256:<64 lower-case hex digits>".
// Thread rule: functions from any thread; a Sha256 has one owner.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace tandem::crypto {

using Sha256Bytes = std::array<std::uint8_t, 32>;

Sha256Bytes sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);

class Sha256 {
  public:
    Sha256();
    void add(std::string_view bytes);
    Sha256Bytes finish();  // once; then only destroyed or assigned to

  private:
    struct Context;
    struct Release {
        void operator()(Context* context) const;
    };
    std::unique_ptr<Context, Release> context_;
};

std::string render_hex(const Sha256Bytes& digest);
std::string render_digest(const Sha256Bytes& digest);  // "sha256:<hex>"
// Takes exactly that form; the error names `field`.
Result<Sha256Bytes> parse_digest(std::string_view text, std::string_view field);

Sha256Bytes hmac_sha256(std::string_view key, std::string_view message);

// `length` bytes, 1..8160, derived from `secret` for the purpose `info`; salt may be empty.
Secret derive_key(const Secret& secret, std::string_view salt, std::string_view info, std::size_t length);

// Takes the same time wherever two texts of one length differ.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace tandem::crypto

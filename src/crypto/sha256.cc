// SPDX-License-Identifier: Apache-2.0
#include "crypto/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>

#include "base/assert.h"
#include "base/hex.h"

namespace tandem::crypto {
namespace {

// Fetched once and kept: a fetch costs more than hashing a key.
const EVP_MD* algorithm() {
    static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    TANDEM_ASSERT(fetched != nullptr, "OpenSSL has no SHA-256");
    return fetched;
}

std::string_view view_of(const Sha256Bytes& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::string_view digest_prefix = "sha256:";
constexpr std::size_t derived_length_max = 255 * sizeof(Sha256Bytes);  // RFC 5869, 2.3

}  // namespace

struct Sha256::Context {
    EVP_MD_CTX* openssl = EVP_MD_CTX_new();
};

void Sha256::Release::operator()(Context* context) const {
    EVP_MD_CTX_free(context->openssl);
    delete context;
}

Sha256::Sha256() : context_(new Context) {
    TANDEM_ASSERT(EVP_DigestInit_ex2(context_->openssl, algorithm(), nullptr) == 1,
                  "starting SHA-256");
}

void Sha256::add(std::string_view bytes) {
    TANDEM_ASSERT(EVP_DigestUpdate(context_->openssl, bytes.data(), bytes.size()) == 1,
                  "adding to a finished SHA-256");
}

Sha256Bytes Sha256::finish() {
    Sha256Bytes digest{};
    TANDEM_ASSERT(EVP_DigestFinal_ex(context_->openssl, digest.data(), nullptr) == 1,
                  "finishing SHA-256 twice");
    return digest;
}

Sha256Bytes sha256(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.finish();
}

std::string sha256_hex(std::string_view bytes) {
    return render_hex(sha256(bytes));
}

std::string render_hex(const Sha256Bytes& digest) {
    return tandem::render_hex(std::span(digest));
}

std::string render_digest(const Sha256Bytes& digest) {
    return std::string(digest_prefix) + render_hex(digest);
}

Result<Sha256Bytes> parse_digest(std::string_view text, std::string_view field) {
    Sha256Bytes digest{};
    if (text.starts_with(digest_prefix) &&
        text.size() == digest_prefix.size() + 2 * digest.size()) {
        if (const auto bytes = parse_hex(text.substr(digest_prefix.size()))) {
            std::ranges::copy(*bytes, digest.begin());
            return digest;
        }
    }
    return invalid_field(std::string(field), "must be \"sha256:\" and 64 lower-case hex digits");
}

Sha256Bytes hmac_sha256(std::string_view key, std::string_view message) {
    Sha256Bytes mac;
    const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
    // OpenSSL takes a null key for "the key of before": an empty key must still point somewhere.
    const void* key_bytes = key.empty() ? "" : key.data();
    TANDEM_ASSERT(HMAC(algorithm(), key_bytes, static_cast<int>(key.size()), bytes, message.size(),
                       mac.data(), nullptr) != nullptr,
                  "computing HMAC-SHA-256");
    return mac;
}

Secret derive_key(const Secret& secret, std::string_view salt, std::string_view info,
                  std::size_t length) {
    TANDEM_ASSERT(length >= 1 && length <= derived_length_max,
                  "length of a derived key must be 1..8160");
    // An absent salt is 32 zero bytes, which HMAC pads an empty key to anyway.
    Sha256Bytes extracted = hmac_sha256(salt, secret.reveal());
    std::string derived;
    derived.reserve(length + sizeof(Sha256Bytes));
    Sha256Bytes block{};
    for (std::uint8_t counter = 1; derived.size() < length; ++counter) {
        std::string message(counter == 1 ? std::string_view() : view_of(block));
        message.append(info);
        message.push_back(static_cast<char>(counter));
        block = hmac_sha256(view_of(extracted), message);
        derived.append(view_of(block));
        OPENSSL_cleanse(message.data(), message.size());
    }
    OPENSSL_cleanse(extracted.data(), extracted.size());
    OPENSSL_cleanse(block.data(), block.size());
    OPENSSL_cleanse(derived.data() + length, derived.size() - length);
    derived.resize(length);
    Secret result(derived);
    OPENSSL_cleanse(derived.data(), derived.size());
    return result;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace tandem::crypto

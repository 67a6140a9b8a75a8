// SPDX-License-Identifier: Apache-2.0
#include "crypto/siphash.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstring>
#include <string>

namespace tandem::crypto {
namespace {

SipTag by_openssl(const SipKey& key, std::string_view text) {
    EVP_MAC* mac = EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
    EVP_MAC_CTX* context = EVP_MAC_CTX_new(mac);
    std::size_t size = 16;
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size),
                                 OSSL_PARAM_construct_end()};
    SipTag tag{};
    EXPECT_EQ(EVP_MAC_init(context, reinterpret_cast<const unsigned char*>(key.data()), 16, params),
              1);
    EVP_MAC_update(context, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    EVP_MAC_final(context, reinterpret_cast<unsigned char*>(tag.data()), &size, sizeof tag);
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(mac);
    return tag;
}

TEST(Siphash, agrees_with_openssl_at_every_length) {
    const SipKey key{0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL};
    std::string text;
    for (int size = 0; size < 200; ++size) {
        EXPECT_EQ(siphash128(key, text), by_openssl(key, text)) << size;
        text.push_back(static_cast<char>(size * 37));
    }
}

TEST(Siphash, other_key_gives_other_tag) {
    EXPECT_NE(siphash128({1, 2}, "text"), siphash128({1, 3}, "text"));
    EXPECT_NE(siphash128({1, 2}, "text"), siphash128({1, 2}, "texs"));
}

}  // namespace
}  // namespace tandem::crypto

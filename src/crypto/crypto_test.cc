// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "base/hex.h"
#include "crypto/api_key.h"
#include "crypto/base64.h"
#include "crypto/crc32.h"
#include "crypto/random_bytes.h"
#include "crypto/sha256.h"

namespace tandem::crypto {
namespace {

std::string bytes_of(std::string_view hex) {
    const auto bytes = parse_hex(hex);
    return bytes ? std::string(bytes->begin(), bytes->end()) : "not hex";
}
std::string hex_of(std::string_view bytes) {
    return tandem::render_hex(
        std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

// FIPS 180-4 examples.
TEST(sha256, known_messages_give_published_digests) {
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(sha256, million_letters_in_pieces_give_published_digest) {
    Sha256 hash;
    const std::string piece(1000, 'a');
    for (int i = 0; i < 1000; ++i) hash.add(piece);
    EXPECT_EQ(render_hex(hash.finish()),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(digest_text, only_canonical_form_parses) {
    const Sha256Bytes digest = sha256("abc");
    const std::string text = render_digest(digest);
    ASSERT_TRUE(parse_digest(text, "digest").has_value());
    EXPECT_EQ(*parse_digest(text, "digest"), digest);
    for (std::string wrong :
         {std::string("sha256:"), text + "0", text.substr(7),
          std::string("sha256:../../etc/passwd"), std::string("SHA256:") + text.substr(7),
          "sha256:" + std::string(64, 'A')}) {
        const auto parsed = parse_digest(wrong, "spec.digest");
        ASSERT_FALSE(parsed.has_value()) << wrong;
        EXPECT_EQ(parsed.error().code, ErrorCode::invalid);
        EXPECT_EQ(parsed.error().field, "spec.digest");
    }
}

// RFC 4231, cases 1, 2, 6.
TEST(hmac, rfc4231_cases_hold) {
    EXPECT_EQ(render_hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(render_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(render_hex(hmac_sha256(std::string(131, '\xaa'),
                                     "Test Using Larger Than Block-Size Key - Hash Key First")),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// RFC 5869, A.1 and A.3.
TEST(hkdf, rfc5869_cases_hold) {
    const Secret secret(std::string(22, '\x0b'));
    EXPECT_EQ(
        hex_of(derive_key(secret, bytes_of("000102030405060708090a0b0c"),
                          bytes_of("f0f1f2f3f4f5f6f7f8f9"), 42)
                   .reveal()),
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
    EXPECT_EQ(
        hex_of(derive_key(secret, "", "", 42).reveal()),
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8");
}

TEST(constant_time_compare, tells_equal_from_different) {
    EXPECT_TRUE(equal_in_constant_time("", ""));
    EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
    EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
    EXPECT_FALSE(equal_in_constant_time("abc", "abcd"));
}

TEST(crc32, check_value_and_pieces_agree) {
    EXPECT_EQ(crc32("123456789"), 0xCBF43926u);
    EXPECT_EQ(crc32("56789", crc32("1234")), 0xCBF43926u);
    EXPECT_EQ(crc32(""), 0u);
}

// RFC 4648, 10, without padding.
TEST(base64url, rfc4648_vectors_round_trip) {
    const std::pair<std::string_view, std::string_view> cases[] = {
        {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},         {"foo", "Zm9v"},
        {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}};
    for (const auto& [bytes, text] : cases) {
        EXPECT_EQ(render_base64url(bytes), text);
        EXPECT_EQ(parse_base64url(text), bytes);
    }
    EXPECT_EQ(render_base64url("\xfb\xff\xfe"), "-__-");
    EXPECT_EQ(parse_base64url("-__-"), "\xfb\xff\xfe");
}

TEST(base64url, other_forms_are_refused) {
    for (std::string_view wrong : {"Zg==", "Zh", "Z", "Zm9v+", "Zm 9", "Zm8\n", "Zm/v"})
        EXPECT_FALSE(parse_base64url(wrong)) << wrong;
}

TEST(random_bytes, differ_each_time) {
    std::set<std::string> seen;
    for (int i = 0; i < 100; ++i) {
        const std::string token = draw_token();
        EXPECT_EQ(token.size(), 43u);
        EXPECT_TRUE(seen.insert(token).second);
    }
    EXPECT_NE(draw_seed(), draw_seed());
}

TEST(api_key, made_key_parses_to_its_own_proof) {
    std::set<std::string> ids;
    for (int i = 0; i < 200; ++i) {
        const NewApiKey key = make_api_key();
        EXPECT_EQ(key.text.reveal().size(), api_key_length);
        EXPECT_TRUE(ids.insert(key.key_id).second);
        const auto proof = parse_api_key(key.text.reveal());
        ASSERT_TRUE(proof.has_value()) << proof.error().message;
        EXPECT_EQ(proof->key_id, key.key_id);
        EXPECT_EQ(proof->digest, key.digest);
        EXPECT_EQ(key.digest, sha256_hex(key.text.reveal()));
    }
}

TEST(api_key, any_changed_or_missing_character_is_refused_without_showing_the_key) {
    const NewApiKey key = make_api_key();
    const std::string text(key.text.reveal());
    const auto refused = [&](const std::string& wrong) {
        const auto proof = parse_api_key(wrong);
        ASSERT_FALSE(proof.has_value()) << "a changed key was taken";
        EXPECT_EQ(proof.error().code, ErrorCode::unauthenticated);
        EXPECT_EQ(proof.error().message.find(text.substr(16, 20)), std::string::npos);
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string wrong = text;
        wrong[i] = wrong[i] == 'x' ? 'y' : 'x';
        refused(wrong);
        refused(text.substr(0, i));
    }
    refused(text + "A");
    refused("");
    refused(std::string(100'000, 'a'));
    refused("sk-" + text.substr(3));
}

}  // namespace
}  // namespace tandem::crypto

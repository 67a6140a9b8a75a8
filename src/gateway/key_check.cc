// SPDX-License-Identifier: Apache-2.0
#include "gateway/key_check.h"

#include "crypto/api_key.h"
#include "crypto/sha256.h"

namespace tandem::gateway {
namespace {

constexpr std::string_view no_digest =
    "0000000000000000000000000000000000000000000000000000000000000000";
constexpr std::string_view scheme = "bearer ";

ApiError expired() {
    return invalid_api_key("This API key has expired.");
}

}  // namespace

KeyMemo::KeyMemo(const crypto::SipKey& secret) : secret_(secret), entries_(entry_count) {}

KeyMemo::Entry& KeyMemo::entry_of(const crypto::SipTag& tag) {
    return entries_[tag[0] % entry_count];
}

std::expected<const model::FeedKey*, ApiError> KeyMemo::check(const RouteTable& table,
                                                              std::uint64_t revision,
                                                              std::string_view authorization,
                                                              Instant now) {
    const auto tag = crypto::siphash128(secret_, authorization);
    Entry& entry = entry_of(tag);
    if (entry.key && entry.revision == revision && entry.tag == tag) {
        if (entry.key->expires && *entry.key->expires <= now) return std::unexpected(expired());
        return entry.key;
    }
    const auto checked = check_key(table, authorization, now);
    if (checked) entry = {.tag = tag, .revision = revision, .key = *checked};
    return checked;
}

std::expected<const model::FeedKey*, ApiError> check_key(const RouteTable& table,
                                                         std::string_view authorization,
                                                         Instant now) {
    if (authorization.empty())
        return std::unexpected(invalid_api_key(
            "No API key was given: send the header `Authorization: Bearer td_...`."));
    if (authorization.size() <= scheme.size() ||
        !relay::equals_ignoring_case(authorization.substr(0, scheme.size()), scheme))
        return std::unexpected(
            invalid_api_key("The Authorization header must be `Bearer td_...`."));
    const auto proof = crypto::parse_api_key(authorization.substr(scheme.size()));
    if (!proof) return std::unexpected(invalid_api_key(proof.error().message + "."));
    const model::FeedKey* key = table.find_key(proof->key_id);
    const bool same = crypto::equal_in_constant_time(
        key ? std::string_view(key->digest) : no_digest, proof->digest);
    if (!key || !same)
        return std::unexpected(invalid_api_key("This API key is not known or was revoked."));
    if (key->expires && *key->expires <= now) return std::unexpected(expired());
    return key;
}

}  // namespace tandem::gateway

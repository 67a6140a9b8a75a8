// SPDX-License-Identifier: Apache-2.0
#include "gateway/key_check.h"

#include <gtest/gtest.h>

#include "crypto/api_key.h"

namespace tandem::gateway {
namespace {

TEST(KeyMemo, known_key_is_believed_only_until_it_expires_or_its_table_changes) {
    const auto made = crypto::make_api_key();
    const std::string header = "Bearer " + std::string(made.text.reveal());
    const model::FeedKey key{.key_id = made.key_id,
                             .digest = made.digest,
                             .subject = "user:a",
                             .expires = Instant{1000}};
    const auto table = RouteTable::apply(nullptr, {.full = true, .keys = {key}});
    KeyMemo memo({1, 2});
    for (int i = 0; i < 3; ++i) {
        const auto found = memo.check(*table, 1, header, Instant{999});
        ASSERT_TRUE(found);
        EXPECT_EQ(*found, table->find_key(made.key_id));
        EXPECT_FALSE(memo.check(*table, 1, header + "x", Instant{999}));
        EXPECT_FALSE(memo.check(*table, 1, header.substr(0, header.size() - 1), Instant{999}));
    }
    EXPECT_FALSE(memo.check(*table, 1, header, Instant{1000})) << "expired";
    const auto without =
        RouteTable::apply(table.get(), {.full = false, .keys_gone = {made.key_id}});
    EXPECT_FALSE(memo.check(*without, 2, header, Instant{999})) << "revoked";
    EXPECT_FALSE(memo.check(*table, 1, "", Instant{0}));
}

}  // namespace
}  // namespace tandem::gateway

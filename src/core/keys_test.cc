// SPDX-License-Identifier: Apache-2.0
#include "core/test_world.h"

namespace tandem::core {
namespace {

model::ApiKey key_of_ada() {
    model::ApiKey key;
    key.meta.name = "laptop";
    key.spec.subject = "user:ada";
    key.spec.key_id = "abcdef012345";
    key.spec.digest = std::string(64, 'a');
    return key;
}

class Keys : public testing::Test {
  protected:
    Keys() {
        model::User ada;
        ada.meta.name = "ada";
        EXPECT_FALSE(world.apply(ada).error);
        EXPECT_FALSE(world.apply(key_of_ada()).error);
    }
    const model::ApiKey& stored() const {
        return *world.driver.state().table<model::ApiKey>().find_named("laptop");
    }
    TestWorld world;
};

TEST_F(Keys, change_sent_without_its_secret_parts_keeps_them) {
    model::ApiKey sent = key_of_ada();
    sent.spec.key_id.clear();
    sent.spec.digest.clear();
    sent.spec.revoked = true;
    const model::Answer answer = world.apply(sent);
    ASSERT_FALSE(answer.error) << answer.error->field << ": " << answer.error->message;
    EXPECT_TRUE(answer.outcomes.at(0).changed);
    EXPECT_TRUE(stored().spec.revoked);
    EXPECT_EQ(stored().spec.key_id, key_of_ada().spec.key_id);
    EXPECT_EQ(stored().spec.digest, key_of_ada().spec.digest);
}

TEST_F(Keys, new_key_needs_its_own_route) {
    model::ApiKey sent = key_of_ada();
    sent.meta.name = "other";
    sent.spec.key_id.clear();
    sent.spec.digest.clear();
    const model::Answer answer = world.apply(sent);
    ASSERT_TRUE(answer.error);
    EXPECT_EQ(answer.error->code, ErrorCode::invalid);
    EXPECT_EQ(answer.error->field, "kind");
}

TEST_F(Keys, another_secret_is_refused) {
    model::ApiKey sent = key_of_ada();
    sent.spec.digest = std::string(64, 'b');
    const model::Answer answer = world.apply(sent);
    ASSERT_TRUE(answer.error);
    EXPECT_EQ(answer.error->field, "spec.digest");
}

}  // namespace
}  // namespace tandem::core

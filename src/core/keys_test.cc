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

// One admin: a user, its binding, its key.
class LastAdmin : public Keys {
  protected:
    LastAdmin() {
        bind("ada");
        EXPECT_TRUE(has_admin(world.driver.state(), world.now));
    }
    void bind(const std::string& user) {
        model::RoleBinding binding;
        binding.meta.name = user;
        binding.spec.subject = "user:" + user;
        binding.spec.role = model::Role::platform_admin;
        EXPECT_FALSE(world.apply(binding).error);
    }
    void expect_refused(const model::Answer& answer) {
        ASSERT_TRUE(answer.error);
        EXPECT_EQ(answer.error->code, ErrorCode::conflict);
        EXPECT_NE(answer.error->message.find("make another admin first"), std::string::npos);
        EXPECT_TRUE(has_admin(world.driver.state(), world.now));
    }
    model::Answer remove(model::Kind kind, const std::string& name) { return world.submit({model::DeleteObject{{kind, "", "", name}}}); }
    model::ApiKey revoked() {
        model::ApiKey sent = key_of_ada();
        sent.spec.revoked = true;
        return sent;
    }
};

TEST_F(LastAdmin, key_user_and_binding_can_neither_go_nor_be_made_useless) {
    expect_refused(remove(model::Kind::api_key, "laptop"));
    expect_refused(remove(model::Kind::user, "ada"));
    expect_refused(remove(model::Kind::role_binding, "ada"));
    expect_refused(world.apply(revoked()));
    model::User disabled;
    disabled.meta.name = "ada";
    disabled.spec.disabled = true;
    expect_refused(world.apply(disabled));
    model::ApiKey narrow = key_of_ada();
    narrow.spec.inference_only = true;
    expect_refused(world.apply(narrow));
    model::RoleBinding lesser;
    lesser.meta.name = "ada";
    lesser.spec.subject = "user:ada";
    lesser.spec.role = model::Role::auditor;
    expect_refused(world.apply(lesser));
}

TEST_F(LastAdmin, one_of_two_may_go_and_one_may_take_the_others_place_in_one_command) {
    model::User bob;
    bob.meta.name = "bob";
    model::ApiKey key = key_of_ada();
    key.meta.name = "bobs";
    key.spec.subject = "user:bob";
    key.spec.key_id = "bbcdef012345";
    model::RoleBinding binding;
    binding.meta.name = "bob";
    binding.spec.subject = "user:bob";
    binding.spec.role = model::Role::platform_admin;
    const model::Answer swapped = world.submit({model::DeleteObject{{model::Kind::user, "", "", "ada"}}, model::ApplyObject{.object = bob},
                                                model::ApplyObject{.object = key}, model::ApplyObject{.object = binding}});
    ASSERT_FALSE(swapped.error) << swapped.error->message;
    EXPECT_TRUE(has_admin(world.driver.state(), world.now));
    expect_refused(remove(model::Kind::user, "bob"));
}

}  // namespace
}  // namespace tandem::core

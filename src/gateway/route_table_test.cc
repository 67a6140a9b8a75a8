// SPDX-License-Identifier: Apache-2.0
#include "gateway/route_table.h"

#include <gtest/gtest.h>

namespace tandem::gateway {
namespace {

Uid uid(std::uint8_t number) {
    Uid result;
    result.bytes[0] = number;
    return result;
}

model::FeedService service(std::uint8_t number, const std::string& name, const std::string& project,
                           std::int64_t created) {
    return {.uid = uid(number),
            .public_name = name,
            .project = project,
            .name = name,
            .created = Instant{created},
            .replicas = {{.uid = uid(100), .endpoint = "127.0.0.1:9"}}};
}

const model::FeedKey narrow{.key_id = "narrow", .projects = {"a"}, .services = {"chat"}};
const model::FeedKey wide{.key_id = "wide", .projects = {"*"}};

TEST(RouteTable, deltas_replace_and_remove_what_they_name) {
    const auto first = RouteTable::apply(
        nullptr, {.full = true,
                  .keys = {narrow, wide},
                  .services = {service(1, "chat", "a", 5), service(2, "code", "a", 5)}});
    const auto second = RouteTable::apply(
        first.get(), {.full = false, .keys_gone = {"wide"}, .services_gone = {uid(2)}});
    EXPECT_TRUE(first->find_key("wide")) << "a table never changes";
    EXPECT_FALSE(second->find_key("wide"));
    EXPECT_TRUE(second->find_key("narrow"));
    EXPECT_EQ(second->services().size(), 1u);
    const auto third = RouteTable::apply(second.get(), {.full = true});
    EXPECT_FALSE(third->find_key("narrow")) << "a full update forgets";
    const auto again = RouteTable::apply(nullptr, second->snapshot());
    EXPECT_TRUE(again->find_key("narrow"));
    EXPECT_EQ(again->services().size(), 1u);
}

TEST(RouteTable, key_sees_only_what_it_may_call) {
    const auto table = RouteTable::apply(
        nullptr, {.full = true,
                  .keys = {narrow, wide},
                  .services = {service(1, "chat", "b", 1), service(2, "chat", "a", 9),
                               service(3, "code", "a", 1)}});
    EXPECT_EQ(table->find_service(narrow, "chat")->facts.uid, uid(2)) << "project b is not its own";
    EXPECT_EQ(table->find_service(narrow, "code"), nullptr);
    EXPECT_EQ(table->find_service(wide, "chat")->facts.uid, uid(1)) << "the oldest is meant";
    EXPECT_EQ(table->services_for(narrow).size(), 1u);
    EXPECT_EQ(table->services_for(wide).size(), 2u);
}

TEST(RouteTable, replica_that_can_not_be_called_safely_is_left_out) {
    auto odd = service(1, "chat", "a", 1);
    odd.replicas = {{.uid = uid(1), .endpoint = "nowhere"},
                    {.uid = uid(2), .endpoint = "127.0.0.1:9", .key = "x\r\nHost: evil"},
                    {.uid = uid(3), .endpoint = "127.0.0.1:9", .key = "fine"}};
    const auto table = RouteTable::apply(nullptr, {.full = true, .services = {odd}});
    const auto& replicas = table->services().begin()->second->replicas;
    ASSERT_EQ(replicas.size(), 1u);
    EXPECT_EQ(replicas[0]->facts.uid, uid(3));
}

}  // namespace
}  // namespace tandem::gateway

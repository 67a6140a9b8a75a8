// SPDX-License-Identifier: Apache-2.0
#include "base/boxed.h"

#include <gtest/gtest.h>

#include <string>

namespace tandem {
namespace {

struct Pair {
    int a = 0;
    std::string b{};
    bool operator==(const Pair&) const = default;
};

static_assert(sizeof(Boxed<Pair>) == sizeof(void*));

TEST(boxed, copy_is_of_its_own) {
    Boxed<Pair> one = Pair{1, "x"};
    Boxed<Pair> other = one;
    other->a = 2;
    EXPECT_EQ(one->a, 1);
    EXPECT_NE(one, other);
    other = one;
    EXPECT_EQ(one, other);
    const Boxed<Pair>& same = other;
    other = same;
    EXPECT_EQ(one, other);
}

TEST(boxed, absent_is_equal_to_absent_only) {
    Boxed<Pair> none;
    EXPECT_FALSE(none);
    EXPECT_EQ(none, Boxed<Pair>());
    EXPECT_EQ(none, std::nullopt);
    EXPECT_NE(none, Boxed<Pair>(Pair{}));
    EXPECT_EQ(none.value_or({.a = 7}).a, 7);
}

TEST(boxed, goes_where_an_optional_goes) {
    Boxed<Pair> one;
    one = {.a = 3, .b = "y"};
    const std::optional<Pair> plain = one;
    ASSERT_TRUE(plain.has_value());
    EXPECT_EQ(*plain, *one);
    one = std::optional<Pair>();
    EXPECT_FALSE(one.has_value());
    one = plain;
    EXPECT_EQ(one, plain);
    one.emplace().a = 9;
    EXPECT_EQ(one->b, "");
    one.reset();
    EXPECT_FALSE(one);
    one = std::nullopt;
    EXPECT_FALSE(one);
}

}  // namespace
}  // namespace tandem

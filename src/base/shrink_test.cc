// SPDX-License-Identifier: Apache-2.0
#include "base/shrink.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tandem {
namespace {

std::vector<int> up_to(int count) {
    std::vector<int> items(static_cast<std::size_t>(count));
    std::iota(items.begin(), items.end(), 0);
    return items;
}
bool has(const std::vector<int>& items, int one) {
    return std::ranges::find(items, one) != items.end();
}

TEST(ShrinkList, what_is_needed_alone_remains_in_its_order) {
    std::int64_t runs = 1000;
    const auto fails = [](const std::vector<int>& items) {
        return has(items, 3) && has(items, 40) && has(items, 41) && has(items, 99);
    };
    EXPECT_EQ(shrink_list(up_to(100), fails, runs), (std::vector<int>{3, 40, 41, 99}));
    EXPECT_GT(runs, 850);
}

TEST(ShrinkList, what_fails_without_anything_becomes_nothing) {
    std::int64_t runs = 10;
    EXPECT_TRUE(shrink_list(up_to(50), [](const auto&) { return true; }, runs).empty());
    EXPECT_TRUE(shrink_list(std::vector<int>{}, [](const auto&) { return true; }, runs).empty());
}

TEST(ShrinkList, no_more_runs_than_allowed) {
    std::int64_t runs = 7;
    std::int64_t made = 0;
    const auto fails = [&](const std::vector<int>& items) {
        made += 1;
        return has(items, 20) && has(items, 60);
    };
    const std::vector<int> left = shrink_list(up_to(100), fails, runs);
    EXPECT_EQ(made, 7);
    EXPECT_EQ(runs, 0);
    EXPECT_TRUE(has(left, 20) && has(left, 60));
}

}  // namespace
}  // namespace tandem

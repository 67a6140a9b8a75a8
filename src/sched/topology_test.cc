// SPDX-License-Identifier: Apache-2.0
// Sharing out over domains against brute force: every way to put so many replicas on few nodes.
#include "sched/topology.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <set>

#include "base/random.h"

namespace tandem::sched {
namespace {

constexpr int levels = 2;  // block, rack; 2 is the host

struct Small {
    std::vector<std::vector<int>> domains{};
    std::vector<Site> sites{};
    explicit Small(Random& random) {
        const int count = static_cast<int>(random.between(1, 5));
        DomainNumbers numbers(std::vector<std::string>{"t/block", "t/rack"});
        for (int n = 0; n < count; ++n) {
            model::Labels labels;
            if (random.chance(900)) labels["t/block"] = std::to_string(random.below(2));
            if (random.chance(900)) labels["t/rack"] = std::to_string(random.below(2));
            domains.push_back(numbers.of(labels, n));
        }
        for (int n = 0; n < count; ++n)
            sites.push_back({.node = n,
                             .members = random.between(0, 4),
                             .worth = random.between(0, 1),
                             .domains = &domains[static_cast<std::size_t>(n)]});
    }
    int domain(std::size_t node, int level) const {
        return domains[node][static_cast<std::size_t>(level)];
    }
};

using Counts = std::vector<std::int64_t>;

// Does this way of putting replicas on nodes keep all that is asked? Slices as groups of one
// domain.
bool keeps(const Small& small, const TopologyAsk& ask, const Counts& counts) {
    std::set<int> used;
    std::map<int, std::int64_t> slices;
    std::map<int, std::int64_t> spread;
    for (std::size_t n = 0; n < counts.size(); ++n) {
        if (counts[n] > small.sites[n].members) return false;
        if (ask.required >= 0 && counts[n] > 0) used.insert(small.domain(n, ask.required));
        if (ask.slice_level >= 0) slices[small.domain(n, ask.slice_level)] += counts[n];
        if (ask.spread >= 0) spread[small.domain(n, ask.spread)] += counts[n];
    }
    if (ask.required >= 0 && (used.size() > 1 || used.contains(-1))) return false;
    for (const auto& [domain, sum] : slices)
        if (sum % ask.slice != 0 || (domain < 0 && sum > 0)) return false;
    if (ask.spread < 0) return true;
    if (spread[-1] > 0) return false;
    spread.erase(-1);
    std::int64_t low = 1000;
    std::int64_t high = 0;
    for (std::size_t n = 0; n < counts.size(); ++n) {
        // With everything in one domain, only its own domains are compared.
        const int own = small.domain(n, ask.spread);
        if (own < 0) continue;
        if (ask.required >= 0 && !used.contains(small.domain(n, ask.required))) continue;
        low = std::min(low, spread[own]);
        high = std::max(high, spread[own]);
    }
    return high <= low + ask.max_skew;
}

bool any_way(const Small& small, const TopologyAsk& ask, std::int64_t count) {
    Counts counts(small.sites.size());
    const std::function<bool(std::size_t, std::int64_t)> from = [&](std::size_t n,
                                                                    std::int64_t left) -> bool {
        if (n == counts.size()) return left == 0 && keeps(small, ask, counts);
        for (std::int64_t some = 0; some <= std::min(left, small.sites[n].members); ++some) {
            counts[n] = some;
            if (from(n + 1, left - some)) return true;
        }
        counts[n] = 0;
        return false;
    };
    return from(0, count);
}

TopologyAsk draw_ask(Random& random) {
    TopologyAsk ask;
    const auto level = [&] { return static_cast<int>(random.below(levels + 1)); };
    if (random.chance(500))
        ask.required = level();
    else if (random.chance(500)) {
        ask.preferred = level();
        ask.balanced = random.chance(500);
    }
    if (random.chance(300)) {
        ask.slice_level = level();
        ask.slice = random.between(1, 3);
    } else if (random.chance(400) && ask.preferred == no_level) {
        ask.spread = level();
        ask.max_skew = random.between(1, 2);
    }
    return ask;
}

class Topology : public testing::TestWithParam<int> {};

TEST_P(Topology, finds_a_way_exactly_when_there_is_one) {
    Random random(seed_from(static_cast<std::uint64_t>(GetParam())));
    for (int round = 0; round < 150; ++round) {
        const Small small(random);
        const TopologyAsk ask = draw_ask(random);
        const std::int64_t count = random.between(1, 3) * ask.slice;
        const std::vector<Scope> scopes = scopes_for(ask, small.sites, count);
        ASSERT_EQ(!scopes.empty(), any_way(small, ask, count)) << "round " << round;
        EXPECT_EQ(best_scope(ask, small.sites).room >= count, !scopes.empty());
        for (const Scope& scope : scopes) {
            Counts counts(small.sites.size());
            std::int64_t sum = 0;
            for (const auto& [node, members] : lay_out(ask, small.sites, scope, count)) {
                counts[static_cast<std::size_t>(node)] += members;
                sum += members;
            }
            ASSERT_EQ(sum, count);
            EXPECT_TRUE(keeps(small, ask, counts)) << "round " << round;
        }
    }
}

// Consecutive ranks are together: a slice is never torn.
TEST_P(Topology, slices_have_consecutive_ranks) {
    Random random(seed_from(static_cast<std::uint64_t>(GetParam()) + 100));
    for (int round = 0; round < 100; ++round) {
        const Small small(random);
        const TopologyAsk ask{.slice_level = static_cast<int>(random.below(levels + 1)),
                              .slice = random.between(2, 3)};
        const std::int64_t count = random.between(1, 3) * ask.slice;
        for (const Scope& scope : scopes_for(ask, small.sites, count)) {
            std::vector<int> by_rank;
            for (const auto& [node, members] : lay_out(ask, small.sites, scope, count))
                by_rank.insert(by_rank.end(), static_cast<std::size_t>(members),
                               small.domain(static_cast<std::size_t>(node), ask.slice_level));
            for (std::size_t i = 0; i < by_rank.size(); ++i)
                ASSERT_EQ(by_rank[i], by_rank[i - i % static_cast<std::size_t>(ask.slice)]);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Topology, testing::Range(1, 21));

struct Racks {
    std::vector<std::vector<int>> domains{};
    std::vector<Site> sites{};
    // Room by rack and node.
    explicit Racks(const std::vector<Counts>& racks) {
        DomainNumbers numbers(std::vector<std::string>{"t/block", "t/rack"});
        int node = 0;
        for (std::size_t r = 0; r < racks.size(); ++r)
            for (std::size_t n = 0; n < racks[r].size(); ++n)
                domains.push_back(
                    numbers.of({{"t/block", "b"}, {"t/rack", std::to_string(r)}}, node++));
        node = 0;
        for (const Counts& rack : racks)
            for (std::int64_t room : rack) {
                sites.push_back({.node = node,
                                 .members = room,
                                 .domains = &domains[static_cast<std::size_t>(node)]});
                node += 1;
            }
    }
    Counts by_rack(const TopologyAsk& ask, std::int64_t count) const {
        Counts sums(10);
        const std::vector<Scope> scopes = scopes_for(ask, sites, count);
        if (scopes.empty()) return {};
        for (const auto& [node, members] : lay_out(ask, sites, scopes.front(), count))
            sums[static_cast<std::size_t>(domains[static_cast<std::size_t>(node)][1] - 1)] +=
                members;
        while (!sums.empty() && sums.back() == 0) sums.pop_back();
        return sums;
    }
};

TEST(TopologyLayout, the_tightest_domain_is_taken_and_few_where_one_is_not_enough) {
    const Racks racks({{4, 4}, {3, 3}, {2, 2}});
    EXPECT_EQ(racks.by_rack({.required = 1}, 5), (Counts{0, 5}));
    EXPECT_EQ(racks.by_rack({.required = 1}, 9), Counts{});
    EXPECT_EQ(racks.by_rack({.preferred = 1}, 9), (Counts{8, 0, 1}));
    EXPECT_EQ(racks.by_rack({.preferred = 1, .balanced = true}, 10), (Counts{5, 5}));
    EXPECT_EQ(racks.by_rack({.preferred = 1, .balanced = true}, 13), (Counts{7, 6}));
    EXPECT_EQ(racks.by_rack({.spread = 1, .max_skew = 1}, 7), (Counts{3, 2, 2}));
}

TEST(TopologyLayout, a_level_is_named_by_the_end_of_its_label) {
    const DomainNumbers numbers(std::vector<std::string>{"example.com/zone", "rack"});
    EXPECT_EQ(numbers.level("zone"), 0);
    EXPECT_EQ(numbers.level("rack"), 1);
    EXPECT_EQ(numbers.level("host"), 2);
    EXPECT_EQ(numbers.level(""), no_level);
    EXPECT_EQ(numbers.level("block"), unknown_level);
}

}  // namespace
}  // namespace tandem::sched

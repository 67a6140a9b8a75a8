// SPDX-License-Identifier: Apache-2.0
// The planner against brute force on small worlds (at most 6 nodes and 8 running jobs): is there a
// set of victims at all, is the chosen one minimal, and is it the cheapest; and do free devices go
// by exact weighted shares.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/random.h"
#include "sched/planner.h"

namespace tandem::sched {
namespace {

constexpr std::int64_t now_ms = 10'000'000;

struct Running {
    std::int64_t id = 0;
    std::int64_t priority = 0;
    bool preemptible = true;
    std::int64_t lost = 0;  // milli-device-milliseconds
    std::int64_t devices = 0;
    std::map<int, std::int64_t> on{};  // node: devices
};

// Filled node by node, so that what stands where is known to the test and not left to the planner.
struct SmallWorld {
    Planner planner{};
    Random random;
    std::vector<std::int64_t> size{};  // devices of each node
    std::vector<std::int64_t> free{};
    std::vector<Running> running{};

    explicit SmallWorld(std::uint64_t seed) : random(seed_from(seed)) {
        model::Pool pool;
        pool.meta = {.id = RowId{1'000'000}, .name = "default"};
        pool.spec.topology = {"rack"};
        planner.put_pool(pool);
        model::Queue queue;
        queue.meta = {.id = RowId{1'000'001}, .name = "team"};
        planner.put_queue(queue);
        const std::int64_t nodes = random.between(1, 6);
        for (std::int64_t n = 0; n < nodes; ++n) {
            size.push_back(random.between(1, 4));
            free.push_back(size.back());
            model::Node node;
            node.meta = {.id = RowId{n + 1}, .name = "n" + std::to_string(n)};
            node.meta.labels = {{"rack", std::to_string(n % 2)}};
            node.status.ready = true;
            for (std::int64_t d = 0; d < size.back(); ++d)
                node.status.devices.push_back({.index = d, .flavor = "gpu"});
            planner.put_node(node);
        }
        for (std::int64_t id = 1; id <= 8; ++id) add_running(id);
    }
    void add_running(std::int64_t id) {
        Running job{.id = id, .priority = random.between(0, 3), .preemptible = random.chance(850)};
        const std::int64_t since = random.between(1, 500) * 1000;
        const std::int64_t pieces =
            random.chance(300) ? random.between(2, 3) : 1;  // a gang over nodes
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
            const int node = static_cast<int>(random.below(size.size()));
            auto& room = free[static_cast<std::size_t>(node)];
            const std::int64_t take = std::min(room, random.between(1, 3));
            if (take == 0) continue;
            Entry entry{.id = RowId{id},
                        .part = piece,
                        .workload = RowId{id},
                        .node = "n" + std::to_string(node),
                        .flavor = "gpu",
                        .queue = "team",
                        .pool = "default",
                        .project = "red"};
            for (std::int64_t d = 0; d < take; ++d)
                entry.devices.push_back({size[static_cast<std::size_t>(node)] - room + d, 1000});
            room -= take;
            job.on[node] += take;
            job.devices += take;
            planner.put_entry(entry);
        }
        if (job.devices == 0) return;
        job.lost = since * job.devices * 1000;
        planner.put_occupant({.workload = RowId{id},
                              .queue = "team",
                              .priority = job.priority,
                              .preemptible = job.preemptible,
                              .started = Instant{1},
                              .safe_at = Instant{now_ms - since}});
        running.push_back(job);
    }
    // `level`: all of them in one domain of it; empty: anywhere; "even": no two nodes differ by
    // more than one.
    bool fits(const std::set<std::int64_t>& gone, std::int64_t count, std::int64_t each,
              const std::string& level = {}) const {
        std::vector<std::int64_t> room = free;
        for (const Running& job : running) {
            if (!gone.contains(job.id)) continue;
            for (const auto& [node, devices] : job.on)
                room[static_cast<std::size_t>(node)] += devices;
        }
        std::map<std::size_t, std::int64_t> members;
        for (std::size_t n = 0; n < room.size(); ++n)
            members[level == "host" ? n : level == "rack" ? n % 2 : 0] += room[n] / each;
        if (level != "even")
            return std::ranges::any_of(members, [&](const auto& m) { return m.second >= count; });
        const std::int64_t least = std::ranges::min(room) / each;
        std::int64_t even = 0;
        for (std::int64_t devices : room) even += std::min(devices / each, least + 1);
        return even >= count;
    }
    // Devices of each priority from the gravest down, then what is lost; of those that leave.
    std::vector<std::int64_t> price(const std::set<std::int64_t>& gone,
                                    std::int64_t priority) const {
        std::set<std::int64_t> priorities;
        for (const Running& job : running) {
            if (job.preemptible && job.priority < priority) priorities.insert(job.priority);
        }
        std::vector<std::int64_t> vector;
        for (auto at = priorities.rbegin();
             at != priorities.rend() && std::next(at) != priorities.rend(); ++at) {
            std::int64_t devices = 0;
            for (const Running& job : running)
                devices += gone.contains(job.id) && job.priority == *at ? job.devices : 0;
            vector.push_back(devices);
        }
        std::int64_t lost = 0;
        for (const Running& job : running) lost += gone.contains(job.id) ? job.lost : 0;
        vector.push_back(lost);
        return vector;
    }
};

class Oracle : public testing::TestWithParam<int> {};

// Victims exist when brute force finds them, and are the cheapest minimal set.
void compare_victims(int seed, const std::string& level) {
    for (int round = 0; round < 40; ++round) {
        SmallWorld world(static_cast<std::uint64_t>(seed * 1000 + round));
        const std::int64_t count = world.random.between(1, 3);
        const std::int64_t each = world.random.between(1, 3);
        const std::int64_t priority = world.random.between(1, 4);
        Demand demand{
            .workload = RowId{100}, .queue = "team", .project = "red", .priority = priority};
        demand.parts.push_back({.count = count, .each = {.devices = each * 1000, .flavor = "gpu"}});
        model::JobPlacing placing{.topology = {.required = level == "even" ? "" : level}};
        if (level == "even") placing.spread.level = "host";
        if (!level.empty()) demand.placing = {std::make_shared<const model::JobPlacing>(placing)};
        world.planner.put_demand(demand);
        std::vector<std::int64_t> allowed;
        for (const Running& job : world.running) {
            if (job.preemptible && job.priority < priority) allowed.push_back(job.id);
        }
        std::optional<std::vector<std::int64_t>> best;
        for (std::size_t set = 0; set < (std::size_t{1} << allowed.size()); ++set) {
            std::set<std::int64_t> gone;
            for (std::size_t v = 0; v < allowed.size(); ++v)
                if (((set >> v) & 1) != 0) gone.insert(allowed[v]);
            if (!world.fits(gone, count, each, level)) continue;
            const std::vector<std::int64_t> price = world.price(gone, priority);
            if (!best || price < *best) best = price;
        }
        const Plan plan = world.planner.plan(Instant{now_ms}, 1 << 20);
        ASSERT_EQ(plan.placements.size(), best ? 1U : 0U) << "round " << round;
        if (!best) continue;
        std::set<std::int64_t> gone;
        for (const Eviction& eviction : plan.placements[0].evictions)
            gone.insert(eviction.workload.value);
        ASSERT_TRUE(world.fits(gone, count, each, level));
        for (std::int64_t id : gone) {
            std::set<std::int64_t> fewer = gone;
            fewer.erase(id);
            EXPECT_FALSE(world.fits(fewer, count, each, level))
                << "round " << round << ": " << id << " left in vain";
        }
        EXPECT_EQ(world.price(gone, priority), *best) << "round " << round;
        EXPECT_EQ(world.planner.recount(), "");
    }
}

TEST_P(Oracle, victims_exist_when_brute_force_finds_them_and_are_the_cheapest_minimal_set) {
    compare_victims(GetParam(), "");
}
TEST_P(Oracle, victims_for_one_rack_are_those_of_brute_force) {
    compare_victims(GetParam(), "rack");
}
TEST_P(Oracle, victims_for_one_host_are_those_of_brute_force) {
    compare_victims(GetParam(), "host");
}
TEST_P(Oracle, victims_for_an_even_spread_are_those_of_brute_force) {
    compare_victims(GetParam(), "even");
}

// Free devices among borrowers of random weights, one by one to the smallest share: the sorted
// shares are the largest possible from the smallest up.
TEST_P(Oracle, shares_are_exact) {
    Random random(seed_from(static_cast<std::uint64_t>(GetParam()) + 77));
    Planner planner;
    model::Pool pool;
    pool.meta = {.id = RowId{1'000'000}, .name = "default"};
    planner.put_pool(pool);
    const std::int64_t devices = random.between(5, 40);
    model::Queue root;
    root.meta = {.name = "root"};
    root.spec.quotas = {{.flavor = "gpu", .nominal = devices * 1000}};
    planner.put_queue(root);
    const std::int64_t queues = random.between(2, 5);
    std::vector<std::int64_t> weights;
    std::int64_t id = 0;
    for (std::int64_t q = 0; q < queues; ++q) {
        weights.push_back(random.between(1, 7));
        model::Queue queue;
        queue.meta = {.name = "q" + std::to_string(q)};
        queue.spec = {.parent = "root",
                      .quotas = {{.flavor = "gpu", .nominal = 0, .weight = weights.back()}}};
        planner.put_queue(queue);
        for (std::int64_t i = 0; i < devices; ++i) {
            Demand demand{.workload = RowId{++id},
                          .queue = queue.meta.name,
                          .project = "red",
                          .submitted = Instant{id}};
            demand.parts.push_back({.count = 1, .each = {.devices = 1000, .flavor = "gpu"}});
            planner.put_demand(demand);
        }
    }
    model::Node node;
    node.meta = {.id = RowId{1}, .name = "n"};
    node.status.ready = true;
    for (std::int64_t d = 0; d < devices; ++d)
        node.status.devices.push_back({.index = d, .flavor = "gpu"});
    planner.put_node(node);
    planner.plan(Instant{now_ms}, 1 << 20);
    std::vector<std::int64_t> got(static_cast<std::size_t>(queues), 0);
    for (const QueueLine& line : planner.queue_lines())
        if (line.queue != "root")
            got[static_cast<std::size_t>(line.queue[1] - '0')] = line.used / 1000;
    EXPECT_EQ(std::accumulate(got.begin(), got.end(), std::int64_t{0}), devices);
    // Leximin: nobody could give one device to another and leave both with more than the smaller
    // had.
    for (std::size_t a = 0; a < got.size(); ++a) {
        for (std::size_t b = 0; b < got.size(); ++b) {
            if (a == b || got[a] == 0) continue;
            EXPECT_GE((got[b] + 1) * weights[a], got[a] * weights[b])
                << "queue " << a << " could give to " << b;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Oracle, testing::Range(0, 25));

}  // namespace
}  // namespace tandem::sched

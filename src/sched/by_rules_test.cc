// SPDX-License-Identifier: Apache-2.0
// Work that asks more of its places than room: through the planner, its verdicts and its victims.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "sched/test_world.h"

namespace tandem::sched {
namespace {

using model::ReasonCode;

constexpr std::int64_t gib = std::int64_t{1} << 30;

struct RackWorld : World {
    explicit RackWorld(std::vector<std::int64_t> racks = {2, 2}, std::int64_t devices = 4) {
        pool("default", {.topology = {"t/block", "t/rack"}});
        queue("team");
        for (std::size_t r = 0; r < racks.size(); ++r)
            for (std::int64_t n = 0; n < racks[r]; ++n) add(static_cast<int>(r), n, devices);
    }
    void add(int rack, std::int64_t n, std::int64_t devices) {
        const std::string name = "r" + std::to_string(rack) + "n" + std::to_string(n);
        node(name, devices);
        edit_node(name, [rack](model::Node& body) {
            body.meta.labels = {{"t/block", std::to_string(rack / 2)},
                                {"t/rack", std::to_string(rack)}};
            for (model::Device& device : body.status.devices) device.memory_bytes = 80 * gib;
        });
    }
    std::vector<std::string> nodes_of(std::int64_t id) {
        std::vector<std::string> list;
        for (std::int64_t replica : replicas_of(id))
            list.push_back(planner.find_entry(RowId{replica})->node);
        return list;
    }
    std::map<char, int> racks_of(std::int64_t id) {
        std::map<char, int> racks;
        for (const std::string& name : nodes_of(id)) racks[name[1]] += 1;
        return racks;
    }
};

model::JobPlacing in_one(const std::string& level) {
    return {.topology = {.required = level}};
}

TEST(ByRules, required_level_holds_all_replicas_or_none_starts) {
    RackWorld world;
    world.submit({.id = 1, .count = 3, .devices = 1000, .placing = in_one("host")});
    world.submit({.id = 2, .count = 6, .placing = in_one("rack")});
    world.plan();
    EXPECT_EQ(world.racks_of(1).size(), 1U);
    EXPECT_EQ(world.racks_of(2), (std::map<char, int>{{'1', 6}}));
    world.submit({.id = 3, .count = 6, .placing = in_one("rack")});
    world.plan();
    EXPECT_EQ(world.running(), (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(world.why(3), ReasonCode::no_topology_domain);
    EXPECT_EQ(world.param(3, "level"), "rack");
    EXPECT_EQ(world.param(3, "needed"), "6");
    EXPECT_EQ(world.param(3, "largest"), "5");
    EXPECT_EQ(world.param(3, "domain"), "0/0");
    EXPECT_EQ(world.param(3, "domains"), "2");
    const auto verdict = world.planner.verdict(RowId{3});
    EXPECT_EQ(verdict->funnels.front().cut, "domain");
    EXPECT_EQ(verdict->funnels.front().with_room, 3);
    EXPECT_EQ(verdict->funnels.front().in_domain, 2);
    EXPECT_TRUE(verdict->proved);
    ASSERT_EQ(verdict->remedies.size(), 1U);
    EXPECT_EQ(verdict->remedies[0].steps[0], (model::Reason{ReasonCode::no_topology_domain,
                                                            {{"places", "1"},
                                                             {"level", "rack"},
                                                             {"domain", "0/0"},
                                                             {"each", "1"},
                                                             {"flavor", "h200"}}}));
    world.add(0, 7, 1);  // what the remedy says
    world.plan();
    EXPECT_EQ(world.racks_of(3), (std::map<char, int>{{'0', 6}}));
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(ByRules, what_no_domain_could_ever_hold_is_told_so) {
    RackWorld world;
    world.submit({.id = 1, .count = 9, .placing = in_one("rack")});
    world.submit({.id = 2, .count = 2, .placing = in_one("row")});  // the pool has no such level
    world.submit({.id = 3, .count = 16, .placing = in_one("block")});
    world.plan();
    EXPECT_EQ(world.why(1), ReasonCode::never_fits);
    EXPECT_EQ(world.param(1, "largest"), "8");
    EXPECT_EQ(world.param(1, "level"), "rack");
    EXPECT_EQ(world.why(2), ReasonCode::never_fits);
    EXPECT_EQ(world.param(2, "level"), "row");
    EXPECT_EQ(world.nodes_of(3).size(), 16U);
}

TEST(ByRules, preferred_level_widens_until_there_is_room) {
    RackWorld world({2, 2, 2, 2}, 2);
    world.submit({.id = 1, .count = 4, .placing = {.topology = {.preferred = "rack"}}});
    world.submit({.id = 2, .count = 6, .placing = {.topology = {.preferred = "rack"}}});
    world.plan();
    EXPECT_EQ(world.racks_of(1).size(), 1U);
    EXPECT_EQ(world.racks_of(2), (std::map<char, int>{{'2', 4}, {'3', 2}}));
    world.submit({.id = 3, .count = 6, .placing = {.topology = {.preferred = "rack"}}});
    world.plan();
    EXPECT_EQ(world.racks_of(3), (std::map<char, int>{{'1', 4}, {'3', 2}}));
}

TEST(ByRules, slices_stay_whole_and_balanced_gangs_even) {
    RackWorld world({2, 2}, 3);
    world.submit(
        {.id = 1, .count = 4, .placing = {.topology = {.slice = {.size = 2, .required = "host"}}}});
    world.plan();
    const auto nodes = world.nodes_of(1);
    ASSERT_EQ(nodes.size(), 4U);
    EXPECT_EQ(nodes[0], nodes[1]);
    EXPECT_EQ(nodes[2], nodes[3]);
    EXPECT_NE(nodes[1], nodes[2]);
    world.end(1);
    world.submit(
        {.id = 2, .count = 8, .placing = {.topology = {.preferred = "rack", .balanced = true}}});
    world.plan();
    EXPECT_EQ(world.racks_of(2), (std::map<char, int>{{'0', 4}, {'1', 4}}));
}

TEST(ByRules, spread_keeps_the_skew_and_says_so_when_it_can_not) {
    RackWorld world;
    world.submit({.id = 1, .count = 4, .placing = {.spread = {.level = "host"}}});
    world.plan();
    const auto nodes = world.nodes_of(1);
    EXPECT_EQ(std::set<std::string>(nodes.begin(), nodes.end()).size(), 4U);
    world.end(1);
    world.submit({.id = 2, .count = 4, .devices = 1000, .placing = in_one("host")});
    world.plan();  // one host is full now: no other may have more than one
    world.submit({.id = 3, .count = 4, .placing = {.spread = {.level = "host"}}});
    world.plan();
    EXPECT_EQ(world.why(3), ReasonCode::no_even_spread);
    EXPECT_EQ(world.param(3, "largest"), "3");
    EXPECT_FALSE(world.param(3, "domain").empty() && world.nodes_of(2).empty());
    world.end(2);
    world.plan();
    EXPECT_EQ(world.nodes_of(3).size(), 4U);
}

TEST(ByRules, company_is_kept_both_ways) {
    RackWorld world;
    const model::WorkSelector noisy{.level = "rack", .labels = {{"kind", "noisy"}}};
    world.submit({.id = 1, .placing = {.labels = {{"kind", "noisy"}}}});
    world.plan();
    world.submit({.id = 2, .placing = {.apart = {noisy}}});
    world.submit({.id = 3, .placing = {.near = {noisy}}});
    world.plan();
    EXPECT_NE(world.racks_of(1), world.racks_of(2));
    EXPECT_EQ(world.racks_of(1), world.racks_of(3));
    world.submit({.id = 4, .count = 8, .placing = {.labels = {{"kind", "noisy"}}}});
    world.plan();  // the rack of the one that wants none is shut to it
    EXPECT_EQ(world.why(4), ReasonCode::no_allowed_company);
    world.submit({.id = 5, .project = "blue", .placing = {.apart = {noisy}}});
    world.plan();  // work of other projects is none of its business
    EXPECT_EQ(world.nodes_of(5).size(), 1U);
    world.end(2);
    world.plan();
    EXPECT_EQ(world.nodes_of(4).size(), 8U);
    EXPECT_EQ(world.planner.recount(), "");
}

TEST(ByRules, near_waits_for_its_company) {
    RackWorld world;
    const model::WorkSelector data{.level = "rack", .labels = {{"app", "data"}}};
    world.submit({.id = 1, .placing = {.near = {data}}});
    world.plan();
    EXPECT_EQ(world.why(1), ReasonCode::no_allowed_company);
    world.submit({.id = 2, .placing = {.labels = {{"app", "data"}}}});
    world.plan();
    world.plan();
    EXPECT_EQ(world.racks_of(1), world.racks_of(2));
    world.submit(
        {.id = 3, .placing = {.labels = {{"app", "x"}}, .near = {{.labels = {{"app", "x"}}}}}});
    world.plan();  // the first of its kind
    EXPECT_EQ(world.nodes_of(3).size(), 1U);
}

TEST(ByRules, node_affinity_is_kept_or_preferred) {
    RackWorld world({1, 1, 1}, 2);
    for (int r = 0; r < 3; ++r)
        world.edit_node("r" + std::to_string(r) + "n0", [r](model::Node& node) {
            node.meta.labels["gen"] = std::to_string(r + 3);
        });
    using model::LabelOp;
    world.submit({.id = 1, .affinity = {.required = {{"gen", LabelOp::gt, {"4"}}}}});
    world.submit(
        {.id = 2,
         .affinity = {.required = {{"gen", LabelOp::not_in, {"5"}},
                                   {"gen", LabelOp::exists, {}},
                                   {"old", LabelOp::does_not_exist, {}}},
                      .preferred = {{.weight = 5, .match = {{"gen", LabelOp::in, {"4"}}}}}}});
    world.submit({.id = 3, .affinity = {.required = {{"gen", LabelOp::lt, {"3"}}}}});
    world.plan();
    EXPECT_EQ(world.nodes_of(1), std::vector<std::string>{"r2n0"});
    EXPECT_EQ(world.nodes_of(2), std::vector<std::string>{"r1n0"});
    EXPECT_EQ(world.why(3), ReasonCode::never_fits);
}

TEST(ByRules, a_gang_shares_a_device_only_where_it_may) {
    for (const bool may : {false, true}) {
        RackWorld world({1}, 1);
        world.submit(
            {.id = 1,
             .count = 3,
             .devices = 300,
             .placing = {.sharing = may ? model::Sharing::allowed : model::Sharing::none}});
        world.plan();
        EXPECT_EQ(world.nodes_of(1).size(), may ? 3U : 0U);
        EXPECT_EQ(world.why(1), may ? ReasonCode::none : ReasonCode::never_fits);
    }
}

TEST(ByRules, device_memory_is_a_second_measure) {
    RackWorld world({1}, 1);
    world.submit({.id = 1, .devices = 100, .device_memory = 60 * gib});
    world.plan();
    EXPECT_EQ(world.nodes_of(1).size(), 1U);
    world.submit({.id = 2, .devices = 100, .device_memory = 30 * gib});
    world.submit({.id = 3, .devices = 500});  // half of 80 GiB is not there
    world.submit({.id = 4, .devices = 250});
    world.plan();
    EXPECT_EQ(world.why(2), ReasonCode::no_capacity);
    EXPECT_EQ(world.why(3), ReasonCode::no_capacity);
    EXPECT_EQ(world.nodes_of(4).size(), 1U);
    world.submit({.id = 5, .devices = 100, .device_memory = 90 * gib});
    world.plan();
    EXPECT_EQ(world.why(5), ReasonCode::never_fits);
    world.end(1);
    world.plan();
    EXPECT_EQ(world.nodes_of(2).size(), 1U);
    EXPECT_EQ(world.why(3), ReasonCode::no_capacity);  // 30 GiB are left
    world.end(2);
    world.plan();
    EXPECT_EQ(world.nodes_of(3).size(), 1U);
    EXPECT_EQ(world.planner.recount(), "");
}

// The cheapest rack is emptied, as far as is needed, and no other one.
TEST(ByRules, victims_are_of_one_domain_and_the_cheapest) {
    RackWorld world({2, 2}, 2);
    world.submit({.id = 1, .count = 2, .devices = 2000, .placing = in_one("rack")});
    world.plan();
    for (std::int64_t id = 2; id <= 5; ++id) world.submit({.id = id});
    world.plan();
    world.submit({.id = 9, .count = 3, .priority = 5, .placing = in_one("rack")});
    const Plan plan = world.plan();
    ASSERT_EQ(plan.placements.size(), 1U);
    EXPECT_EQ(plan.placements[0].evictions.size(), 3U);  // and not the gang with its 4 devices
    std::set<char> racks;
    for (const PlacedReplica& replica : plan.placements[0].replicas) racks.insert(replica.node[1]);
    EXPECT_EQ(racks.size(), 1U);
}

class ByRulesRandom : public testing::TestWithParam<int> {};

model::JobPlacing draw(Random& random) {
    static const std::vector<std::string> levels{"block", "rack", "host"};
    const auto level = [&] { return levels[random.below(3)]; };
    model::JobPlacing placing;
    switch (random.below(7)) {
        case 0:
            placing.topology.required = level();
            break;
        case 1:
            placing.topology.preferred = level();
            break;
        case 2:
            placing.topology.slice = {.size = 2, .required = level()};
            break;
        case 3:
            placing.spread = {.level = level(), .max_skew = random.between(1, 2)};
            break;
        case 4:
            placing.apart = {{.level = level(), .labels = {{"k", "1"}}}};
            break;
        case 5:
            placing.near = {{.level = level(), .labels = {{"k", "1"}}}};
            break;
        default:
            break;
    }
    if (random.chance(300)) placing.labels = {{"k", random.chance(500) ? "1" : "2"}};
    if (random.chance(300)) placing.sharing = model::Sharing::allowed;
    return placing;
}

// What was placed keeps what it asked, no device is given twice or to two projects, and counters
// equal a recount, whatever comes and goes.
struct Keeper {
    RackWorld world{{2, 2, 1}, 3};
    std::map<std::int64_t, Want> wants{};

    void check_job(const Want& want) {
        const std::vector<std::string> nodes = world.nodes_of(want.id);
        std::map<std::string, int> hosts;
        for (const std::string& node : nodes) hosts[node] += 1;
        const auto racks = world.racks_of(want.id);
        const model::JobTopology& topology = want.placing.topology;
        if (topology.required == "host") EXPECT_EQ(hosts.size(), 1U);
        if (topology.required == "rack") EXPECT_EQ(racks.size(), 1U);
        if (topology.required == "block") EXPECT_FALSE(racks.contains('2') && racks.size() > 1);
        if (topology.slice.required == "host")
            for (const auto& [host, count] : hosts) EXPECT_EQ(count % 2, 0);
        if (topology.slice.required == "rack")
            for (const auto& [rack, count] : racks) EXPECT_EQ(count % 2, 0);
        if (want.placing.spread.level != "host") return;
        for (const auto& [host, count] : hosts)
            EXPECT_LE(count, want.placing.spread.max_skew + (hosts.size() == 5 ? 9 : 0));
    }
    void check() {
        std::map<std::pair<std::string, std::int64_t>, std::pair<std::int64_t, std::int64_t>> used;
        std::map<std::pair<std::string, std::int64_t>, std::set<std::string>> projects;
        for (std::int64_t id : world.running()) {
            const Want& want = wants.at(id);
            check_job(want);
            std::set<std::pair<std::string, std::int64_t>> own;
            for (std::int64_t replica : world.replicas_of(id)) {
                const Entry& entry = *world.planner.find_entry(RowId{replica});
                for (const model::DeviceShare& share : entry.devices) {
                    const std::pair key{entry.node, share.index};
                    const std::int64_t memory =
                        share.memory_bytes > 0 ? share.memory_bytes : 80 * gib / 1000 * share.milli;
                    if (want.placing.sharing == model::Sharing::none)
                        EXPECT_TRUE(own.insert(key).second) << "members meet on a device";
                    if (entry.kind != EntryKind::allocation) continue;
                    used[key].first += share.milli;
                    used[key].second += memory;
                    projects[key].insert(want.project);
                }
            }
        }
        for (const auto& [device, sums] : used) {
            EXPECT_LE(sums.first, 1000);
            EXPECT_LE(sums.second, 80 * gib);
            EXPECT_EQ(projects[device].size(), 1U);
        }
        EXPECT_EQ(world.planner.recount(), "");
    }
};

TEST_P(ByRulesRandom, what_runs_keeps_what_it_asked) {
    Random random(seed_from(static_cast<std::uint64_t>(GetParam())));
    Keeper keeper;
    std::int64_t next = 1;
    for (int step = 0; step < 120; ++step) {
        const auto running = keeper.world.running();
        if (random.chance(450)) {
            Want want{.id = next++};
            want.count = random.between(1, 3) * 2;
            want.devices = random.chance(500) ? random.between(1, 6) * 100 : 1000;
            want.priority = random.between(0, 2);
            want.project = random.chance(500) ? "red" : "blue";
            want.preemptible = random.chance(900);
            want.placing = draw(random);
            if (want.devices < 1000 && random.chance(400))
                want.device_memory = random.between(1, 50) * gib;
            keeper.wants[want.id] = want;
            keeper.world.submit(want);
        } else if (random.chance(300) && !running.empty()) {
            keeper.world.end(running[random.below(running.size())]);
        } else if (random.chance(200)) {
            keeper.world.settle();
        } else {
            const std::size_t mark = keeper.world.planner.mark();
            const std::uint64_t before = keeper.world.planner.digest();
            keeper.world.planner.plan(Instant{keeper.world.now}, 1'000'000);
            keeper.world.planner.rollback(mark);
            ASSERT_EQ(keeper.world.planner.digest(), before);
            keeper.world.plan();
            keeper.world.planner.forget();
        }
        keeper.check();
        for (std::int64_t id : keeper.world.waiting()) {
            const auto verdict = keeper.world.planner.verdict(RowId{id});
            ASSERT_TRUE(verdict && verdict->reason.code != ReasonCode::none);
        }
        if (HasFailure()) FAIL() << "step " << step;
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ByRulesRandom, testing::Range(1, 13));

}  // namespace
}  // namespace tandem::sched

// SPDX-License-Identifier: Apache-2.0
// Random sequences against what must always hold. Each step has random numbers of its own, so that
// a sequence that breaks a rule can be told by the few steps that it takes.
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "base/quantity.h"
#include "base/random.h"
#include "base/shrink.h"
#include "sched/planner.h"
#include "sched/test_world.h"

namespace tandem::sched {
namespace {

struct Chaos {
    World world{};
    Random origin;
    Random random;
    std::int64_t next = 1;
    int next_step = 0;

    explicit Chaos(std::uint64_t seed) : origin(seed_from(seed)), random(origin) {
        world.pool("default");
        world.queue("root");
        world.queue("left", {{.flavor = "h200", .nominal = 4000, .lend_limit = 3000}}, "root");
        world.queue("right",
                    {{.flavor = "h200", .nominal = 3000, .borrow_limit = 4000, .weight = 2}},
                    "root");
        world.queue("team", {{.flavor = "h200", .nominal = 2000, .max = 6000}}, "left");
        world.queue("free");
        world.queue("poor", {{.flavor = "h200", .nominal = 0, .weight = 0}}, "root");
        world.queue("rich", {{.flavor = "*", .nominal = 0, .weight = 3}}, "root");
        for (const char* name : {"left", "team", "rich", "poor"}) {
            world.edit_queue(name, [](model::QueueSpec& spec) {
                spec.preemption.fair_share = model::FairSharing::larger_share;
            });
        }
        world.edit_queue("root", [](model::QueueSpec& spec) { spec.usage_half_life = minutes(1); });
        for (int i = 0; i < 4; ++i)
            world.node("n" + std::to_string(i), 4, i == 3 ? "a100" : "h200", 8000);
    }

    Want draw_want() {
        static const std::vector<std::string> queues{"left", "right", "team",
                                                     "free", "poor",  "rich"};
        Want want{.id = next++};
        want.queue = queues[random.below(queues.size())];
        want.count = random.between(1, 3);
        want.devices =
            random.chance(300) ? random.between(1, 9) * 100 : random.between(1, 2) * 1000;
        want.priority = random.between(0, 2);
        static const std::vector<std::string> flavors{"h200", "h200",      "",
                                                      "",     "a100,h200", "a100|h200"};
        want.flavor = flavors[random.below(flavors.size())];
        want.project = random.chance(500) ? "red" : "blue";
        want.cpu = random.between(0, 2) * 500;
        want.preemptible = random.chance(850);
        if (random.chance(400)) want.length = seconds(random.between(1, 60));
        return want;
    }

    void step() { step(next_step++); }
    void step(int number) {
        random = origin.fork("step-" + std::to_string(number));
        switch (random.below(8)) {
            case 0:
            case 1:
            case 2:
                return world.submit(draw_want());
            case 3: {
                const auto running = world.running();
                if (running.empty()) return;
                const std::int64_t id = running[random.below(running.size())];
                return world.end(id);
            }
            case 4:
                return world.settle();
            case 5: {
                const std::string node = "n" + std::to_string(random.below(4));
                const bool ready = random.chance(700);
                return world.edit_node(node,
                                       [ready](model::Node& body) { body.status.ready = ready; });
            }
            default:
                world.plan(random.between(1, 200));
        }
    }
};

// No device more than once, no member on a device of its own gang, no device shared by projects.
std::string check_devices(World& world) {
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> used;
    std::map<std::pair<std::string, std::int64_t>, std::set<std::string>> projects;
    for (std::int64_t id : world.running()) {
        for (std::int64_t replica : world.replicas_of(id)) {
            const Entry* entry = world.planner.find_entry(RowId{replica});
            if (entry == nullptr) return "a running replica has no entry";
            if (entry->kind != EntryKind::allocation) continue;
            for (const auto& share : entry->devices) {
                used[{entry->node, share.index}] += share.milli;
                projects[{entry->node, share.index}].insert(entry->project);
            }
        }
    }
    for (const auto& [device, milli] : used)
        if (milli > 1000)
            return device.first + "/" + std::to_string(device.second) + " has " +
                   std::to_string(milli) + " milli given out";
    for (const auto& [device, who] : projects)
        if (who.size() != 1)
            return device.first + "/" + std::to_string(device.second) + " is shared by projects";
    return {};
}

// What `check` says after the first step after which it says something.
template <class Check>
std::string broken_by(std::uint64_t seed, const std::vector<int>& steps, const Check& check) {
    Chaos chaos(seed);
    for (const int number : steps) {
        chaos.step(number);
        if (const std::string broken = check(chaos.world); !broken.empty()) return broken;
    }
    return {};
}

// Holds after each of so many steps; if not, says with how few it does not.
template <class Check>
void hold_after_each(std::uint64_t seed, int steps, const Check& check) {
    std::vector<int> all(static_cast<std::size_t>(steps));
    std::iota(all.begin(), all.end(), 0);
    if (broken_by(seed, all, check).empty()) return;
    std::int64_t runs = 2000;
    const std::vector<int> least = shrink_list(
        all, [&](const auto& some) { return !broken_by(seed, some, check).empty(); }, runs);
    std::string told;
    for (const int number : least) told += " " + std::to_string(number);
    FAIL() << broken_by(seed, least, check) << "\n  by " << least.size() << " of " << steps
           << " steps of seed " << seed << ":" << told;
}

class Property : public testing::TestWithParam<int> {};

TEST_P(Property, counters_equal_a_recount_and_devices_are_given_once) {
    hold_after_each(static_cast<std::uint64_t>(GetParam()), 120, [](World& world) {
        const std::string broken = world.planner.recount();
        return broken.empty() ? check_devices(world) : broken;
    });
}

TEST_P(Property, rollback_restores_everything) {
    Chaos chaos(static_cast<std::uint64_t>(GetParam()) + 1000);
    for (int i = 0; i < 40; ++i) chaos.step();
    Planner& planner = chaos.world.planner;
    const std::uint64_t before = planner.digest();
    const std::size_t mark = planner.mark();
    for (int round = 0; round < 3; ++round) {
        const std::size_t inner = planner.mark();
        const std::uint64_t inner_digest = planner.digest();
        const auto now = Instant{chaos.world.now};
        for (int i = 0; i < 10; ++i) {
            const Want want = chaos.draw_want();
            Demand demand{.workload = RowId{want.id},
                          .queue = want.queue,
                          .project = want.project,
                          .priority = want.priority,
                          .submitted = Instant{want.id}};
            demand.parts.push_back({.count = want.count, .each = {.devices = want.devices}});
            planner.put_demand(demand);
            const auto running = chaos.world.running();
            if (!running.empty()) {
                const std::int64_t id = running[chaos.random.below(running.size())];
                for (std::int64_t replica : chaos.world.replicas_of(id))
                    planner.remove_entry(RowId{replica});
                planner.remove_occupant(RowId{id});
            }
            planner.plan(now, 1'000'000);
            if (chaos.random.chance(200)) planner.remove_node("n1");
            if (chaos.random.chance(100)) planner.remove_queue("right");
            ASSERT_EQ(planner.recount(), "");
        }
        if (round == 1) {
            planner.rollback(inner);
            ASSERT_EQ(planner.digest(), inner_digest);
            ASSERT_EQ(planner.recount(), "");
        }
    }
    planner.rollback(mark);
    EXPECT_EQ(planner.digest(), before);
    EXPECT_EQ(planner.recount(), "");
    planner.forget();
    for (int i = 0; i < 30; ++i) {
        chaos.step();
        ASSERT_EQ(planner.recount(), "");
    }
}

std::string text_of(const Plan& plan) {
    std::string text;
    for (const Placement& placement : plan.placements) {
        text += std::to_string(placement.workload.value) + ":";
        for (const PlacedReplica& replica : placement.replicas) {
            text += replica.node + "/" +
                    (replica.devices.empty() ? "" : std::to_string(replica.devices[0].index)) + " ";
        }
        for (const Eviction& eviction : placement.evictions)
            text += "-" + std::to_string(eviction.workload.value);
    }
    return text;
}

TEST_P(Property, same_calls_give_the_same_plans) {
    Chaos a(static_cast<std::uint64_t>(GetParam()) + 2000);
    Chaos b(static_cast<std::uint64_t>(GetParam()) + 2000);
    for (int i = 0; i < 60; ++i) {
        a.step();
        b.step();
        ASSERT_EQ(text_of(a.world.plan()), text_of(b.world.plan()));
        ASSERT_EQ(a.world.planner.digest(), b.world.planner.digest());
    }
}

// A class that sleeps would not have been placed: after everybody is woken, nothing more fits.
TEST_P(Property, nobody_sleeps_who_could_be_placed) {
    const auto check = [](World& world) -> std::string {
        for (int rounds = 0; !world.plan().placements.empty(); ++rounds)
            if (rounds == 20) return "plans without end";
        const std::size_t mark = world.planner.mark();
        world.planner.put_demand({.workload = RowId{999'999}, .queue = "none"});
        world.planner.rollback(mark);  // wakes everybody
        const std::string placed = text_of(world.plan());
        return placed.empty() ? "" : "slept and could be placed: " + placed;
    };
    hold_after_each(static_cast<std::uint64_t>(GetParam()) + 3000, 80, check);
}

// With nothing arriving or ending but victims coming back, evictions come to an end.
TEST_P(Property, preemption_comes_to_rest) {
    Chaos chaos(static_cast<std::uint64_t>(GetParam()) + 4000);
    for (int i = 0; i < 40; ++i) chaos.world.submit(chaos.draw_want());
    int quiet = 0;
    for (int round = 0; round < 60 && quiet < 5; ++round) {
        std::size_t evictions = 0;
        for (const Placement& placement : chaos.world.plan().placements)
            evictions += placement.evictions.size();
        chaos.world.settle();
        quiet = evictions == 0 ? quiet + 1 : 0;
    }
    EXPECT_EQ(quiet, 5);
}

// A verdict's remedy, applied, lets its workload start when it is its turn; what is behind needs
// nothing else.
void check_remedies(World& world, std::int64_t id) {
    const auto verdict = world.planner.verdict(RowId{id});
    ASSERT_TRUE(verdict);
    EXPECT_NE(verdict->reason.code, model::ReasonCode::none);
    std::vector<model::Remedy> remedies = verdict->remedies;
    if (verdict->reason.code == model::ReasonCode::behind)
        remedies.assign(1, {});  // held up for one before it: starts as soon as that is gone
    EXPECT_FALSE(remedies.empty());
    for (const model::Remedy& remedy : remedies) {
        const std::size_t mark = world.planner.mark();
        for (std::int64_t other : world.waiting())
            if (other != id) world.planner.remove_demand(RowId{other});
        std::string told;
        for (const model::Reason& step : remedy.steps) {
            std::map<std::string, std::string> params;
            for (const auto& param : step.params) {
                params[param.name] = param.value;
                told += param.name + "=" + param.value + " ";
            }
            if (step.code == model::ReasonCode::places) {
                const Want& want = world.want_of(id);
                for (std::int64_t i = 0; i < std::stoll(params["places"]); ++i)
                    world.add_place(want.devices, params["flavor"], want.cpu);
            } else {
                ASSERT_EQ(step.code, model::ReasonCode::quota_exhausted);
                world.raise(params["queue"], params["flavor"], params["bound"],
                            parse_milli(params["missing"]).value());
            }
        }
        const Plan plan = world.planner.plan(Instant{world.now}, 1'000'000'000);
        ASSERT_EQ(plan.placements.size(), 1U)
            << "workload " << id << " of queue " << world.want_of(id).queue << " after " << told;
        EXPECT_TRUE(plan.placements[0].evictions.empty()) << told;
        world.planner.rollback(mark);
    }
    world.planner.forget();
}

TEST_P(Property, what_would_change_a_verdict_does) {
    Chaos chaos(static_cast<std::uint64_t>(GetParam()) + 5000);
    for (int i = 0; i < 60; ++i) {
        chaos.step();
        if (i % 6 != 0) continue;
        for (int rounds = 0; !chaos.world.plan().placements.empty(); ++rounds)
            ASSERT_LT(rounds, 20);
        const std::vector<std::int64_t> waiting = chaos.world.waiting();
        for (std::size_t k = 0; k < waiting.size() && k < 4; ++k)
            check_remedies(chaos.world, waiting[(k * 7) % waiting.size()]);
        ASSERT_EQ(chaos.world.planner.recount(), "");
    }
}

// The newest snapshot, made from what was touched, tells what the rows tell.
TEST_P(Property, snapshots_follow_every_change) {
    Chaos chaos(static_cast<std::uint64_t>(GetParam()) + 6000);
    for (int i = 0; i < 80; ++i) {
        chaos.step();
        const auto snapshot = chaos.world.planner.snapshot();
        EXPECT_EQ(snapshot, chaos.world.planner.snapshot());
        std::map<std::string, std::int64_t> used;
        for (std::int64_t id : chaos.world.running())
            for (std::int64_t replica : chaos.world.replicas_of(id)) {
                const Entry* entry = chaos.world.planner.find_entry(RowId{replica});
                for (const auto& share : entry->devices) used[entry->queue] += share.milli;
            }
        used["left"] += used["team"];
        std::map<std::string, std::int64_t> shown;
        for (const QueueLine& line : snapshot->queue_lines()) shown[line.queue] += line.used;
        for (const char* queue : {"left", "right", "team", "free"})
            EXPECT_EQ(shown[queue], used[queue]) << queue << " at step " << i;
        std::map<std::string, std::vector<std::pair<std::int64_t, std::int64_t>>> order;
        for (std::int64_t id : chaos.world.waiting()) {
            const Want& want = chaos.world.want_of(id);
            order[want.queue].emplace_back(-want.priority, id);
        }
        for (auto& [queue, ids] : order) {
            std::ranges::sort(ids);
            for (std::size_t k = 0; k < ids.size(); ++k)
                ASSERT_EQ(snapshot->position(RowId{ids[k].second}),
                          static_cast<std::int64_t>(k) + 1);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Property, testing::Range(0, 60));

}  // namespace
}  // namespace tandem::sched

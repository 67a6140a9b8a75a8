// SPDX-License-Identifier: Apache-2.0
#include "whatif/test_town.h"

namespace tandem::whatif {
namespace {

using model::StartBasis;

const model::ForeseenWork* find(const model::Foresight& foresight, const std::string& name) {
    const auto found =
        std::ranges::find(foresight.work, name, [](const auto& work) { return work.object.name; });
    return found == foresight.work.end() ? nullptr : &*found;
}

model::Job timed(const std::string& name, std::int64_t replicas, Duration length) {
    model::Job job = Town::job(name, "work", replicas);
    job.spec.max_run_time = length;
    return job;
}

// Two cards, both in use by work that states its end.
struct what_if : testing::Test {
    void SetUp() override {
        town.run({Town::node("n", 2)});
        town.apply(Town::queue("work", "", 64));
        town.apply(timed("runs", 2, hours(1)));
        town.settle();
    }
    Town town;
};

TEST_F(what_if, without_a_change_tells_when_what_waits_starts_and_on_what_that_rests) {
    town.apply(timed("waits", 2, hours(2)));
    town.apply(timed("last", 1, hours(1)));
    const Instant start = *town.job_named("runs")->status.started;
    const auto told = town.ask({});
    ASSERT_TRUE(told) << told.error().message;
    EXPECT_FALSE(told->before);
    ASSERT_EQ(told->work.size(), 2u);
    EXPECT_EQ(told->work[0].object.name, "waits");
    ASSERT_TRUE(told->work[0].start);
    EXPECT_EQ(told->work[0].start->basis, StartBasis::proved);
    EXPECT_EQ(told->work[0].start->at, start + hours(1) + seconds(30));
    ASSERT_TRUE(told->work[1].start);
    EXPECT_EQ(told->work[1].start->basis, StartBasis::estimated);
    EXPECT_EQ(told->after.starts_now, 0);
    EXPECT_EQ(told->after.starts_later, 2);
}

TEST_F(what_if, work_that_states_no_end_is_taken_to_run_as_long_as_its_like) {
    for (const char* name : {"a", "b", "c"}) {
        town.end(name[0] == 'a' ? "runs" : name[0] == 'b' ? "a" : "b", minutes(30));
        town.apply(Town::job(name, "work", 2));
        town.settle();
    }
    town.apply(Town::job("waits", "work", 2));
    auto told = town.ask({});
    ASSERT_TRUE(told);
    const auto* waits = find(*told, "waits");
    ASSERT_TRUE(waits && waits->start);
    EXPECT_EQ(waits->start->basis, StartBasis::estimated);
    EXPECT_NEAR(static_cast<double>((waits->start->at - town.now).ms),
                static_cast<double>(minutes(30).ms), 1000.0);
}

TEST_F(what_if, nothing_that_ended_yet_and_no_stated_end_say_so_instead_of_a_time) {
    town.apply(Town::job("more", "work", 2));
    town.end("runs", minutes(1));
    // The one run that is known is taken off: only work without an end is left.
    EXPECT_FALSE(
        town.submit({model::DeleteObject{{model::Kind::job, "default", "default", "runs"}}}));
    town.apply(Town::job("waits", "work", 1));
    const auto told = town.ask({});
    ASSERT_TRUE(told);
    const auto* waits = find(*told, "waits");
    ASSERT_TRUE(waits);
    EXPECT_FALSE(waits->start);
    EXPECT_EQ(waits->no_start, model::NoStart::no_end);
    EXPECT_EQ(waits->waits.code, model::ReasonCode::no_capacity);
}

TEST_F(what_if, a_node_more_starts_what_waits_now_and_says_when_it_would_have) {
    town.apply(timed("waits", 2, hours(2)));
    const auto told = town.ask({.add_nodes = {{.name = "extra", .like = "n"}}});
    ASSERT_TRUE(told) << told.error().message;
    ASSERT_EQ(told->work.size(), 1u);
    ASSERT_TRUE(told->work[0].start && told->work[0].start_before);
    EXPECT_EQ(told->work[0].start->at, told->at);
    EXPECT_GT(told->work[0].start_before->at, told->at + minutes(59));
    EXPECT_EQ(told->after.starts_now, 1);
    EXPECT_EQ(told->before->starts_now, 0);
}

TEST_F(what_if, a_job_that_is_not_submitted_names_its_victims_and_what_they_lose) {
    town.now = town.now + minutes(10);
    model::WhatIf question;
    question.actions = {model::ApplyObject{.object = Town::job("urgent", "work", 1, 10)}};
    const auto told = town.ask(question);
    ASSERT_TRUE(told) << told.error().message;
    const auto* urgent = find(*told, "urgent");
    ASSERT_TRUE(urgent && urgent->start);
    EXPECT_TRUE(urgent->added);
    EXPECT_EQ(urgent->start->basis, StartBasis::proved);
    EXPECT_EQ(urgent->start->at, told->at + seconds(30));  // when the victim has left
    const auto* runs = find(*told, "runs");
    ASSERT_TRUE(runs);
    ASSERT_EQ(runs->evictions.size(), 1u);
    EXPECT_EQ(runs->evictions[0].reason.code, model::ReasonCode::preempted);
    EXPECT_EQ(runs->evictions[0].reason.params[0].value, "job/urgent");
    EXPECT_EQ(town.job_named("urgent"), nullptr);
}

TEST_F(what_if, draining_a_node_lets_its_work_wait_for_another) {
    const auto told = town.ask({.drain = {"n"}});
    ASSERT_TRUE(told) << told.error().message;
    const auto* runs = find(*told, "runs");
    ASSERT_TRUE(runs);
    EXPECT_EQ(runs->evictions.size(), 1u);
    EXPECT_FALSE(runs->start);
    EXPECT_EQ(told->after.evictions, 1);
}

TEST_F(what_if, leaves_every_row_and_the_planner_as_they_are) {
    town.apply(timed("waits", 2, hours(2)));
    const std::uint64_t before = town.driver.state().digest();
    ASSERT_TRUE(town.ask({.add_nodes = {{.name = "extra", .like = "n"}}, .drain = {"n"}}));
    EXPECT_EQ(town.driver.state().digest(), before);
    EXPECT_EQ(town.store.rows()->meta.version, town.driver.state().meta.version);
}

TEST_F(what_if, names_of_others_are_counted_only) {
    town.apply(timed("waits", 2, hours(2)));
    const auto told = foresee(town.store.rows().value(), {}, {.now = town.now},
                              {.may_see = [](const model::ObjectKey&) { return false; }});
    ASSERT_TRUE(told);
    EXPECT_TRUE(told->work.empty());
    EXPECT_EQ(told->of_others, 1);
}

TEST_F(what_if, a_walk_that_must_stop_says_how_far_it_came) {
    town.apply(timed("waits", 2, hours(2)));
    const auto told =
        foresee(town.store.rows().value(), {}, {.now = town.now, .stop = [] { return true; }}, {});
    ASSERT_TRUE(told);
    EXPECT_FALSE(told->after.complete);
    EXPECT_EQ(told->work.at(0).no_start, model::NoStart::too_long);
}

TEST_F(what_if, names_the_field_of_what_is_wrong) {
    const auto field_of = [&](const model::WhatIf& question) {
        const auto told = town.ask(question);
        return told ? std::string("accepted") : told.error().field;
    };
    const auto acting = [&](model::Action action) {
        return model::WhatIf{.actions = {std::move(action)}};
    };
    EXPECT_EQ(field_of({.horizon = Duration{}}), "horizon");
    EXPECT_EQ(field_of({.horizon = hours(24 * 32)}), "horizon");
    EXPECT_EQ(field_of({.drain = {"nowhere"}}), "drain[0]");
    EXPECT_EQ(field_of({.add_nodes = {{.name = "x", .like = "nowhere"}}}), "addNodes[0].like");
    EXPECT_EQ(field_of({.add_nodes = {{.name = "n", .like = "n"}}}), "addNodes[0].name");
    EXPECT_EQ(field_of({.add_nodes = {{.name = "x", .count = 0, .like = "n"}}}),
              "addNodes[0].count");
    EXPECT_EQ(
        field_of({.add_nodes = {{.name = "x", .devices = 1, .cpu_milli = 1, .memory_bytes = 1}}}),
        "addNodes[0].flavor");
    EXPECT_EQ(field_of({.priorities = {{.name = "nobody"}}}), "priorities[0].name");
    EXPECT_EQ(field_of({.priorities = {{.name = "runs", .priority = 5000}}}),
              "priorities[0].priority");
    EXPECT_EQ(field_of(acting(model::ApplyObject{.object = Town::job("x", "nowhere", 1)})),
              "actions[0].spec.queue");
    EXPECT_EQ(field_of(acting(model::ApplyObject{.object = Town::job("x", "work", 0)})),
              "actions[0].spec.roles[0].replicas");
    EXPECT_EQ(field_of(acting(model::ApplyObject{.object = model::Project{}})), "actions[0]");
    EXPECT_EQ(field_of(acting(model::AdoptTask{})), "actions[0]");
}

}  // namespace
}  // namespace tandem::whatif

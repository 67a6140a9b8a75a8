// SPDX-License-Identifier: Apache-2.0
// A world that is restored from what it had made durable, under the next generation.
#include <algorithm>

#include "core/test_world.h"

namespace tandem::core {
namespace {

using model::Phase;
using model::Replica;

class Restored : public testing::Test {
  protected:
    Restored() {
        world.add_node("n1", 3);
        world.apply(TestWorld::job("one", 1));
        world.start_all();
    }
    // As a store that a backup was restored into: the rows of now, everything raised.
    void restore() {
        RecoveredState rows;
        rows.meta = world.driver.state().meta;
        world.driver.state().each_table([&](const auto& table) {
            for (const auto& [id, row] : table.rows()) rows.objects.push_back(row);
        });
        for (const auto& [id, intent] : world.driver.state().intents.rows()) rows.open_intents.push_back(intent);
        std::map<RowId, model::UsageRecord> open;
        for (const model::BatchRecord& record : world.records) {
            for (const model::UsageRecord& row : record.open_intervals_put) open[row.id] = row;
            for (RowId gone : record.open_intervals_gone) open.erase(gone);
        }
        for (const auto& [id, row] : open) rows.open_intervals.push_back(row);
        rows.meta.generation += 1;
        rows.meta.version += 1'000'000;
        rows.meta.next_id += 1'000'000;
        rows.meta.epoch_base += 1'000'000;
        rows.meta.restored = true;
        world.recovered = std::move(rows);
        world.executed.clear();
        again.emplace(Driver::Ports{world, world, world, world});
        ASSERT_TRUE(again->start("test"));
    }
    void run(std::vector<model::Input> inputs) {
        world.now = world.now + milliseconds(1);
        ASSERT_EQ(again->run(std::move(inputs), {.now = world.now, .seed = seed_from(++world.seeds)}), BatchResult::committed);
    }
    void list(const std::vector<model::TaskName>& alive) {
        model::TasksListed listed{.executor = "local", .tasks = {}};
        for (const model::TaskName& task : alive) listed.tasks.push_back({.task = task, .handle = "pid 7", .endpoint = {}, .exit = {}, .start_error = {}});
        run({listed});
    }
    model::Answer ask(model::Action action) {
        const std::int64_t ticket = ++world.tickets;
        run({model::Command{.ticket = ticket,
                            .caller = {.subject = std::string(platform_subject), .key_id = {}, .request_id = {}},
                            .actions = {std::move(action)},
                            .idempotency_key = {},
                            .body_digest = {},
                            .dry_run = false}});
        return world.answers[ticket];
    }
    static model::ObjectKey rank(const std::string& job) { return {model::Kind::replica, "default", "default", job + "-worker-0"}; }
    const Replica& replica(const std::string& job) { return *again->state().table<Replica>().find_named("default", "default", job + "-worker-0"); }
    std::vector<model::StopTask> stops() {
        std::vector<model::StopTask> found;
        for (const auto& [id, intent] : again->state().intents.rows())
            if (const auto* stop = std::get_if<model::StopTask>(&intent.body)) found.push_back(*stop);
        return found;
    }

    TestWorld world;
    std::optional<Driver> again;
};

TEST_F(Restored, live_tasks_are_unknown_held_and_no_old_intent_is_done) {
    world.apply(TestWorld::job("two", 1));  // its start is still to be done
    const model::TaskName one = world.tasks_of("one")[0];
    restore();
    list({one});
    EXPECT_TRUE(world.executed.empty());
    EXPECT_TRUE(again->state().intents.rows().empty());
    for (const char* job : {"one", "two"}) EXPECT_EQ(replica(job).status.phase, Phase::unknown) << job;
    const auto& put = world.records.back().open_intervals_put;
    EXPECT_EQ(std::ranges::count_if(put, [](const auto& row) { return row.state == model::LedgerState::held; }), 1);
}

TEST_F(Restored, adopted_task_runs_on_under_the_name_it_was_started_by) {
    const model::TaskName task = world.tasks_of("one")[0];
    restore();
    list({task});
    ASSERT_FALSE(ask(model::AdoptTask{rank("one")}).error);
    EXPECT_EQ(replica("one").status.phase, Phase::running);
    EXPECT_EQ(task_name(again->state(), replica("one")), task);
    EXPECT_TRUE(std::ranges::any_of(world.records.back().audit, [](const auto& row) { return row.action == "replicas.update"; }));
    run({model::TaskExited{.task = task, .exit = {.code = 0, .signal = 0, .at = world.now}, .start_error = {}}});
    EXPECT_EQ(again->state().table<model::Job>().find_named("default", "default", "one")->status.phase, Phase::succeeded);
}

TEST_F(Restored, task_that_was_started_again_after_the_backup_is_the_one_that_is_adopted) {
    model::TaskName task = world.tasks_of("one")[0];
    task.epoch += 1;
    restore();
    list({task});
    ASSERT_FALSE(ask(model::AdoptTask{rank("one")}).error);
    EXPECT_EQ(task_name(again->state(), replica("one")), task);
}

TEST_F(Restored, ended_task_is_stopped_by_name_and_its_job_goes_on_by_its_rules) {
    const model::TaskName task = world.tasks_of("one")[0];
    restore();
    list({task});
    ASSERT_FALSE(ask(model::EndTask{rank("one")}).error);
    ASSERT_EQ(stops().size(), 1u);
    EXPECT_EQ(stops()[0].task, task);
    run({model::TaskExited{.task = task, .exit = {.code = -1, .signal = 15, .at = world.now}, .start_error = {}}});
    EXPECT_EQ(again->state().table<model::Job>().find_named("default", "default", "one")->status.phase, Phase::failed);
}

TEST_F(Restored, task_that_does_not_live_is_not_adopted_but_can_be_ended) {
    const model::TaskName task = world.tasks_of("one")[0];
    restore();
    list({});
    const model::Answer refused = ask(model::AdoptTask{rank("one")});
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(refused.error->code, ErrorCode::conflict);
    ASSERT_FALSE(ask(model::EndTask{rank("one")}).error);
    run({model::TaskGone{.task = task, .detail = "none"}});
    EXPECT_EQ(again->state().table<model::Job>().find_named("default", "default", "one")->status.phase, Phase::failed);
}

TEST_F(Restored, what_is_not_in_doubt_is_neither_adopted_nor_ended) {
    const model::TaskName task = world.tasks_of("one")[0];
    restore();
    list({task});
    ASSERT_FALSE(ask(model::AdoptTask{rank("one")}).error);
    EXPECT_EQ(ask(model::AdoptTask{rank("one")}).error->code, ErrorCode::conflict);
    EXPECT_EQ(ask(model::EndTask{rank("one")}).error->code, ErrorCode::conflict);
    EXPECT_EQ(ask(model::EndTask{{model::Kind::job, "default", "default", "one"}}).error->code, ErrorCode::not_found);
}

TEST_F(Restored, task_that_no_row_means_can_be_ended) {
    model::TaskName stray = world.tasks_of("one")[0];
    stray.uid = Uid{{1, 2, 3}};
    const model::TaskName task = world.tasks_of("one")[0];
    restore();
    list({task, stray});
    ASSERT_EQ(again->state().live.strays.rows().size(), 1u);
    ASSERT_FALSE(ask(model::EndTask{{model::Kind::replica, "", "", stray.text()}}).error);
    ASSERT_EQ(stops().size(), 1u);
    EXPECT_EQ(stops()[0].task, stray);
    run({model::TaskExited{.task = stray, .exit = {.code = -1, .signal = 15, .at = world.now}, .start_error = {}}});
    EXPECT_TRUE(again->state().live.strays.rows().empty());
    EXPECT_TRUE(again->state().intents.rows().empty());
}

// One device is job one's; a task that nothing means sits on the second, the third is free.
TEST_F(Restored, devices_of_a_task_that_no_row_means_are_given_to_nobody_while_it_lives) {
    const model::TaskName task = world.tasks_of("one")[0];
    model::TaskName stray = task;
    stray.uid = Uid{{1, 2, 3}};
    restore();
    const auto listed = [&](const model::TaskName& name, std::int64_t device) {
        return model::ListedTask{
            .task = name, .handle = "pid 7", .node = "n1", .devices = {{device, 500}}};
    };
    const std::int64_t own = replica("one").status.devices.at(0).index;
    const std::int64_t taken = (own + 1) % 3;
    const std::vector<model::ListedTask> both{listed(task, own), listed(stray, taken)};
    run({model::TasksListed{.executor = "local", .tasks = both}});
    const auto submit = [&](model::Job job) {
        EXPECT_FALSE(ask(model::ApplyObject{.object = std::move(job)}).error);
    };
    submit(TestWorld::job("two", 1));
    submit(TestWorld::job("three", 1));
    const auto phase = [&](const char* name) {
        return again->state()
            .table<model::Job>()
            .find_named("default", "default", name)
            ->status.phase;
    };
    EXPECT_EQ(phase("two"), Phase::starting);
    EXPECT_EQ(phase("three"), Phase::pending);
    const model::Node& node = *again->state().table<model::Node>().find_named("n1");
    EXPECT_EQ(node.status.devices.at(static_cast<std::size_t>(taken)).taken_by, stray.text());
    EXPECT_EQ(node.status.devices.at(static_cast<std::size_t>(own)).taken_by, "");
    // Told again, nothing changes; the node's report does not free it either.
    run({model::TasksListed{.executor = "local", .tasks = both},
         model::NodeReported{.name = "n1", .status = node.status}});
    EXPECT_EQ(phase("three"), Phase::pending);
    ASSERT_FALSE(ask(model::EndTask{{model::Kind::replica, "", "", stray.text()}}).error);
    EXPECT_EQ(phase("three"), Phase::pending);
    EXPECT_TRUE(std::ranges::any_of(world.records.back().events, [](const auto& event) {
        return event.reason.code == model::ReasonCode::task_ended &&
               event.about.kind == model::Kind::node;
    }));
    run({model::TaskExited{.task = stray, .exit = {.code = -1, .signal = 15, .at = world.now}}});
    EXPECT_EQ(phase("three"), Phase::starting);
    EXPECT_EQ(again->state().planner.recount(), "");
}

TEST_F(Restored,
       task_that_was_started_again_elsewhere_keeps_both_its_rows_devices_and_those_it_sits_on) {
    model::TaskName task = world.tasks_of("one")[0];
    task.epoch += 1;
    restore();
    const std::int64_t own = replica("one").status.devices.at(0).index;
    const std::int64_t other = (own + 1) % 3;
    run({model::TasksListed{
        .executor = "local",
        .tasks = {{.task = task, .handle = "pid 7", .node = "n1", .devices = {{other, 1000}}}}}});
    const model::Node& node = *again->state().table<model::Node>().find_named("n1");
    EXPECT_EQ(node.status.devices.at(static_cast<std::size_t>(other)).taken_by, task.text());
    EXPECT_EQ(ask(model::EndTask{{model::Kind::replica, "", "", task.text()}}).error->code,
              ErrorCode::conflict);
    ASSERT_FALSE(ask(model::AdoptTask{rank("one")}).error);
    run({model::TaskExited{.task = task, .exit = {.code = 0, .at = world.now}}});
    EXPECT_EQ(again->state()
                  .table<model::Node>()
                  .find_named("n1")
                  ->status.devices.at(static_cast<std::size_t>(other))
                  .taken_by,
              "");
}

TEST_F(Restored, decisions_on_old_tasks_are_events_and_starts_are_counted_truly) {
    const model::TaskName task = world.tasks_of("one")[0];
    restore();
    list({task});
    ASSERT_FALSE(ask(model::EndTask{rank("one")}).error);
    EXPECT_TRUE(std::ranges::any_of(world.records.back().events, [](const auto& event) {
        return event.reason.code == model::ReasonCode::task_ended &&
               event.about.kind == model::Kind::job;
    }));
    run({model::TaskExited{.task = task, .exit = {.code = -1, .signal = 15, .at = world.now}}});
    ASSERT_FALSE(
        ask(model::ActOnJob{{model::Kind::job, "default", "default", "one"}, model::JobAct::retry})
            .error);
    const model::Job& job =
        *again->state().table<model::Job>().find_named("default", "default", "one");
    ASSERT_EQ(job.status.phase, Phase::starting);
    EXPECT_GT(job.status.epoch, 1'000'000);
    EXPECT_EQ(job.status.starts, 2);
    EXPECT_EQ(replica("one").status.starts, 2);
}


TEST_F(Restored, job_whose_task_waits_for_a_decision_says_so_until_it_is_adopted) {
    const auto job = [this] {
        return again->state().table<model::Job>().find_named("default", "default", "one")->status;
    };
    const model::TaskName task = world.tasks_of("one")[0];
    restore();
    list({task});
    EXPECT_EQ(job().phase, Phase::unknown);
    EXPECT_EQ(job().reason.code, model::ReasonCode::old_generation);
    ASSERT_FALSE(ask(model::AdoptTask{rank("one")}).error);
    EXPECT_EQ(job().phase, Phase::running);
    EXPECT_EQ(job().reason.code, model::ReasonCode::none);
}

TEST_F(Restored, task_that_is_known_to_have_ended_waits_for_nobody) {
    const model::TaskName task = world.tasks_of("one")[0];
    restore();
    run({model::TasksListed{
        .executor = "local",
        .tasks = {{.task = task,
                   .handle = "pid 7",
                   .exit = model::TaskExit{.code = 0, .at = world.now, .server_absent = true}}}}});
    const model::Job& job =
        *again->state().table<model::Job>().find_named("default", "default", "one");
    EXPECT_EQ(job.status.phase, Phase::succeeded);
    EXPECT_EQ(again->state().planner.recount(), "");
    EXPECT_EQ(again->state().book.check(), "");
}

}  // namespace
}  // namespace tandem::core

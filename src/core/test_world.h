// SPDX-License-Identifier: Apache-2.0
// For tests: core's driver over ports that remember what they were told. Time moves only when told to.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/access.h"
#include "core/driver.h"
#include "core/jobs.h"

namespace tandem::core {

class TestWorld : public Store, public Executor, public Publisher, public AuditHasher {
  public:
    TestWorld() : driver({*this, *this, *this, *this}) {
        EXPECT_TRUE(driver.start("test"));
        run({model::TasksListed{.executor = "local", .tasks = {}}});
        submit_base();
    }

    // --- what a test does ---
    BatchResult run(std::vector<model::Input> inputs) {
        now = now + milliseconds(1);
        return driver.run(std::move(inputs), {.now = now, .seed = seed_from(++seeds)});
    }
    model::Answer submit(std::vector<model::Action> actions, const std::string& key = "", const std::string& body = "",
                         const std::string& subject = std::string(platform_subject)) {
        const std::int64_t ticket = ++tickets;
        run({model::Command{.ticket = ticket,
                            .caller = {.subject = subject, .key_id = {}, .request_id = {}},
                            .actions = std::move(actions),
                            .idempotency_key = key,
                            .body_digest = body,
                            .dry_run = false}});
        return answers[ticket];
    }
    model::Answer apply(model::Object object) { return submit({model::ApplyObject{.object = std::move(object)}}); }
    void pass(Duration time) {
        const Instant end = now + time;
        while (driver.next_wake() && *driver.next_wake() <= end) {
            now = std::max(now, *driver.next_wake());
            run({model::TimerFired{}});
        }
        now = end;
        run({model::TimerFired{}});
    }
    void add_node(const std::string& name, std::int64_t devices) {
        model::NodeReported report{.name = name, .status = {}};
        report.status.ready = true;
        report.status.cpu_milli = 64'000;
        report.status.memory_bytes = std::int64_t{1} << 40;
        for (std::int64_t i = 0; i < devices; ++i)
            report.status.devices.push_back({.index = i, .uuid = {}, .flavor = "card", .model = {}, .memory_bytes = 0, .cores = {}});
        run({report});
    }

    // --- objects ---
    template <class T>
    static T placed(const std::string& name) {
        T object;
        object.meta.name = name;
        object.meta.project = "default";
        object.meta.name_space = "default";
        return object;
    }
    static model::Job job(const std::string& name, std::int64_t replicas, std::int64_t priority = 0) {
        model::Job job = placed<model::Job>(name);
        job.spec.command = {"work"};
        job.spec.priority = priority;
        model::JobRole role;
        role.replicas = replicas;
        role.resources.devices = 1000;
        job.spec.roles = {role};
        return job;
    }

    // --- what a test sees ---
    const model::Job& job_named(const std::string& name) const {
        const model::Job* job = driver.state().table<model::Job>().find_named("default", "default", name);
        EXPECT_TRUE(job) << name;
        return *job;
    }
    model::Phase phase_of(const std::string& name) const { return job_named(name).status.phase; }
    // Open intents of one kind, oldest first.
    template <class T>
    std::vector<T> open() const {
        std::vector<T> found;
        for (const auto& [id, intent] : driver.state().intents.rows())
            if (const T* body = std::get_if<T>(&intent.body)) found.push_back(*body);
        return found;
    }
    void start_all() {
        std::vector<model::Input> inputs;
        for (const model::StartTask& start : open<model::StartTask>())
            inputs.push_back(model::TaskStarted{.task = start.task, .handle = "h", .endpoint = start.wants_port ? "127.0.0.1:9" : "", .at = now});
        run(std::move(inputs));
    }
    void exit_task(const model::TaskName& task, std::int64_t code, std::int64_t signal = 0) {
        run({model::TaskExited{.task = task, .exit = {.code = code, .signal = signal, .at = now}, .start_error = {}}});
    }
    void stop_all(std::int64_t code = -1, std::int64_t signal = 15) {
        for (const model::StopTask& stop : open<model::StopTask>()) exit_task(stop.task, code, signal);
    }
    std::vector<model::TaskName> tasks_of(const std::string& job) const {
        std::vector<model::TaskName> names;
        for (RowId id : replicas_of(driver.state(), job_named(job).meta.id))
            names.push_back(task_name(driver.state(), driver.state().table<model::Replica>().get(id)));
        return names;
    }

    // --- ports ---
    Result<RecoveredState> recover() override { return recovered; }
    Status open_segment(const model::CoreMeta& meta, std::string_view, const model::LiveMemory* live) override {
        if (no_segment) return fail(ErrorCode::storage_full, "no space");
        segments.push_back(meta.segment);
        full_segment = full_segment && live == nullptr;
        return {};
    }
    bool segment_is_full() const override { return full_segment; }
    CommitOutcome commit(const model::BatchRecord& record) override {
        if (outcome == CommitOutcome::committed) records.push_back(record);
        return outcome;
    }
    void execute(const model::Intent& intent) override { executed.push_back(intent); }
    void forget(RowId) override {}
    void settle(const model::TaskName& task) override { settled.push_back(task); }
    void publish(const model::BatchRecord&, const State&) override {}
    void answer(const model::Answer& answer) override { answers[answer.ticket] = answer; }
    void grant(std::int64_t, const std::vector<model::LeaseGrant>&) override {}
    void acknowledge(std::int64_t, std::int64_t sequence) override { acknowledged = sequence; }
    std::string hash(std::string_view previous, const model::AuditRecord& record) override {
        return std::string(previous).substr(0, 8) + std::to_string(record.sequence);
    }

    Instant now{1'000'000};
    std::uint64_t seeds = 0;
    std::int64_t tickets = 0;
    std::int64_t acknowledged = 0;
    CommitOutcome outcome = CommitOutcome::committed;
    RecoveredState recovered{};
    std::vector<std::int64_t> segments;
    bool full_segment = false;
    bool no_segment = false;
    std::vector<model::BatchRecord> records;
    std::vector<model::Intent> executed;
    std::vector<model::TaskName> settled;
    std::map<std::int64_t, model::Answer> answers;
    Driver driver;

  private:
    void submit_base() {
        std::vector<model::Action> actions;
        const auto add = [&](model::Object object) { actions.push_back(model::ApplyObject{.object = std::move(object)}); };
        model::Project project;
        project.meta.name = "default";
        add(project);
        model::Namespace name_space;
        name_space.meta.name = "default";
        name_space.meta.project = "default";
        add(name_space);
        model::Pool pool;
        pool.meta.name = "default";
        add(pool);
        model::Queue queue;
        queue.meta.name = "default";
        add(queue);
        const model::Answer answer = submit(std::move(actions));
        EXPECT_FALSE(answer.error) << answer.error->field << ": " << answer.error->message;
    }
};

}  // namespace tandem::core

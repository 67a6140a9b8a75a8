// SPDX-License-Identifier: Apache-2.0
// For tests: a town is core's driver over the memory store, with tasks that start at once and end
// when told.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/access.h"
#include "core/driver.h"
#include "core/jobs.h"
#include "store/memory/memory_store.h"
#include "whatif/foresee.h"

namespace tandem::whatif {

class Town : public core::Executor, public core::Publisher, public core::AuditHasher {
  public:
    Town() : store(std::make_shared<store::MemoryDisk>()), driver({store, *this, *this, *this}) {
        EXPECT_TRUE(driver.start("test"));
        run({model::TasksListed{.executor = "local", .tasks = {}}});
        model::Project project;
        project.meta.name = "default";
        model::Namespace name_space;
        name_space.meta.name = name_space.meta.project = "default";
        model::Pool pool;
        pool.meta.name = "default";
        submit({model::ApplyObject{project}, model::ApplyObject{name_space},
                model::ApplyObject{pool}});
    }

    void run(std::vector<model::Input> inputs) {
        started.clear();
        evicted.clear();
        EXPECT_EQ(driver.run(std::move(inputs), {.now = now, .seed = seed_from(++seeds)}),
                  core::BatchResult::committed);
    }
    std::optional<Error> submit(std::vector<model::Action> actions,
                                std::vector<model::Input> before = {}) {
        error.reset();
        before.push_back(model::Command{.ticket = 1,
                                        .caller = {.subject = std::string(core::platform_subject)},
                                        .actions = std::move(actions)});
        run(std::move(before));
        return error;
    }
    void apply(model::Object object) {
        EXPECT_FALSE(submit({model::ApplyObject{.object = std::move(object)}}));
    }
    // Everything that was asked of tasks is done.
    void settle() {
        while (!replies.empty()) {
            now = now + milliseconds(1);
            run(std::exchange(replies, {}));
        }
    }
    void end(const std::string& name, Duration after) {
        now = now + after;
        for (const model::TaskName& task : tasks_of(name))
            replies.push_back(model::TaskExited{.task = task, .exit = {.code = 0, .at = now}});
        settle();
    }
    std::vector<model::TaskName> tasks_of(const std::string& name) const {
        std::vector<model::TaskName> names;
        const auto* job = job_named(name);
        for (RowId id : core::replicas_of(driver.state(), job->meta.id))
            names.push_back(
                core::task_name(driver.state(), driver.state().table<model::Replica>().get(id)));
        return names;
    }
    const model::Job* job_named(const std::string& name) const {
        return driver.state().table<model::Job>().find_named("default", "default", name);
    }
    std::string phase_of(const std::string& name) const {
        return std::string(model::name_of(job_named(name)->status.phase));
    }

    static model::NodeReported node(const std::string& name, std::int64_t devices) {
        model::NodeReported report{.name = name, .status = {}};
        report.status = {.ready = true,
                         .executor = "local",
                         .cpu_milli = 64'000,
                         .memory_bytes = std::int64_t{1} << 40};
        for (std::int64_t i = 0; i < devices; ++i)
            report.status.devices.push_back({.index = i, .flavor = "card"});
        return report;
    }
    static model::Job job(const std::string& name, const std::string& queue, std::int64_t replicas,
                          std::int64_t priority = 0) {
        model::Job job;
        job.meta.name = name;
        job.meta.project = job.meta.name_space = "default";
        job.spec.queue = queue;
        job.spec.command = {"work"};
        job.spec.priority = priority;
        job.spec.grace = seconds(30);
        model::JobRole role;
        role.replicas = replicas;
        role.resources.devices = 1000;
        job.spec.roles = {role};
        return job;
    }
    static model::Queue queue(const std::string& name, const std::string& parent,
                              std::int64_t nominal) {
        model::Queue queue;
        queue.meta.name = name;
        queue.spec.parent = parent;
        queue.spec.pool = "default";
        model::FlavorQuota quota;
        quota.flavor = "card";
        quota.nominal = nominal * 1000;
        queue.spec.quotas = {quota};
        return queue;
    }
    Result<model::Foresight> ask(const model::WhatIf& question, const View& view = {}) {
        return foresee(store.rows().value(), question, {.now = now}, view);
    }

    void execute(const model::Intent& intent) override {
        if (const auto* one = std::get_if<model::StartTask>(&intent.body)) {
            if (const auto* job = driver.state().table<model::Job>().find_uid(one->task.uid))
                started.insert(job->meta.name);
            replies.push_back(model::TaskStarted{one->task, "h", "", now});
        }
        if (const auto* one = std::get_if<model::StopTask>(&intent.body))
            replies.push_back(model::TaskExited{.task = one->task,
                                                .exit = {.code = -1, .signal = 15, .at = now}});
    }
    void forget(RowId) override {}
    void settle(const model::TaskName&) override {}
    void publish(const model::BatchRecord& record, const core::State&) override {
        for (const model::EventRecord& event : record.events)
            if (event.reason.code == model::ReasonCode::preempted ||
                event.reason.code == model::ReasonCode::reclaimed ||
                event.reason.code == model::ReasonCode::requeued_by_request)
                evicted.insert(event.about.name);
    }
    void answer(const model::Answer& answer) override { error = answer.error; }
    void grant(std::int64_t, const std::vector<model::LeaseGrant>&) override {}
    void acknowledge(std::int64_t, std::int64_t) override {}
    std::string hash(std::string_view, const model::AuditRecord&) override { return "hash"; }

    Instant now{1'000'000'000'000};
    std::uint64_t seeds = 0;
    std::set<std::string> started, evicted;  // by the last batch
    std::vector<model::Input> replies;
    std::optional<Error> error;
    store::MemoryStore store;
    core::Driver driver;
};

}  // namespace tandem::whatif

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "model/check.h"
#include "model/limits.h"

namespace tandem::model {
namespace {

Job good_job() {
    Job job;
    job.meta = {.name = "train", .project = "default", .name_space = "default"};
    job.spec.command = {"python3", "train.py"};
    job.spec.roles = {{.resources = {.devices = 1000}}};
    return job;
}
Service good_service() {
    Service service;
    service.meta = {.name = "chat", .project = "default", .name_space = "default"};
    service.spec.model = "tiny";
    service.spec.resources.devices = 500;
    return service;
}
Queue good_queue() {
    Queue queue;
    queue.meta.name = "team";
    queue.spec.quotas = {{.flavor = "*", .nominal = 2000}};
    return queue;
}
Pool good_pool() {
    Pool pool;
    pool.meta.name = "held";
    pool.spec = {.form = Form::reserved, .from = "default", .flavor = "cpu-slice", .devices = 1};
    return pool;
}
ApiKey good_key() {
    ApiKey key;
    key.meta.name = "laptop";
    key.spec = {.subject = "user:ann", .key_id = "abcdef012345", .digest = std::string(64, 'a')};
    return key;
}
ModelVersion good_version() {
    ModelVersion version;
    version.meta = {.name = "tiny.v3", .project = "default", .name_space = "default"};
    version.spec = {.model = "tiny", .number = 3, .digest = "sha256:" + std::string(64, '0')};
    return version;
}
Runtime good_runtime() {
    Runtime runtime;
    runtime.meta.name = "llama-cpp";
    runtime.spec.command = {"server", "--port", "{port}"};
    return runtime;
}

template <class T>
struct Case {
    const char* field;
    std::function<void(T&)> spoil;
};

template <class T>
void expect_each_refused(const T& good, const std::vector<Case<T>>& cases) {
    const Status status = check_object(good);
    EXPECT_TRUE(status) << status.error().field << ": " << status.error().message;
    for (const Case<T>& item : cases) {
        T bad = good;
        item.spoil(bad);
        const Status refused = check_object(bad);
        ASSERT_FALSE(refused) << item.field;
        EXPECT_EQ(refused.error().code, ErrorCode::invalid);
        EXPECT_EQ(refused.error().field, item.field) << refused.error().message;
        EXPECT_FALSE(refused.error().message.empty());
    }
}

TEST(check_meta, names_and_scopes_are_held) {
    expect_each_refused<Job>(
        good_job(), {
                        {"metadata.name", [](Job& j) { j.meta.name = "a/b"; }},
                        {"metadata.name", [](Job& j) { j.meta.name = std::string(300, 'a'); }},
                        {"metadata.project", [](Job& j) { j.meta.project.clear(); }},
                        {"metadata.namespace", [](Job& j) { j.meta.name_space.clear(); }},
                        {"metadata.generation", [](Job& j) { j.meta.generation = -1; }},
                        {"metadata.labels", [](Job& j) { j.meta.labels[""] = "x"; }},
                        {"metadata.labels", [](Job& j) { j.meta.labels["a b"] = "x"; }},
                        {"metadata.labels", [](Job& j) { j.meta.labels["a=b"] = "x"; }},
                        {"metadata.labels.team", [](Job& j) { j.meta.labels["team"] = "a b"; }},
                        {"metadata.labels.team", [](Job& j) { j.meta.labels["team"] = "a,b"; }},
                        {"metadata.annotations",
                         [](Job& j) { j.meta.annotations["x"] = std::string(300'000, 'a'); }},
                    });
    expect_each_refused<Queue>(
        good_queue(), {{"metadata.project", [](Queue& q) { q.meta.project = "default"; }}});
}

TEST(check_job, message_states_range_and_value) {
    Job job = good_job();
    job.spec.roles[0].replicas = 0;
    const Status status = check_object(job);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().field, "spec.roles[0].replicas");
    EXPECT_EQ(status.error().message, "must be 1..10000, is 0");
}

TEST(check_job, each_mistake_names_its_field) {
    expect_each_refused<Job>(
        good_job(),
        {{"spec.queue", [](Job& j) { j.spec.queue.clear(); }},
         {"spec.priority", [](Job& j) { j.spec.priority = 1001; }},
         {"spec.priority", [](Job& j) { j.spec.priority = INT64_MIN; }},
         {"spec.command", [](Job& j) { j.spec.command.clear(); }},
         {"spec.command", [](Job& j) { j.spec.command = {""}; }},
         {"spec.command", [](Job& j) { j.spec.command.resize(5000, "x"); }},
         {"spec.command[1]", [](Job& j) { j.spec.command[1] = std::string(200'000, 'x'); }},
         {"spec.command[1]", [](Job& j) { j.spec.command[1] = std::string("a\0b", 3); }},
         {"spec.command", [](Job& j) { j.spec.command.resize(8, std::string(100'000, 'x')); }},
         {"spec.env.1A", [](Job& j) { j.spec.env["1A"] = ""; }},
         {"spec.env.A=B", [](Job& j) { j.spec.env["A=B"] = ""; }},
         {"spec.env.TANDEM_X", [](Job& j) { j.spec.env["TANDEM_X"] = ""; }},
         {"spec.env.A", [](Job& j) { j.spec.env["A"] = std::string(1, '\0'); }},
         {"spec.env", [](Job& j) { j.spec.env["A"] = std::string(300'000, 'x'); }},
         {"spec.env.RANK",
          [](Job& j) {
              j.spec.form = JobTemplate::torchrun;
              j.spec.env["RANK"] = "0";
          }},
         {"spec.workingDirectory", [](Job& j) { j.spec.working_directory = "here"; }},
         {"spec.workingDirectory", [](Job& j) { j.spec.working_directory = "/a/../b"; }},
         {"spec.roles", [](Job& j) { j.spec.roles.clear(); }},
         {"spec.roles", [](Job& j) { j.spec.roles.resize(20, j.spec.roles[0]); }},
         {"spec.roles[0].replicas", [](Job& j) { j.spec.roles[0].replicas = -1; }},
         {"spec.roles[0].replicas", [](Job& j) { j.spec.roles[0].replicas = 10'001; }},
         {"spec.roles[0].name", [](Job& j) { j.spec.roles[0].name = "A"; }},
         {"spec.roles[0].name", [](Job& j) { j.spec.roles[0].name = std::string(60, 'a'); }},
         {"spec.roles[1].name", [](Job& j) { j.spec.roles.push_back(j.spec.roles[0]); }},
         {"spec.roles",
          [](Job& j) {
              j.spec.roles[0].replicas = 9999;
              j.spec.roles.push_back(j.spec.roles[0]);
              j.spec.roles[1].name = "other";
          }},
         {"spec.roles[0].resources.devices", [](Job& j) { j.spec.roles[0].resources.devices = 0; }},
         {"spec.roles[0].resources.flavor",
          [](Job& j) { j.spec.roles[0].resources.flavor = "h100|"; }},
         {"spec.roles[0].resources.flavor",
          [](Job& j) { j.spec.roles[0].resources.flavor = "h100,,a100"; }},
         {"spec.roles[0].resources.flavor",
          [](Job& j) { j.spec.roles[0].resources.flavor = "h100|A 100"; }},
         {"spec.roles[0].resources.tolerations[1]",
          [](Job& j) { j.spec.roles[0].resources.tolerations = {"a", "a"}; }},
         {"spec.roles[0].resources.tolerations[0]",
          [](Job& j) { j.spec.roles[0].resources.tolerations = {"a b"}; }},
         {"spec.roles[0].resources.devices",
          [](Job& j) { j.spec.roles[0].resources.devices = -500; }},
         {"spec.roles[0].resources.devices",
          [](Job& j) { j.spec.roles[0].resources.devices = 1500; }},
         {"spec.roles[0].resources.devices",
          [](Job& j) { j.spec.roles[0].resources.devices = INT64_MAX; }},
         {"spec.roles[0].resources.flavor",
          [](Job& j) { j.spec.roles[0].resources.flavor = "A b"; }},
         {"spec.roles[0].resources.cpu", [](Job& j) { j.spec.roles[0].resources.cpu_milli = -1; }},
         {"spec.roles[0].resources.memory",
          [](Job& j) { j.spec.roles[0].resources.memory_bytes = INT64_MAX; }},
         {"spec.grace", [](Job& j) { j.spec.grace = hours(25); }},
         {"spec.retries.limit", [](Job& j) { j.spec.retries.limit = -1; }},
         {"spec.retries.backoff", [](Job& j) { j.spec.retries.backoff = hours(1); }},
         {"spec.maxRunTime", [](Job& j) { j.spec.max_run_time = Duration{}; }},
         {"spec.heartbeatTimeout", [](Job& j) { j.spec.heartbeat_timeout = milliseconds(5); }},
         {"spec.silenceTimeout", [](Job& j) { j.spec.silence_timeout = duration_max; }},
         {"spec.checkpoint.directory", [](Job& j) { j.spec.checkpoint.directory = "/data"; }},
         {"spec.checkpoint.directory",
          [](Job& j) { j.spec.checkpoint = {.enabled = true, .directory = "data"}; }}});
}

TEST(check_job, outputs_stay_in_their_folder) {
    expect_each_refused<Job>(
        good_job(),
        {
            {"spec.outputs[0].name", [](Job& j) { j.spec.outputs = {{"", "x"}}; }},
            {"spec.outputs[0].path", [](Job& j) { j.spec.outputs = {{"w", ""}}; }},
            {"spec.outputs[0].path", [](Job& j) { j.spec.outputs = {{"w", "/etc/passwd"}}; }},
            {"spec.outputs[0].path", [](Job& j) { j.spec.outputs = {{"w", "a/../../b"}}; }},
            {"spec.outputs[0].path", [](Job& j) { j.spec.outputs = {{"w", ".."}}; }},
            {"spec.outputs[0].path", [](Job& j) { j.spec.outputs = {{"w", "a//b"}}; }},
            {"spec.outputs[1].name", [](Job& j) { j.spec.outputs = {{"w", "a"}, {"w", "b"}}; }},
            {"spec.outputs[1].path", [](Job& j) { j.spec.outputs = {{"w", "a"}, {"v", "a"}}; }},
        });
}

TEST(check_job, borders_are_allowed) {
    Job job = good_job();
    job.spec.priority = -limits::priority_max;
    job.spec.roles[0].replicas = limits::replicas_max;
    job.spec.roles[0].resources.devices = 1;
    job.spec.grace = Duration{};
    job.spec.env = {{"_A1", "x=\n"}};
    job.spec.outputs = {{"w", "..a/b..c/..."}};
    job.spec.checkpoint = {.enabled = true, .directory = "/data/run"};
    const Status status = check_object(job);
    EXPECT_TRUE(status) << status.error().field << status.error().message;
}

TEST(check_service, each_mistake_names_its_field) {
    expect_each_refused<Service>(
        good_service(),
        {
            {"spec.model", [](Service& s) { s.spec.model.clear(); }},
            {"spec.version", [](Service& s) { s.spec.version = -1; }},
            {"spec.runtime", [](Service& s) { s.spec.runtime.clear(); }},
            {"spec.publicName", [](Service& s) { s.spec.public_name = "/x"; }},
            {"spec.publicName", [](Service& s) { s.spec.public_name = "a b"; }},
            {"spec.resources.devices", [](Service& s) { s.spec.resources.devices = 0; }},
            {"spec.replicas.min", [](Service& s) { s.spec.replicas.min = -1; }},
            {"spec.replicas.min", [](Service& s) { s.spec.replicas.min = 2; }},
            {"spec.replicas.max", [](Service& s) { s.spec.replicas.max = 0; }},
            {"spec.replicas.concurrency", [](Service& s) { s.spec.replicas.concurrency = 0; }},
            {"spec.replicas.idleTimeout",
             [](Service& s) { s.spec.replicas.idle_timeout = Duration{}; }},
            {"spec.contextLength", [](Service& s) { s.spec.context_length = 0; }},
            {"spec.threads", [](Service& s) { s.spec.threads = 0; }},
            {"spec.drainTimeout", [](Service& s) { s.spec.drain_timeout = hours(48); }},
            {"spec.priority", [](Service& s) { s.spec.priority = -1001; }},
        });
}

TEST(check_model_version, each_mistake_names_its_field) {
    expect_each_refused<ModelVersion>(
        good_version(),
        {
            {"metadata.name", [](ModelVersion& v) { v.meta.name = "tiny.v4"; }},
            {"spec.number", [](ModelVersion& v) { v.spec.number = 0; }},
            {"spec.digest", [](ModelVersion& v) { v.spec.digest = std::string(64, '0'); }},
            {"spec.digest", [](ModelVersion& v) { v.spec.digest.back() = 'G'; }},
            {"spec.bytes", [](ModelVersion& v) { v.spec.bytes = -1; }},
            {"spec.format", [](ModelVersion& v) { v.spec.format = "safetensors"; }},
            {"spec.sourceJob", [](ModelVersion& v) { v.spec.source_job = "train"; }},
        });
}

TEST(check_runtime, each_mistake_names_its_field) {
    expect_each_refused<Runtime>(
        good_runtime(),
        {
            {"spec.command", [](Runtime& r) { r.spec.command.clear(); }},
            {"spec.command", [](Runtime& r) { r.spec.command = {"server"}; }},
            {"spec.readyTimeout", [](Runtime& r) { r.spec.ready_timeout = Duration{}; }},
        });
    Runtime by_env = good_runtime();
    by_env.spec.command = {"server"};
    by_env.spec.env["PORT"] = "{port}";
    EXPECT_TRUE(check_object(by_env));
}

TEST(check_pool, each_mistake_names_its_field) {
    expect_each_refused<Pool>(
        good_pool(), {
                         {"spec.form", [](Pool& p) { p.spec.form = Form::spot; }},
                         {"spec.form", [](Pool& p) { p.spec.form = Form::physical_dedicated; }},
                         {"spec.from", [](Pool& p) { p.spec.from.clear(); }},
                         {"spec.from", [](Pool& p) { p.spec.from = "held"; }},
                         {"spec.flavor", [](Pool& p) { p.spec.flavor.clear(); }},
                         {"spec.devices", [](Pool& p) { p.spec.devices = 0; }},
                         {"spec.from", [](Pool& p) { p.spec.form = Form::shared; }},
                         {"spec.projects[1]", [](Pool& p) { p.spec.projects = {"a", "a"}; }},
                     });
}

TEST(check_queue, each_mistake_names_its_field) {
    expect_each_refused<Queue>(
        good_queue(),
        {
            {"spec.parent", [](Queue& q) { q.spec.parent = "team"; }},
            {"spec.pool", [](Queue& q) { q.spec.pool = "A"; }},
            {"spec.projects[0]", [](Queue& q) { q.spec.projects = {"A"}; }},
            {"spec.quotas[0].flavor", [](Queue& q) { q.spec.quotas[0].flavor.clear(); }},
            {"spec.quotas[0].nominal", [](Queue& q) { q.spec.quotas[0].nominal = unlimited; }},
            {"spec.quotas[0].max", [](Queue& q) { q.spec.quotas[0].max = 1000; }},
            {"spec.quotas[0].borrowLimit", [](Queue& q) { q.spec.quotas[0].borrow_limit = -2; }},
            {"spec.quotas[0].lendLimit", [](Queue& q) { q.spec.quotas[0].lend_limit = INT64_MAX; }},
            {"spec.quotas[0].weight", [](Queue& q) { q.spec.quotas[0].weight = -1; }},
            {"spec.quotas[0].weight", [](Queue& q) { q.spec.quotas[0].weight = 1'000'001; }},
            {"spec.preemption.perMinute", [](Queue& q) { q.spec.preemption.per_minute = -1; }},
            {"spec.preemption.burst", [](Queue& q) { q.spec.preemption.burst = 0; }},
            {"spec.minRunTime", [](Queue& q) { q.spec.min_run_time = Duration{-1}; }},
            {"spec.usageHalfLife", [](Queue& q) { q.spec.usage_half_life = Duration{}; }},
            {"spec.quotas[1].flavor", [](Queue& q) { q.spec.quotas.push_back(q.spec.quotas[0]); }},
        });
}

TEST(check_identity, each_mistake_names_its_field) {
    expect_each_refused<ApiKey>(
        good_key(),
        {
            {"spec.subject", [](ApiKey& k) { k.spec.subject = "ann"; }},
            {"spec.subject", [](ApiKey& k) { k.spec.subject = "serviceaccount:bot"; }},
            {"spec.keyId", [](ApiKey& k) { k.spec.key_id = "ABC"; }},
            {"spec.digest", [](ApiKey& k) { k.spec.digest.clear(); }},
            {"spec.project", [](ApiKey& k) { k.spec.project = "/"; }},
            {"spec.services[0]", [](ApiKey& k) { k.spec.services = {""}; }},
            {"spec.requestsPerMinute", [](ApiKey& k) { k.spec.requests_per_minute = -1; }},
            {"spec.concurrency", [](ApiKey& k) { k.spec.concurrency = 0; }},
        });
    RoleBinding binding;
    binding.meta.name = "b";
    binding.spec.subject = "serviceaccount:default/bot";
    expect_each_refused<RoleBinding>(
        binding, {{"spec.project", [](RoleBinding& b) { b.spec.project = "A"; }}});
    Project project;
    project.meta.name = "vision";
    expect_each_refused<Project>(
        project,
        {
            {"spec.title", [](Project& p) { p.spec.title = "a\nb"; }},
            {"spec.dataOwner", [](Project& p) { p.spec.data_owner = std::string(2000, 'a'); }},
        });
}

}  // namespace
}  // namespace tandem::model

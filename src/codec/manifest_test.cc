// SPDX-License-Identifier: Apache-2.0
#include "codec/manifest.h"

#include <gtest/gtest.h>

#include "codec/describe_identity.h"
#include "codec/describe_record.h"
#include "codec/describe_service.h"
#include "codec/describe_window.h"
#include "codec/test_random_fields.h"

namespace tandem::codec {
namespace {

constexpr std::string_view train = R"(
apiVersion: tandem/v1
kind: Job
metadata:
  name: train
  project: default
  namespace: default
  labels: {team: nlp, size: 2}
spec:
  priority: -5
  template: torchrun
  command: [python3, train.py, --lr, 0.001, --fast, true]
  env: {OMP_NUM_THREADS: 1, EMPTY: ""}
  roles:
    - name: worker
      replicas: 2
      resources: {devices: 0.5, flavor: cpu-slice, cpu: 250m, memory: 1.5Gi}
  checkpoint: {enabled: true}
  maxRunTime: 1h30m
  outputs: [{name: weights, path: model.gguf}]
)";

model::Job job_of(std::string_view text) {
    const auto object = parse_manifest_text(text);
    EXPECT_TRUE(object) << (object ? "" : object.error().field + ": " + object.error().message);
    return object && std::holds_alternative<model::Job>(*object) ? std::get<model::Job>(*object)
                                                                 : model::Job{};
}

TEST(manifest, yaml_job_is_read_exactly) {
    const model::Job job = job_of(train);
    EXPECT_EQ(job.meta.labels.at("size"), "2");
    EXPECT_EQ(job.spec.priority, -5);
    EXPECT_EQ(job.spec.form, model::JobTemplate::torchrun);
    EXPECT_EQ(job.spec.command,
              (std::vector<std::string>{"python3", "train.py", "--lr", "0.001", "--fast", "true"}));
    EXPECT_EQ(job.spec.env.at("EMPTY"), "");
    ASSERT_EQ(job.spec.roles.size(), 1u);
    EXPECT_EQ(job.spec.roles[0].resources.devices, 500);
    EXPECT_EQ(job.spec.roles[0].resources.cpu_milli, 250);
    EXPECT_EQ(job.spec.roles[0].resources.memory_bytes, 3LL << 29);
    EXPECT_EQ(job.spec.max_run_time, minutes(90));
    EXPECT_EQ(job.spec.grace, seconds(30));
    EXPECT_EQ(job.spec.queue, "default");
}

TEST(manifest, what_get_shows_can_be_sent_back) {
    Random random(seed_from(3));
    for (int i = 0; i < 200; ++i) {
        model::Object object;
        RandomFields(random).fill(object);
        const auto shown = parse_json(render_object(object));
        ASSERT_TRUE(shown);
        for (const std::string& text : {render_json_pretty(*shown), render_json(*shown)}) {
            const auto back = parse_manifest_text(text);
            ASSERT_TRUE(back) << back.error().field << ": " << back.error().message << "\n" << text;
            EXPECT_EQ(key_of(*back), key_of(object));
            EXPECT_EQ(meta_of(*back).generation, meta_of(object).generation);
            EXPECT_EQ(meta_of(*back).version, 0);
        }
    }
}

TEST(manifest, what_get_shows_as_yaml_can_be_sent_back) {
    model::Job job = job_of(train);
    job.meta.version = 12;
    job.meta.uid = Uid{{1}};
    job.status.phase = model::Phase::running;
    const std::string yaml = render_yaml(*parse_json(render_object(job)));
    const model::Job back = job_of(yaml);
    EXPECT_EQ(back.spec, job.spec) << yaml;
    EXPECT_EQ(back.status, model::JobStatus{});
}

struct Bad {
    const char* json;
    const char* field;
    const char* says;
};
std::ostream& operator<<(std::ostream& out, const Bad& bad) {
    return out << bad.json;
}

class BadManifest : public testing::TestWithParam<Bad> {};

TEST_P(BadManifest, is_refused_by_field) {
    const auto object = parse_manifest_text(GetParam().json);
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().code, ErrorCode::invalid);
    EXPECT_EQ(object.error().field, GetParam().field) << object.error().message;
    EXPECT_NE(object.error().message.find(GetParam().says), std::string::npos)
        << object.error().message;
}

#define JOB_WITH(spec) \
    R"({"apiVersion":"tandem/v1","kind":"Job","metadata":{"name":"a"},"spec":)" spec "}"
INSTANTIATE_TEST_SUITE_P(
    table, BadManifest,
    testing::Values(
        Bad{"[]", "", "must be a group of fields, is a list"}, Bad{"3", "", "must be a group"},
        Bad{R"({"kind":"Job"})", "apiVersion", "tandem/v1"},
        Bad{R"({"apiVersion":"v1","kind":"Job"})", "apiVersion", "is \"v1\""},
        Bad{R"({"apiVersion":"tandem/v1"})", "kind", "Job"},
        Bad{R"({"apiVersion":"tandem/v1","kind":"Pod"})", "kind", "is \"Pod\""},
        Bad{R"({"apiVersion":"tandem/v1","kind":"Job","spce":{}})", "spce",
            "apiVersion, kind, metadata, spec, status"},
        Bad{R"({"apiVersion":"tandem/v1","kind":"Project","more":{}})", "more",
            "not a known field"},
        Bad{R"({"apiVersion":"tandem/v1","kind":"Job","metadata":{"name":5}})", "metadata.name",
            "must be a text, is a number"},
        Bad{R"({"apiVersion":"tandem/v1","kind":"Job","metadata":{"labels":{"a":1}}})",
            "metadata.labels.a", "text"},
        Bad{R"({"apiVersion":"tandem/v1","kind":"Job","metadata":{"id":1}})", "metadata.id",
            "not a known field"},
        Bad{R"({"apiVersion":"tandem/v1","kind":"ApiKey","spec":{"digest":"x"}})", "spec.digest",
            "not a known field"},
        Bad{JOB_WITH("7"), "spec", "group of fields"},
        Bad{JOB_WITH(R"({"priority":1.5})"), "spec.priority", "whole number"},
        Bad{JOB_WITH(R"({"priority":1e3})"), "spec.priority", "whole number"},
        Bad{JOB_WITH(R"({"priority":"1"})"), "spec.priority", "whole number, is a text"},
        Bad{JOB_WITH(R"({"priority":99999999999999999999})"), "spec.priority", "too large"},
        Bad{JOB_WITH(R"({"suspend":"true"})"), "spec.suspend", "true or false"},
        Bad{JOB_WITH(R"({"template":"mpi"})"), "spec.template", "script, torchrun"},
        Bad{JOB_WITH(R"({"command":"ls"})"), "spec.command", "must be a list"},
        Bad{JOB_WITH(R"({"command":["ls",5]})"), "spec.command[1]", "must be a text"},
        Bad{JOB_WITH(R"({"grace":30})"), "spec.grace", "30s"},
        Bad{JOB_WITH(R"({"grace":"-3s"})"), "spec.grace", "duration"},
        Bad{JOB_WITH(R"({"roles":[{},{"resources":{"devices":0.5}}]})"),
            "spec.roles[1].resources.devices", "write 0.5 as a string or in YAML"},
        Bad{JOB_WITH(R"({"roles":[{"resources":{"devices":-1}}]})"),
            "spec.roles[0].resources.devices", "negative"},
        Bad{JOB_WITH(R"({"roles":[{"resources":{"devices":"0.0001"}}]})"),
            "spec.roles[0].resources.devices", "finer"},
        Bad{JOB_WITH(R"({"roles":[{"resources":{"memory":"4GB"}}]})"),
            "spec.roles[0].resources.memory", "4Gi"},
        Bad{JOB_WITH(R"({"roles":[{"resources":{"memory":"99999999Ti"}}]})"),
            "spec.roles[0].resources.memory", "too large"},
        Bad{JOB_WITH(R"({"roles":[{"gpu":1}]})"), "spec.roles[0].gpu", "minReplicas"},
        Bad{JOB_WITH(R"({"retries":{"limit":true}})"), "spec.retries.limit", "whole number"}));

TEST(manifest, null_is_the_same_as_absent) {
    EXPECT_EQ(job_of(JOB_WITH(R"({"queue":null,"env":null,"maxRunTime":null})")).spec,
              model::JobSpec{});
}

TEST(manifest, quota_words_are_read) {
    const auto queue = parse_manifest_text(
        "apiVersion: tandem/v1\nkind: Queue\nmetadata: {name: a}\nspec: {quotas: [{flavor: '*', "
        "nominal: 2, max: unlimited, borrowLimit: 0.5}]}\n");
    ASSERT_TRUE(queue) << queue.error().message;
    const auto& quota = std::get<model::Queue>(*queue).spec.quotas.at(0);
    EXPECT_EQ(quota.nominal, 2000);
    EXPECT_EQ(quota.max, model::unlimited);
    EXPECT_EQ(quota.borrow_limit, 500);
}

TEST(batch, actions_are_read_and_rendered) {
    const auto document =
        parse_json(R"({"actions":[{"create":)" + render_object(job_of(train)) +
                   R"(},{"delete":{"kind":"Job","project":"p","namespace":"n","name":"x"}},)"
                   R"({"cancel":{"kind":"Job","name":"y"}},{"retry":{"kind":"Job","name":"z"}}]})");
    ASSERT_TRUE(document) << document.error().message;
    const auto actions = parse_batch(*document);
    ASSERT_TRUE(actions) << actions.error().field << actions.error().message;
    ASSERT_EQ(actions->size(), 4u);
    EXPECT_EQ(std::get<model::ApplyObject>((*actions)[0]).mode, model::ApplyMode::create);
    EXPECT_EQ(std::get<model::DeleteObject>((*actions)[1]).key.name, "x");
    EXPECT_EQ(std::get<model::ActOnJob>((*actions)[3]).key.name, "z");
    EXPECT_EQ(std::get<model::ActOnJob>((*actions)[3]).act, model::JobAct::retry);
    const auto again = parse_batch(*parse_json(render_batch(*actions)));
    ASSERT_TRUE(again);
    EXPECT_EQ(render_batch(*again), render_batch(*actions));
}

TEST(change_text, is_what_the_object_renders_to_and_is_rendered_once) {
    model::BatchRecord record;
    record.changes.resize(2);
    model::Job job;
    job.meta.name = "train";
    record.changes[1].object = job;
    const std::string& text = change_text(record, 1);
    EXPECT_EQ(text, render_object(job));
    EXPECT_EQ(&change_text(record, 1), &text);
    EXPECT_EQ(change_text(record, 0), render_object(record.changes[0].object));
    EXPECT_EQ(&change_text(record, 1), &text);
}

TEST(batch, mistake_is_named_from_actions_on) {
    const auto error = [](std::string_view text) { return parse_batch(*parse_json(text)).error(); };
    EXPECT_EQ(error("[]").code, ErrorCode::invalid);
    EXPECT_EQ(error("{}").field, "actions");
    EXPECT_EQ(
        error(R"({"actions":[{"apply":{"apiVersion":"tandem/v1","kind":"Job","spec":{"x":1}}}]})")
            .field,
        "actions[0].apply.spec.x");
    EXPECT_EQ(error(R"({"actions":[{"kill":{}}]})").field, "actions[0]");
    EXPECT_EQ(error(R"({"actions":[{}]})").field, "actions[0]");
    EXPECT_EQ(error(R"({"actions":[{"delete":{"kind":"Job","nmae":"x"}}]})").field,
              "actions[0].delete.nmae");
}

}  // namespace
}  // namespace tandem::codec

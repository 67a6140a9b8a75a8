// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "cli/test_scripted_server.h"
#include "codec/document.h"

namespace tandem::cli {
namespace {

constexpr const char* train_yaml =
    "apiVersion: tandem/v1\nkind: Job\nmetadata: {name: train}\nspec: {command: [ls], roles: "
    "[{resources: {devices: 0.5}}]}\n";
constexpr const char* queue_yaml = "apiVersion: tandem/v1\nkind: Queue\nmetadata: {name: q}\n";

TEST_F(CliTest, apply_sends_files_as_one_batch) {
    const std::string file =
        write_file("in/a.yaml", std::string(queue_yaml) + "---\n" + train_yaml);
    write_file(
        "in/b.json",
        R"({"apiVersion":"tandem/v1","kind":"Job","metadata":{"name":"other","project":"p2"},)"
        R"("spec":{}})");
    write_file("in/readme.txt", "not a manifest");
    server_.on("POST", "/api/v1/batch",
               R"({"outcomes":[{"created":true,"changed":true},{"created":false,"changed":true},)"
               R"({"created":false,"changed":false}]})");
    ASSERT_EQ(run({"apply", "-f", home_ + "/in", "--project", "ride"}), exit_ok) << err_;
    EXPECT_EQ(out_, "queue/q created\njob/train changed\njob/other unchanged\n");
    const auto asked = server_.requests("POST", "/api/v1/batch");
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_FALSE(asked[0].headers.get_or("Idempotency-Key").empty());
    const auto body = codec::parse_json(asked[0].body);
    ASSERT_TRUE(body) << asked[0].body;
    const auto& actions = body->find("actions")->items;
    ASSERT_EQ(actions.size(), 3u);
    EXPECT_FALSE(actions[0].find("apply")->find("metadata")->find("project"));
    EXPECT_EQ(actions[1].find("apply")->find("metadata")->find("project")->text, "ride");
    EXPECT_EQ(actions[1].find("apply")->find("metadata")->find("namespace")->text, "default");
    EXPECT_EQ(actions[2].find("apply")->find("metadata")->find("project")->text, "p2");
}

TEST_F(CliTest, apply_sends_numbers_of_yaml_as_numbers) {
    const std::string file =
        write_file("in/job.yaml",
                   "apiVersion: tandem/v1\nkind: Job\nmetadata: {name: a}\n"
                   "spec: {command: [\"true\"], priority: 7, roles: [{replicas: 2}]}\n");
    server_.on("POST", "/api/v1/batch", R"({"outcomes":[{"created":true,"changed":true}]})");
    ASSERT_EQ(run({"apply", "-f", file}), exit_ok) << err_;
    const std::string body = server_.requests("POST", "/api/v1/batch").at(0).body;
    EXPECT_NE(body.find("\"priority\":7"), body.npos) << body;
    EXPECT_NE(body.find("\"replicas\":2"), body.npos) << body;
}

TEST_F(CliTest, apply_reads_standard_input_and_dry_runs) {
    input_ = train_yaml;
    server_.on("POST", "/api/v1/batch", R"({"outcomes":[{"created":true,"changed":true}]})");
    ASSERT_EQ(run({"apply", "-f", "-", "--dry-run"}), exit_ok) << err_;
    EXPECT_EQ(out_, "job/train created (dry run)\n");
    EXPECT_EQ(server_.requests("POST", "/api/v1/batch").at(0).find_query("dryRun"), "true");
}

TEST_F(CliTest, apply_names_file_and_object_of_a_mistake) {
    const std::string file = write_file("a.yaml", std::string(queue_yaml) + "---\n" + train_yaml);
    server_.on("POST", "/api/v1/batch",
               problem_json(400, "invalid", "must be 1..10000, is 0",
                            "actions[1].apply.spec.roles[0].replicas"),
               400);
    EXPECT_EQ(run({"apply", "-f", file}), exit_usage);
    EXPECT_EQ(err_, "tandem: " + file +
                        ", object 2 (job/train): spec.roles[0].replicas: must be 1..10000, is 0\n");
    write_file("b.yaml",
               "apiVersion: tandem/v1\nkind: Job\nmetadata: {name: x}\nspec: {gpus: 1}\n");
    EXPECT_EQ(run({"apply", "-f", home_ + "/b.yaml"}), exit_usage);
    EXPECT_NE(err_.find("b.yaml: spec.gpus: is not a known field"), std::string::npos) << err_;
}

TEST_F(CliTest, apply_names_the_object_that_core_refused) {
    const std::string file = write_file("a.yaml", std::string(queue_yaml) + "---\n" + train_yaml);
    server_.on(
        "POST", "/api/v1/batch",
        problem_json(409, "conflict", "action 1: is 3 now, the edit was made on 2; get it again",
                     "actions[1].metadata.generation"),
        409);
    EXPECT_EQ(run({"apply", "-f", file}), exit_conflict);
    EXPECT_EQ(err_,
              "tandem: " + file +
                  ", object 2 (job/train): metadata.generation: is 3 now, the edit was made on "
                  "2; get it again\n");
    server_.on("POST", "/api/v1/batch", problem_json(404, "not_found", "nothing there"), 404);
    const std::string one = write_file("b.yaml", queue_yaml);
    run({"apply", "-f", one});
    EXPECT_EQ(run({"apply", "-f", one}), exit_not_found);
    EXPECT_EQ(err_, "tandem: " + one + " (queue/q): nothing there\n");
}

TEST_F(CliTest, what_get_shows_can_be_applied_again) {
    server_.on("GET", jobs, list_json(job_json("a", "running")));
    ASSERT_EQ(run({"get", "jobs", "-o", "yaml"}), exit_ok);
    input_ = out_;
    server_.on("POST", "/api/v1/batch", R"({"outcomes":[{"created":false,"changed":false}]})");
    ASSERT_EQ(run({"apply", "-f", "-"}), exit_ok) << err_;
    EXPECT_EQ(out_, "job/a unchanged\n");
}

TEST_F(CliTest, delete_tells_what_is_ended_first) {
    server_.on("DELETE", std::string(jobs) + "/a",
               R"({"metadata":{"name":"a","deletionRequestedAt":"2026-11-30T12:00:00.000Z"}})");
    server_.on("GET", std::string(jobs) + "/a", job_json("a", "stopping"));
    server_.on("DELETE", std::string(jobs) + "/b",
               R"({"metadata":{"name":"b","deletionRequestedAt":"2026-11-30T12:00:00.000Z"}})");
    EXPECT_EQ(run({"delete", "job", "a", "b", "gone"}), exit_not_found);
    EXPECT_EQ(out_, "job/a is being ended, then deleted\njob/b deleted\n");
    EXPECT_NE(err_.find("job/gone"), std::string::npos);
}

}  // namespace
}  // namespace tandem::cli

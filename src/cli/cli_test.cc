// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "cli/exit_code.h"
#include "cli/table.h"
#include "cli/test_scripted_server.h"
#include "codec/document.h"
#include "crypto/sha256.h"

namespace tandem::cli {

std::string CliTest::write_file(const std::string& name, const std::string& text) const {
    const std::string path = home_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

namespace {

constexpr const char* jobs = "/api/v1/projects/default/namespaces/default/jobs";

std::string job_json(const std::string& name, const std::string& phase,
                     const std::string& more = "") {
    return R"({"apiVersion":"tandem/v1","kind":"Job","metadata":{"name":")" + name +
           R"(","project":"default","namespace":"default","createdAt":"2026-11-30T11:58:00.000Z"},"spec":{"queue":"default","priority":5,"roles":[{"name":"w","replicas":2}]},"status":{"phase":")" +
           phase + "\"" + more + "}}";
}
std::string list_json(const std::string& items, const std::string& token = "", int version = 10) {
    return R"({"apiVersion":"tandem/v1","kind":"JobList","metadata":{"resourceVersion":)" +
           std::to_string(version) + R"(,"continue":")" + token + R"(","remaining":0},"items":[)" +
           items + "]}";
}
std::string problem_json(int status, const std::string& code, const std::string& detail,
                         const std::string& field = "") {
    return R"({"type":"about:blank","title":"x","status":)" + std::to_string(status) +
           R"(,"detail":")" + detail + R"(","code":")" + code + R"(","field":")" + field + "\"}";
}
std::string sse(int id, const std::string& event, const std::string& data) {
    return "id: " + std::to_string(id) + "\nevent: " + event + "\ndata: " + data + "\n\n";
}

TEST_F(CliTest, get_shows_a_table_of_all_pages) {
    server_.on("GET", jobs, list_json(job_json("a", "running", R"(,"epoch":1)"), "next"));
    server_.on("GET", jobs,
               list_json(job_json(
                   "b", "pending",
                   R"(,"reason":{"code":"behind","params":{"position":"2","queue":"q"}})")));
    ASSERT_EQ(run({"get", "jobs"}), exit_ok) << err_;
    EXPECT_EQ(out_,
              "NAME  PHASE    QUEUE    PRIORITY  RANKS  STARTS  AGE  REASON\n"
              "a     running  default  5         2      1       2m   -\n"
              "b     pending  default  5         2      -       2m   is number 2 in queue q\n");
    const auto asked = server_.requests("GET", jobs);
    ASSERT_EQ(asked.size(), 2u);
    EXPECT_EQ(asked[0].headers.get_or("Authorization"), "Bearer td_key");
    EXPECT_EQ(asked[1].find_query("continue"), "next");
}

TEST_F(CliTest, reasons_are_told_in_chinese_when_asked) {
    server_.on("GET", std::string(jobs) + "/b",
               job_json("b", "pending", R"(,"reason":{"code":"suspended"})"));
    ASSERT_EQ(run({"get", "job/b", "--lang", "zh"}), exit_ok);
    EXPECT_NE(out_.find("已挂起"), std::string::npos) << out_;
}

TEST_F(CliTest, json_and_yaml_are_whole_objects) {
    server_.on("GET", std::string(jobs) + "/a", job_json("a", "running"));
    ASSERT_EQ(run({"get", "job", "a", "-o", "json"}), exit_ok);
    EXPECT_EQ(codec::render_json(*codec::parse_json(out_)), job_json("a", "running"));
    ASSERT_EQ(run({"get", "job", "a", "-o", "yaml"}), exit_ok);
    EXPECT_TRUE(out_.starts_with("apiVersion: tandem/v1\nkind: Job\n")) << out_;
    server_.on("GET", jobs, list_json(job_json("a", "running")));
    ASSERT_EQ(run({"get", "jobs", "-o", "json"}), exit_ok);
    EXPECT_EQ(codec::parse_json(out_)->find("items")->items.size(), 1u);
}

TEST_F(CliTest, exit_codes_follow_the_servers_error) {
    const std::vector<std::pair<std::string, int>> cases{
        {"not_found", 3}, {"denied", 4},       {"unauthenticated", 4}, {"conflict", 5},
        {"exhausted", 8}, {"storage_full", 8}, {"invalid", 2},         {"internal", 9},
        {"mismatch", 2},  {"gone", 5},         {"unavailable", 6}};
    for (const auto& [code, want] : cases) {
        server_.on("GET", "/api/v1/nodes/" + code, problem_json(400, code, "so it is", "spec.x"),
                   400);
        EXPECT_EQ(run({"get", "node", code}), want) << code;
        EXPECT_EQ(err_, "tandem: spec.x: so it is\n");
        EXPECT_EQ(out_, "");
    }
}

TEST_F(CliTest, no_server_there_is_told_as_unavailable) {
    EXPECT_EQ(run({"whoami", "--server", "unix:/nowhere/at/all.sock"}), exit_unavailable);
    environment_.erase("TANDEM_SERVER");
    EXPECT_EQ(run({"whoami"}), exit_unavailable);
    EXPECT_NE(err_.find("tandem up"), std::string::npos) << err_;
}

TEST_F(CliTest, wrong_words_are_usage_errors) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"fly"},
                                                  {"get"},
                                                  {"get", "pods"},
                                                  {"get", "jobs", "-o", "xml"},
                                                  {"wait", "job/a", "--for", "phase=x"},
                                                  {"wait", "job/a", "--for", "luck"},
                                                  {"wait", "job/a", "--timeout", "x"},
                                                  {"run"},
                                                  {"run", "--devices", "1.0001", "--", "ls"},
                                                  {"run", "--env", "novalue", "--", "ls"},
                                                  {"delete", "job"},
                                                  {"apply"},
                                                  {"apply", "-f", "/nowhere.yaml"},
                                                  {"logs", "queue/a"},
                                                  {"model", "push", "m"},
                                                  {"model", "push", "m", "f", "--job", "j"},
                                                  {"whoami", "--server", "ftp://x"},
                                                  {"whoami", "--context", "none"},
                                                  {"usage", "explain", "queue/a"},
                                                  {"usage", "report", "--from", "yesterday"},
                                                  {}})
        EXPECT_EQ(run(words), exit_usage) << testing::PrintToString(words) << out_ << err_;
}

TEST_F(CliTest, help_lists_verbs_of_this_host_too) {
    options_.host_verbs.push_back(
        {"up", "Start server and gateway",
         [](const std::vector<std::string>& words) { return static_cast<int>(words.size()); }});
    EXPECT_EQ(run({"--help"}), exit_ok);
    for (const char* verb : {"apply", "usage", "up", "Exit codes"})
        EXPECT_NE(out_.find(verb), std::string::npos) << verb;
    EXPECT_EQ(run({"up", "--slices", "2"}), 2);
}

// --- apply
// --------------------------------------------------------------------------------------------------

constexpr const char* train_yaml =
    "apiVersion: tandem/v1\nkind: Job\nmetadata: {name: train}\nspec: {command: [ls], roles: "
    "[{resources: {devices: 0.5}}]}\n";
constexpr const char* queue_yaml = "apiVersion: tandem/v1\nkind: Queue\nmetadata: {name: q}\n";

TEST_F(CliTest, apply_sends_files_as_one_batch) {
    const std::string file =
        write_file("in/a.yaml", std::string(queue_yaml) + "---\n" + train_yaml);
    write_file(
        "in/b.json",
        R"({"apiVersion":"tandem/v1","kind":"Job","metadata":{"name":"other","project":"p2"},"spec":{}})");
    write_file("in/readme.txt", "not a manifest");
    server_.on(
        "POST", "/api/v1/batch",
        R"({"outcomes":[{"created":true,"changed":true},{"created":false,"changed":true},{"created":false,"changed":false}]})");
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
    server_.on("DELETE", std::string(jobs) + "/b", R"({"outcomes":[]})");
    EXPECT_EQ(run({"delete", "job", "a", "b", "gone"}), exit_not_found);
    EXPECT_EQ(out_, "job/a is being ended, then deleted\njob/b deleted\n");
    EXPECT_NE(err_.find("job/gone"), std::string::npos);
}

// --- watch, wait, logs
// --------------------------------------------------------------------------------------

TEST_F(CliTest, wait_returns_when_the_phase_comes_over_a_broken_watch) {
    server_.on("GET", jobs, list_json(job_json("a", "pending")));
    server_.on("GET", jobs,
               {.body = sse(11, "modified", job_json("a", "running")), .stream = true});
    server_.on("GET", jobs,
               {.body = sse(13, "deleted", job_json("z", "failed")) +
                        sse(14, "modified", job_json("a", "succeeded")),
                .hang = true});
    EXPECT_EQ(run({"wait", "job/a"}), exit_ok) << err_;
    EXPECT_EQ(out_, "job/a succeeded\n");
    const auto asked = server_.requests("GET", jobs);
    ASSERT_EQ(asked.size(), 3u);
    EXPECT_EQ(asked[1].find_query("resourceVersion"), "10");
    EXPECT_EQ(asked[2].find_query("resourceVersion"), "11");
}

TEST_F(CliTest, wait_gives_up_at_its_timeout) {
    server_.on("GET", jobs, list_json(job_json("a", "running")));
    server_.on("GET", jobs,
               {.body = sse(11, "bookmark", R"({"resourceVersion":11})"), .hang = true});
    EXPECT_EQ(run({"wait", "job/a", "--timeout", "50ms"}), exit_timeout) << err_;
    EXPECT_EQ(err_, "tandem: not finished within 50ms: it is running\n");
}

TEST_F(CliTest, wait_fails_when_the_work_failed) {
    server_.on("GET", jobs, list_json(job_json("a", "failed")));
    EXPECT_EQ(run({"wait", "job/a", "--for", "phase=succeeded"}), exit_failed);
    EXPECT_EQ(run({"wait", "job/a", "--for", "phase=failed,cancelled"}), exit_ok);
    server_.on("GET", "/api/v1/projects/p/namespaces/default/jobs", list_json(""));
    EXPECT_EQ(run({"wait", "job/a", "-p", "p"}), exit_not_found);
    EXPECT_EQ(run({"wait", "job/a", "-p", "p", "--for", "deleted"}), exit_ok);
}

TEST_F(CliTest, watch_prints_what_changes_until_told_to_list_again) {
    server_.on("GET", jobs, list_json(job_json("a", "pending")));
    server_.on("GET", jobs,
               {.body = sse(11, "modified", job_json("a", "running")) +
                        sse(12, "bookmark", R"({"resourceVersion":12})") +
                        "event: error\ndata: " + problem_json(410, "gone", "list again") + "\n\n",
                .hang = true});
    EXPECT_EQ(run({"watch", "jobs"}), exit_conflict);
    EXPECT_NE(out_.find("modified a"), std::string::npos) << out_;
    EXPECT_NE(err_.find("list again"), std::string::npos);
}

TEST_F(CliTest, logs_go_on_where_they_broke_off) {
    const std::string path = std::string(jobs) + "/a/logs";
    server_.on("GET", path,
               {.body = "one\n",
                .headers = {{"X-Log-Offset", "0"}, {"X-Log-Epoch", "3"}},
                .stream = true});
    ASSERT_EQ(run({"logs", "job/a", "-f"}), exit_ok) << err_;
    EXPECT_EQ(out_, "one\n");
    const auto asked = server_.requests("GET", path);
    EXPECT_EQ(asked[0].find_query("follow"), "true");
    EXPECT_FALSE(asked[0].find_query("offset"));
    EXPECT_EQ(run({"logs", "job/none"}), exit_not_found);
}

TEST_F(CliTest, why_shows_reason_position_and_remedies) {
    server_.on(
        "GET", std::string(jobs) + "/a/why",
        R"({"kind":"Job","name":"a","phase":"pending","reason":{"code":"behind","params":{"position":"2","queue":"q"}},)"
        R"("lastReason":{"code":"submitted","params":{}},"position":2,"remedies":[{"code":"cancelledByRequest","params":{"by":"x"}}]})");
    ASSERT_EQ(run({"why", "job/a"}), exit_ok);
    EXPECT_EQ(out_,
              "Job/a is pending\n  why: is number 2 in queue q\n  before: submitted; the scheduler "
              "has not looked at it yet\n"
              "  position in its queue: 2\n  would change it: cancelled by x\n");
}

// --- run
// ----------------------------------------------------------------------------------------------------

TEST_F(CliTest, run_shows_output_of_each_start_and_returns_the_exit_code) {
    server_.on("POST", jobs, job_json("r", "pending"), 201);
    server_.on("GET", jobs, list_json(job_json("r", "pending")));
    server_.on(
        "GET", jobs,
        {.body = sse(11, "modified", job_json("r", "running", R"(,"epoch":1)")), .hang = true});
    server_.on("GET", std::string(jobs) + "/r/logs",
               {.body = "first\n", .headers = {{"X-Log-Epoch", "1"}}, .stream = true});
    server_.on("GET", jobs, list_json(job_json("r", "running", R"(,"epoch":2)")));
    server_.on("GET", std::string(jobs) + "/r/logs",
               {.body = "second\n", .headers = {{"X-Log-Epoch", "2"}}, .stream = true});
    server_.on(
        "GET", jobs,
        list_json(job_json(
            "r", "failed",
            R"(,"epoch":2,"reason":{"code":"exitCode","params":{"rank":"0","code":"17"}})")));
    EXPECT_EQ(run({"run", "--name", "r", "--devices", "0.5", "--memory", "1Gi", "-e", "A=b=c", "--",
                   "sh", "-c", "exit 17"}),
              17)
        << err_;
    EXPECT_EQ(out_, "first\nsecond\n");
    const auto body = codec::parse_json(server_.requests("POST", jobs).at(0).body);
    ASSERT_TRUE(body);
    EXPECT_EQ(body->find("spec")->find("command")->items.at(2).text, "exit 17");
    EXPECT_EQ(body->find("spec")->find("env")->find("A")->text, "b=c");
    EXPECT_EQ(
        body->find("spec")->find("roles")->items.at(0).find("resources")->find("devices")->text,
        "0.5");
    EXPECT_EQ(server_.requests("GET", std::string(jobs) + "/r/logs").at(1).find_query("epoch"),
              "2");
}

TEST_F(CliTest, run_interrupted_cancels_the_job) {
    server_.on("POST", jobs, job_json("r", "pending"), 201);
    server_.on("GET", jobs, list_json(job_json("r", "running", R"(,"epoch":1)")));
    server_.on("GET", std::string(jobs) + "/r/logs",
               {.body = "begun\n",
                .headers = {{"X-Log-Epoch", "1"}},
                .before = [this] { interrupt(); },
                .hang = true});
    server_.on("POST", std::string(jobs) + "/r/cancel", job_json("r", "stopping"));
    EXPECT_EQ(run({"run", "--name", "r", "--", "sleep", "100"}), exit_interrupted) << err_;
    EXPECT_EQ(server_.requests("POST", std::string(jobs) + "/r/cancel").size(), 1u);
}

TEST_F(CliTest, run_interrupted_on_a_terminal_asks_and_detaches) {
    in_is_terminal_ = true;
    line_ = "d";
    server_.on("POST", jobs, job_json("r", "pending"), 201);
    server_.on("GET", jobs, list_json(job_json("r", "running", R"(,"epoch":1)")));
    server_.on("GET", std::string(jobs) + "/r/logs",
               {.before = [this] { interrupt(); }, .hang = true});
    EXPECT_EQ(run({"run", "--name", "r", "--", "sleep", "100"}), exit_ok) << err_;
    EXPECT_TRUE(server_.requests("POST", std::string(jobs) + "/r/cancel").empty());
    EXPECT_NE(err_.find("logs -f job/r"), std::string::npos);
}

// --- models, keys, contexts
// ---------------------------------------------------------------------------------

TEST_F(CliTest, model_push_uploads_in_parts_and_makes_the_model) {
    std::string weights(9 * 1024 * 1024, 'w');
    weights += "end";
    const std::string file = write_file("m.gguf", weights);
    const std::string digest = "sha256:" + crypto::sha256_hex(weights);
    const std::string models = "/api/v1/projects/ride/namespaces/default/models";
    server_.on("POST", "/api/v1/blobs", R"({"upload":"u1"})");
    server_.on("PUT", "/api/v1/blobs/uploads/u1", R"({})");
    server_.on("POST", "/api/v1/blobs/uploads/u1/finish",
               R"({"digest":")" + digest + R"(","bytes":9437187})");
    server_.on("POST", models, R"({})", 201);
    server_.on(
        "POST", models + "/tiny/versions",
        R"({"metadata":{"name":"tiny.v1"},"spec":{"digest":")" + digest + R"(","bytes":9437187}})",
        201);
    ASSERT_EQ(run({"model", "push", "tiny", file, "--project", "ride"}), exit_ok) << err_;
    EXPECT_EQ(out_, "modelversion/tiny.v1 " + digest + " 9437187 bytes\n");
    const auto parts = server_.requests("PUT", "/api/v1/blobs/uploads/u1");
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(server_.requests("POST", "/api/v1/blobs").at(0).body, R"({"bytes":9437187})");
    EXPECT_EQ(parts[0].body.size(), 8u * 1024 * 1024);
    EXPECT_EQ(parts[1].find_query("offset"), "8388608");
    EXPECT_EQ(parts[0].body + parts[1].body, weights);
    EXPECT_EQ(codec::parse_json(server_.requests("POST", models + "/tiny/versions").at(0).body)
                  ->find("digest")
                  ->text,
              digest);
}

TEST_F(CliTest, model_push_takes_a_jobs_output) {
    const std::string models = "/api/v1/projects/default/namespaces/default/models";
    server_.on("GET", models + "/tiny", R"({})");
    server_.on("POST", models + "/tiny/versions",
               R"({"metadata":{"name":"tiny.v2"},"spec":{"digest":"sha256:0","bytes":1}})", 201);
    ASSERT_EQ(run({"model", "push", "tiny", "--job", "train", "--output", "weights"}), exit_ok)
        << err_;
    EXPECT_EQ(server_.requests("POST", models + "/tiny/versions").at(0).body,
              R"({"fromJob":"train","output":"weights"})");
}

TEST_F(CliTest, key_is_shown_once_and_alone_on_the_output) {
    server_.on(
        "POST", "/api/v1/keys",
        R"({"metadata":{"name":"ada"},"spec":{"subject":"user:ada","keyId":"abc","project":"ride"},"status":{"secret":"td_abc_x"}})",
        201);
    ASSERT_EQ(run({"key", "create", "ada", "--subject", "user:ada", "--project", "ride",
                   "--expires", "24h"}),
              exit_ok)
        << err_;
    EXPECT_EQ(out_, "td_abc_x\n");
    EXPECT_EQ(err_.find("td_abc_x"), std::string::npos);
    ASSERT_EQ(
        run({"key", "create", "ada", "--subject", "user:ada", "--project", "ride", "-o", "json"}),
        exit_ok);
    EXPECT_EQ(codec::parse_json(out_)->find("key")->text, "td_abc_x");
    const auto body = codec::parse_json(server_.requests("POST", "/api/v1/keys").at(0).body);
    EXPECT_TRUE(body->find("spec")->find("expires")->text.starts_with("2026-12-01T12:00:"));
}

TEST_F(CliTest, ready_service_prints_how_to_call_it) {
    server_.on(
        "GET", "/api/v1/projects/default/namespaces/default/services/chat",
        R"({"kind":"Service","metadata":{"name":"chat"},"spec":{"publicName":"tiny"},"status":{"phase":"ready","ready":1,"desired":1}})");
    server_.on("GET", "/api/v1/version", R"({"version":"0.1.0","gateway":"127.0.0.1:9000"})");
    ASSERT_EQ(run({"get", "service", "chat"}), exit_ok) << err_;
    EXPECT_NE(out_.find("curl http://127.0.0.1:9000/v1/chat/completions"), std::string::npos)
        << out_;
    EXPECT_NE(out_.find("\"model\":\"tiny\""), std::string::npos);
    EXPECT_EQ(out_.find("td_key"), std::string::npos);
}

TEST_F(CliTest, context_is_kept_private_and_used) {
    environment_.erase("TANDEM_SERVER");
    environment_.erase("TANDEM_API_KEY");
    input_ = "td_secret\n";
    ASSERT_EQ(run({"context", "set", "work", "--server", server_.url(), "--project", "ride",
                   "--key-file", "-"}),
              exit_ok)
        << err_;
    const std::string file = home_ + "/.config/tandem/contexts.yaml";
    struct stat info{};
    ASSERT_EQ(::stat(file.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    server_.on("GET", "/api/v1/projects/ride/namespaces/default/jobs", list_json(""));
    ASSERT_EQ(run({"get", "jobs"}), exit_ok) << err_;
    EXPECT_EQ(server_.requests("GET", "/api/v1/projects/ride/namespaces/default/jobs")
                  .at(0)
                  .headers.get_or("Authorization"),
              "Bearer td_secret");
    ASSERT_EQ(run({"context", "list"}), exit_ok);
    EXPECT_NE(out_.find("work"), std::string::npos);
    EXPECT_EQ(out_.find("td_secret"), std::string::npos);
    EXPECT_EQ(run({"context", "use", "other"}), exit_not_found);
    ASSERT_EQ(run({"context", "remove", "work"}), exit_ok);
    EXPECT_EQ(run({"whoami"}), exit_unavailable);
}

TEST_F(CliTest, local_installation_is_used_when_nothing_else_is_named) {
    environment_.erase("TANDEM_SERVER");
    environment_.erase("TANDEM_API_KEY");
    options_.find_local = [this] {
        return std::optional(LocalInstallation{.server = server_.url(), .key = Secret("td_local")});
    };
    server_.on(
        "GET", "/api/v1/whoami",
        R"({"subject":"user:admin","keyId":"x","bindings":[{"role":"platform-admin","project":""}]})");
    ASSERT_EQ(run({"whoami"}), exit_ok) << err_;
    EXPECT_EQ(
        out_,
        "subject: user:admin\nkeyId: x\n\nbindings:\nROLE            PROJECT\nplatform-admin  -\n");
    EXPECT_EQ(server_.requests("GET", "/api/v1/whoami").at(0).headers.get_or("Authorization"),
              "Bearer td_local");
}

TEST_F(CliTest, key_never_goes_to_another_server) {
    environment_.erase("TANDEM_API_KEY");
    environment_.erase("TANDEM_SERVER");
    options_.find_local = [] {
        return std::optional(LocalInstallation{
            .server = "unix:/elsewhere", .key = Secret("td_local"), .chosen = true});
    };
    server_.on("GET", "/api/v1/whoami", R"({"subject":"x"})");
    ASSERT_EQ(run({"whoami", "--server", server_.url()}), exit_ok) << err_;
    EXPECT_FALSE(server_.requests("GET", "/api/v1/whoami").at(0).headers.find("Authorization"));
}

TEST_F(CliTest, version_tells_both_sides) {
    server_.on("GET", "/api/v1/version", R"({"version":"0.1.0","gateway":""})");
    ASSERT_EQ(run({"version"}), exit_ok);
    EXPECT_EQ(out_, "client 0.0.0-test\nserver 0.1.0 at " + server_.url() + "\n");
    ASSERT_EQ(run({"version", "-o", "json"}), exit_ok);
    EXPECT_EQ(codec::parse_json(out_)->find("client")->text, "0.0.0-test");
}

TEST_F(CliTest, usage_report_shows_device_seconds) {
    server_.on("GET", "/api/v1/usage/report",
               R"({"from":"a","devices":[{"state":"running","deviceMs":1500}],"tokens":[]})");
    ASSERT_EQ(run({"usage", "report", "--from", "1h"}), exit_ok);
    EXPECT_TRUE(server_.requests("GET", "/api/v1/usage/report")
                    .at(0)
                    .find_query("from")
                    ->starts_with("2026-11-30T11:00:"));
    EXPECT_NE(out_.find("STATE    DEVICE SECONDS\nrunning  1.5\n"), std::string::npos) << out_;
}

TEST(table, wide_characters_and_control_bytes_keep_columns_straight) {
    EXPECT_EQ(display_width("已a"), 3u);
    EXPECT_EQ(printable("a\x1b[31mb\nc\xff"), "a?[31mb c?");
    EXPECT_EQ(render_table({.headers = {"A", "B"}, .rows = {{"已已", "x"}, {"y", ""}}}, false),
              "A     B\n已已  x\ny     -\n");
    EXPECT_EQ(render_table({.headers = {"A"}, .rows = {{"failed"}}}, true),
              "A\n\x1b[31mfailed\x1b[0m\n");
}

}  // namespace
}  // namespace tandem::cli

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "cli/test_scripted_server.h"
#include "codec/document.h"

namespace tandem::cli {
namespace {

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
        R"("lastReason":{"code":"submitted","params":{}},"proved":true,"position":2,"waiting":5,)"
        R"("constraints":[{"code":"behind","params":{"position":"2","queue":"q"}},)"
        R"({"code":"queueStopped","params":{"queue":"q"}}],)"
        R"("funnels":[{"pool":"default","flavor":"h200","nodes":4,"withFlavor":3,"usable":2,"withRoom":0,"freeMilli":500,"totalMilli":24000}],)"
        R"("holders":[{"name":"job/p/n/b","queue":"q","flavor":"h200","milli":8000,"priority":3,"preemptible":false,"leaving":false}],"holdersMore":2,)"
        R"("protections":[{"code":"noLowerPriority","params":{"queue":"q","priority":"0"}}],)"
        R"("remedies":[{"steps":[{"code":"places","params":{"places":"1","each":"8","flavor":"h200"}},)"
        R"({"code":"quotaExhausted","params":{"queue":"q","flavor":"h200","missing":"4","bound":"max"}}]}],)"
        R"("history":[{"at":"2026-01-01T00:00:00Z","code":"started","text":"started"}]})");
    ASSERT_EQ(run({"why", "job/a"}), exit_ok);
    EXPECT_EQ(out_,
              "Job/a is pending\n  why: is number 2 in queue q\n"
              "  also: queue q is stopped and admits nothing\n  before: submitted; the scheduler "
              "has not looked at it yet\n"
              "  nodes: 4 in all, 3 with h200 of pool default, 2 of them usable, 0 with room for a "
              "replica; 0.5 of 24 devices are free\n"
              "  held by: job/p/n/b, 8 of h200, queue q, priority 3, never preempted\n"
              "  held by: 2 more\n"
              "  preemption: nothing that runs in queue q has a lower priority than 0\n"
              "  position in its queue: 2 of 5\n"
              "  would start in its turn with: room for 1 more replicas of 8 h200 each; and 4 more "
              "max of h200 in queue q\n"
              "what happened, newest first:\n  2026-01-01T00:00:00Z started\n");
}

TEST_F(CliTest, run_shows_output_of_each_start_and_returns_the_exit_code) {
    server_.on("POST", jobs, job_json("r", "pending"), 201);
    server_.on("GET", jobs, list_json(job_json("r", "pending")));
    server_.on(
        "GET", jobs,
        {.body = sse(11, "modified", job_json("r", "running", R"(,"epoch":1)")), .hang = true});
    server_.on("GET", std::string(jobs) + "/r/logs",
               {.body = "first\n", .headers = {{"X-Log-Epoch", "1"}}, .stream = true});
    server_.on("GET", jobs, list_json(job_json("r", "running", R"(,"epoch":2,"starts":2)")));
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
    // What became of the job is told off a terminal too, and beside its output.
    for (const char* line : {"tandem: job/r is in queue default\n", "tandem: job/r started\n",
                             "tandem: job/r started, start 2\n", "tandem: job/r failed: "})
        EXPECT_NE(err_.find(line), std::string::npos) << line << err_;
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

TEST_F(CliTest, run_that_goes_on_after_an_interrupt_shows_the_rest_alone) {
    in_is_terminal_ = interrupt_at_output_ = true;
    line_ = "g";
    const std::string logs = std::string(jobs) + "/r/logs";
    server_.on("POST", jobs, job_json("r", "pending"), 201);
    for (int i = 0; i < 2; ++i)
        server_.on("GET", jobs, list_json(job_json("r", "running", R"(,"epoch":1)")));
    server_.on("GET", jobs, list_json(job_json("r", "succeeded", R"(,"epoch":1)")));
    server_.on("GET", logs,
               {.body = "begun\n",
                .headers = {{"X-Log-Offset", "0"}, {"X-Log-Epoch", "1"}},
                .hang = true});
    server_.on("GET", logs,
               {.body = "rest\n",
                .headers = {{"X-Log-Offset", "6"}, {"X-Log-Epoch", "1"}},
                .stream = true});
    EXPECT_EQ(run({"run", "--name", "r", "--", "sleep", "1"}), exit_ok) << err_;
    EXPECT_EQ(out_, "begun\nrest\n");
    EXPECT_EQ(server_.requests("GET", logs).at(1).find_query("offset"), "6");
}

TEST_F(CliTest, wait_knows_conditions_of_each_kind) {
    const std::string node = "/api/v1/nodes";
    server_.on("GET", node,
               R"({"metadata":{"resourceVersion":3},"items":[{"metadata":{"name":"n"},)"
               R"("status":{"ready":true}}]})");
    EXPECT_EQ(run({"wait", "node/n", "--for", "condition=Ready"}), exit_ok) << err_;
    EXPECT_EQ(out_, "node/n is condition=Ready\n");
    server_.on("GET", jobs, list_json(job_json("a", "running", R"(,"epoch":1)")));
    for (const char* goal : {"condition=Admitted", "condition=Running", "condition=Running=true",
                             "condition=Finished=false", "phase=running"})
        EXPECT_EQ(run({"wait", "job/a", "--for", goal}), exit_ok) << goal << err_;
    EXPECT_EQ(run({"wait", "job/a", "--for", "condition=Runing"}), exit_usage);
    EXPECT_NE(err_.find("did you mean \"Running\"?"), std::string::npos) << err_;
    EXPECT_EQ(run({"wait", "job/a", "--for", "condition=Ready"}), exit_usage);
    EXPECT_EQ(run({"wait", "node/n", "--for", "phase=running"}), exit_usage);
    EXPECT_EQ(run({"wait", "job/a", "--for", "condition=Running=maybe"}), exit_usage);
}

TEST_F(CliTest, wait_ends_when_a_condition_can_come_no_more) {
    server_.on("GET", jobs, list_json(job_json("a", "failed", R"(,"epoch":1)")));
    EXPECT_EQ(run({"wait", "job/a", "--for", "condition=Succeeded"}), exit_failed) << err_;
    EXPECT_EQ(run({"wait", "job/a", "--for", "condition=Failed"}), exit_ok) << err_;
}

TEST_F(CliTest, cancelling_says_what_there_was_to_cancel) {
    for (const auto& [phase, told] : {std::pair{"running", "is being cancelled"},
                                      {"cancelled", "is cancelled"},
                                      {"succeeded", "has ended already: it succeeded"},
                                      {"failed", "has ended already: it failed"}}) {
        server_.on("POST", std::string(jobs) + "/" + phase + "/cancel", job_json("a", phase));
        EXPECT_EQ(run({"job", "cancel", phase}), exit_ok) << err_;
        EXPECT_EQ(out_, std::string("job/") + phase + " " + told + "\n");
    }
}

TEST_F(CliTest, logs_are_asked_for_by_role_and_rank) {
    server_.on("GET", std::string(jobs) + "/a/logs", "hello\n");
    EXPECT_EQ(run({"logs", "job/a", "--role", "ps", "--rank", "3"}), exit_ok) << err_;
    const auto asked = server_.requests("GET", std::string(jobs) + "/a/logs");
    EXPECT_EQ(asked.at(0).find_query("role"), "ps");
    EXPECT_EQ(asked.at(0).find_query("rank"), "3");
}

}  // namespace
}  // namespace tandem::cli

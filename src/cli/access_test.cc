// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sys/stat.h>

#include "cli/exit_code.h"
#include "cli/test_scripted_server.h"
#include "codec/document.h"
#include "crypto/sha256.h"

namespace tandem::cli {
namespace {

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
    server_.on("POST", models + "/tiny/versions",
               problem_json(404, "not_found", "there is no blob", "digest"), 404);
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
    const auto asked = server_.requests("POST", models + "/tiny/versions");
    ASSERT_EQ(asked.size(), 2u);
    for (const http::Request& one : asked)
        EXPECT_EQ(codec::parse_json(one.body)->find("digest")->text, digest);
}

TEST_F(CliTest, model_push_sends_no_weights_that_the_server_has) {
    const std::string file = write_file("m.gguf", "weights");
    const std::string models = "/api/v1/projects/default/namespaces/default/models";
    server_.on(
        "POST", models + "/tiny/versions",
        R"({"metadata":{"name":"tiny.v1"},"spec":{"number":1,"digest":"sha256:0","bytes":7}})",
        200);
    ASSERT_EQ(run({"model", "push", "tiny", file}), exit_ok) << err_;
    EXPECT_EQ(out_, "modelversion/tiny.v1 sha256:0 7 bytes: already version 1 of tiny\n");
    EXPECT_TRUE(server_.requests("POST", "/api/v1/blobs").empty());
}

TEST_F(CliTest, model_push_of_an_empty_file_names_the_file) {
    const std::string file = write_file("m.gguf", "");
    EXPECT_EQ(run({"model", "push", "tiny", file}), exit_usage);
    EXPECT_EQ(err_, "tandem: file: " + file + " is empty; a model is a GGUF file\n");
}

TEST_F(CliTest, model_push_of_the_same_weights_says_which_version_they_are) {
    const std::string models = "/api/v1/projects/default/namespaces/default/models";
    server_.on("GET", models + "/tiny", R"({})");
    server_.on(
        "POST", models + "/tiny/versions",
        R"({"metadata":{"name":"tiny.v2"},"spec":{"number":2,"digest":"sha256:0","bytes":1}})",
        200);
    ASSERT_EQ(run({"model", "push", "tiny", "--job", "train", "--output", "weights"}), exit_ok)
        << err_;
    EXPECT_EQ(out_, "modelversion/tiny.v2 sha256:0 1 bytes: already version 2 of tiny\n");
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
    server_.on("POST", "/api/v1/keys",
               R"({"metadata":{"name":"ada"},"spec":{"subject":"user:ada","keyId":"abc",)"
               R"("project":"ride"},"status":{"secret":"td_abc_x"}})",
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
    server_.on("GET", "/api/v1/projects/default/namespaces/default/services/chat",
               R"({"kind":"Service","metadata":{"name":"chat"},"spec":{"publicName":"tiny"},)"
               R"("status":{"phase":"ready","ready":1,"desired":1}})");
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
    server_.on("GET", "/api/v1/whoami",
               R"({"subject":"user:admin","keyId":"x","bindings":[{"role":"platform-admin",)"
               R"("project":""}]})");
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

TEST_F(CliTest, named_installation_without_a_key_is_not_taken_for_another) {
    environment_.erase("TANDEM_API_KEY");
    environment_.erase("TANDEM_SERVER");
    input_ = "td_secret\n";
    ASSERT_EQ(run({"context", "set", "work", "--server", server_.url(), "--key-file", "-"}), exit_ok)
        << err_;
    options_.find_local = [] {
        return std::optional(LocalInstallation{
            .server = "unix:/elsewhere", .no_key = "admin.key can't be read", .chosen = true});
    };
    server_.on("GET", "/api/v1/whoami", R"({"subject":"x"})");
    EXPECT_EQ(run({"whoami"}), exit_denied);
    EXPECT_NE(err_.find("admin.key can't be read"), std::string::npos) << err_;
    EXPECT_TRUE(server_.requests("GET", "/api/v1/whoami").empty());
}

TEST_F(CliTest, version_tells_both_sides) {
    server_.on("GET", "/api/v1/version", R"({"version":"0.1.0","gateway":""})");
    ASSERT_EQ(run({"version"}), exit_ok);
    EXPECT_EQ(out_, "client 0.0.0-test\nserver 0.1.0 at " + server_.url() + "\n");
    ASSERT_EQ(run({"version", "-o", "json"}), exit_ok);
    EXPECT_EQ(codec::parse_json(out_)->find("client")->text, "0.0.0-test");
}

TEST_F(CliTest, version_without_a_server_tells_programs_the_clients) {
    EXPECT_EQ(run({"version", "-o", "json", "--server", "unix:/nowhere.sock"}), exit_unavailable);
    EXPECT_EQ(codec::parse_json(out_)->find("client")->text, "0.0.0-test");
    environment_.erase("TANDEM_SERVER");
    EXPECT_EQ(run({"version", "-o", "yaml"}), exit_unavailable);
    EXPECT_EQ(out_, "client: \"0.0.0-test\"\n");
}

TEST_F(CliTest, audit_shows_who_and_by_which_key) {
    const std::string row =
        R"({"sequence":1,"caller":{"subject":"user:ann","keyId":"k7","requestId":"r"},)"
        R"("action":"jobs.read"})";
    server_.on("GET", "/api/v1/audit", R"({"items":[)" + row + "]}");
    ASSERT_EQ(run({"audit"}), exit_ok) << err_;
    EXPECT_EQ(out_, "SEQUENCE  CALLER    KEY ID  ACTION\n1         user:ann  k7      jobs.read\n");
    ASSERT_EQ(run({"audit", "-o", "json"}), exit_ok) << err_;
    EXPECT_EQ(codec::render_json(codec::parse_json(out_)->find("items")->items.at(0)), row);
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

TEST_F(CliTest, contexts_are_listed_for_programs_without_their_keys) {
    input_ = "td_very_secret\n";
    ASSERT_EQ(run({"context", "set", "work", "--server", "http://127.0.0.1:1", "--key-file", "-"}),
              exit_ok)
        << err_;
    ASSERT_EQ(run({"context", "set", "work", "--project", "ride", "-o", "json"}), exit_ok) << err_;
    EXPECT_EQ(codec::parse_json(out_)->find("project")->text, "ride");
    EXPECT_TRUE(codec::parse_json(out_)->find("current")->boolean);
    ASSERT_EQ(run({"context", "list", "-o", "json"}), exit_ok);
    const auto list = codec::parse_json(out_);
    ASSERT_TRUE(list) << out_;
    const codec::Value& first = list->find("items")->items.at(0);
    EXPECT_EQ(first.find("name")->text, "work");
    EXPECT_TRUE(first.find("keyKept")->boolean);
    EXPECT_EQ(out_.find("very_secret"), out_.npos);
    ASSERT_EQ(run({"context", "list", "-o", "yaml"}), exit_ok);
    EXPECT_NE(out_.find("name: work"), out_.npos) << out_;
}

}  // namespace
}  // namespace tandem::cli

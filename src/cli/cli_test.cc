// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <algorithm>
#include <set>

#include "cli/exit_code.h"
#include "cli/show.h"
#include "cli/suggest.h"
#include "cli/table.h"
#include "cli/test_scripted_server.h"
#include "cli/words.h"
#include "codec/document.h"

namespace tandem::cli {
namespace {

TEST_F(CliTest, get_shows_a_table_of_all_pages) {
    server_.on("GET", jobs,
               list_json(job_json("a", "running", R"(,"epoch":1000001,"starts":1)"), "next"));
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

TEST_F(CliTest, headers_are_chinese_when_asked_and_columns_stay_straight) {
    server_.on("GET", jobs,
               list_json(job_json("a", "running", R"(,"epoch":1)") + "," +
                         job_json("b", "pending", R"(,"reason":{"code":"suspended"})")));
    ASSERT_EQ(run({"get", "jobs", "--lang", "zh"}), exit_ok) << err_;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < out_.size(); at = out_.find('\n', at) + 1)
        lines.push_back(out_.substr(at, out_.find('\n', at) - at));
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_TRUE(lines[0].starts_with("名称  阶段")) << out_;
    const auto place = [](const std::string& line, std::string_view text) {
        return display_width(line.substr(0, line.find(text)));
    };
    EXPECT_EQ(place(lines[0], "阶段"), place(lines[1], "running"));
    EXPECT_EQ(place(lines[0], "队列"), place(lines[1], "default"));
    EXPECT_EQ(place(lines[0], "原因"), place(lines[2], "已挂起"));
    // No header of any kind is left in English.
    const auto is_latin = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    for (const model::KindInfo& info : model::kind_table) {
        const Table table = make_table(info.kind, {}, {}, codec::Language::zh, {true});
        for (const std::string& header : table.headers)
            EXPECT_TRUE(std::ranges::none_of(header, is_latin)) << info.singular << " " << header;
    }
}

TEST_F(CliTest, fields_of_views_have_chinese_words) {
    server_.on("GET", "/api/v1/queues-view",
               R"({"items":[{"queue":"q","borrowedMilli":1500,"decayedHoursMilli":0}]})");
    ASSERT_EQ(run({"queue", "--lang", "zh"}), exit_ok) << err_;
    EXPECT_EQ(out_, "队列  借入  衰减用时\nq     1.5   0\n");
    ASSERT_EQ(run({"queue"}), exit_ok) << err_;
    EXPECT_EQ(out_, "QUEUE  BORROWED  DECAYED HOURS\nq      1.5       0\n");
}

TEST(Words, each_is_once_there_and_says_the_same_in_both_languages) {
    std::set<std::string_view> seen;
    for (const Word& word : word_table) {
        EXPECT_TRUE(seen.insert(word.en).second) << word.en;
        const auto places = [](std::string_view text) {
            return std::ranges::count(text, '{') + 100 * std::ranges::count(text, '\n');
        };
        EXPECT_EQ(places(word.en), places(word.zh)) << word.en;
        EXPECT_TRUE(std::ranges::any_of(word.zh, [](char c) { return c < 0; })) << word.en;
    }
}

TEST_F(CliTest, half_a_name_is_refused_by_what_is_missing) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"why", "job/"},
                                                  {"get", "job/"},
                                                  {"describe", "job", ""},
                                                  {"job", "cancel", "job/"},
                                                  {"job", "cancel", ""}}) {
        EXPECT_EQ(run(words), exit_usage);
        EXPECT_NE(err_.find("write KIND/NAME, such as job/train"), std::string::npos) << err_;
    }
    EXPECT_EQ(run({"describe", "/x"}), exit_usage);
    EXPECT_NE(err_.find("\"/x\" names no kind"), std::string::npos) << err_;
    EXPECT_EQ(run({"job", "cancel", "service/x"}), exit_usage);
    EXPECT_NE(err_.find("service/x is no job"), std::string::npos) << err_;
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

TEST_F(CliTest, a_misspelt_word_is_answered_with_the_likely_one) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"gte", "jobs"}, "\"gte\" is no verb; did you mean \"get\"?"},
        {{"job", "cancle", "a"}, "\"cancle\" is no verb of tandem job; did you mean \"cancel\"?"},
        {{"get", "jbos"}, "\"jbos\" is no kind; did you mean \"jobs\"?"},
        {{"get", "jobs", "--ouptut", "json"},
         "there is no option --ouptut; did you mean \"--output\"?"},
        {{"xyzzy"}, "\"xyzzy\" is no verb\nTry: tandem --help"},
        {{"job"}, "say what to do: cancel, retry"}};
    for (const auto& [words, told] : cases) {
        EXPECT_EQ(run(words), exit_usage) << testing::PrintToString(words);
        EXPECT_NE(err_.find(told), std::string::npos) << err_;
        EXPECT_EQ(out_, "");
    }
}

TEST_F(CliTest, every_verb_has_help_with_an_example) {
    ASSERT_EQ(run({"--help-all"}), exit_ok);
    for (const std::vector<std::string>& verb : {std::vector<std::string>{"apply"},
                                                 {"get"},
                                                 {"describe"},
                                                 {"delete"},
                                                 {"watch"},
                                                 {"wait"},
                                                 {"logs"},
                                                 {"why"},
                                                 {"events"},
                                                 {"job", "cancel"},
                                                 {"job", "retry"},
                                                 {"run"},
                                                 {"model", "push"},
                                                 {"model", "list"},
                                                 {"model", "versions"},
                                                 {"service", "list"},
                                                 {"service", "show"},
                                                 {"queue"},
                                                 {"node"},
                                                 {"pool"},
                                                 {"usage", "report"},
                                                 {"usage", "explain"},
                                                 {"key", "create"},
                                                 {"key", "list"},
                                                 {"key", "revoke"},
                                                 {"whoami"},
                                                 {"audit"},
                                                 {"version"},
                                                 {"context", "set"},
                                                 {"context", "list"}}) {
        std::vector<std::string> words{"help"};
        words.insert(words.end(), verb.begin(), verb.end());
        ASSERT_EQ(run(words), exit_ok) << err_;
        std::string whole = "  tandem";
        for (const std::string& word : verb) whole += " " + word;
        EXPECT_NE(out_.find("Examples:"), std::string::npos) << out_;
        EXPECT_NE(out_.find(whole), std::string::npos) << out_;
    }
}

TEST_F(CliTest, an_empty_list_says_what_to_do_next) {
    server_.on("GET", jobs, list_json(""));
    ASSERT_EQ(run({"get", "jobs"}), exit_ok);
    EXPECT_EQ(out_,
              "no jobs found in project default, namespace default\n"
              "of all projects: tandem get jobs -A\n"
              "make one: tandem run -- CMD, or tandem apply -f FILE\n");
    ASSERT_EQ(run({"get", "jobs", "-l", "a=b"}), exit_ok);
    EXPECT_NE(out_.find("without the selector"), std::string::npos) << out_;
}

TEST_F(CliTest, a_key_that_can_be_none_is_told_by_its_variable_and_not_sent) {
    for (const char* junk : {"hello", "td_a b", "td_a\nX-Evil: 1", "Bearer td_x", "  x"}) {
        environment_["TANDEM_API_KEY"] = junk;
        EXPECT_EQ(run({"whoami"}), exit_denied) << junk;
        EXPECT_TRUE(err_.starts_with("tandem: TANDEM_API_KEY: holds no Tandem key")) << err_;
        EXPECT_EQ(err_.find("X-Evil"), std::string::npos);
    }
    for (const char* nothing : {"", "  ", "\n"}) {
        environment_["TANDEM_API_KEY"] = nothing;
        EXPECT_EQ(run({"whoami"}), exit_denied);
        EXPECT_TRUE(err_.starts_with("tandem: TANDEM_API_KEY: is set but empty")) << err_;
    }
    EXPECT_TRUE(server_.requests("GET", "/api/v1/whoami").empty());
    server_.on("GET", "/api/v1/whoami", R"({"subject":"user:a","keyId":"x","bindings":[]})");
    environment_["TANDEM_API_KEY"] = "td_key\n";
    EXPECT_EQ(run({"whoami"}), exit_ok) << err_;
}

TEST(suggest, finds_words_within_two_edits_and_no_others) {
    const std::vector<std::string> known{"get", "logs", "describe", "delete"};
    EXPECT_EQ(nearest("got", known), "get");
    EXPECT_EQ(nearest("lgos", known), "logs");
    EXPECT_EQ(nearest("descirbe", known), "describe");
    EXPECT_EQ(nearest("delet", known), "delete");
    EXPECT_EQ(nearest("fly", known), std::nullopt);
    EXPECT_EQ(nearest("", known), std::nullopt);
    EXPECT_EQ(nearest(std::string(10'000, 'x'), known), std::nullopt);
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

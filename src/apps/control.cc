// SPDX-License-Identifier: Apache-2.0
#include "apps/control.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "apps/home.h"
#include "apps/leftover_tasks.h"
#include "apps/options.h"
#include "apps/process.h"
#include "apps/rest.h"
#include "cli/exit_code.h"
#include "codec/document.h"
#include "codec/json_writer.h"
#include "net/http/message.h"

namespace tandem::apps {
namespace {

constexpr Duration start_deadline = seconds(60);
constexpr Duration stop_deadline = seconds(30);
constexpr Duration end_deadline = seconds(120);

int complain(const std::string& verb, const Error& error) {
    fmt::print(stderr, "tandem {}: {}{}\n", verb, error.field.empty() ? "" : error.field + ": ", error.message);
    return cli::exit_code_of(error.code);
}

// "-o json", "-ojson", "--output=json": the last one given.
std::string output_of(const std::vector<std::string>& arguments) {
    std::string output = "table";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if ((word == "-o" || word == "--output") && i + 1 < arguments.size()) output = arguments[i + 1];
        if (word.starts_with("-o") && word.size() > 2 && word[2] != '-') output = word.substr(word[2] == '=' ? 3 : 2);
        if (word.starts_with("--output=")) output = word.substr(9);
    }
    return output;
}

bool has_word(const std::vector<std::string>& arguments, const std::string& word) {
    return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
}

std::string last_lines(const std::string& path, std::size_t bytes) {
    const std::string text = read_file(path).value_or("");
    return text.size() > bytes ? text.substr(text.size() - bytes) : text;
}

// What a process that is gone found wrong stands at the end of its log.
std::unexpected<Error> gone(const Home& home, const std::string& name, std::string_view when) {
    return fail(ErrorCode::unavailable, fmt::format("the {} ended {}; its last words ({}):\n{}", name, when,
                                                    home.log_file(name), last_lines(home.log_file(name), 2000)));
}

bool ended(pid_t child) { return ::waitpid(child, nullptr, WNOHANG) == child; }

template <class Ready>
Status wait_ready(const std::string& name, pid_t child, const Home& home, Ready&& ready) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(start_deadline.ms);
    while (std::chrono::steady_clock::now() < end) {
        if (ready()) return {};
        if (ended(child)) return gone(home, name, "at once");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return fail(ErrorCode::unavailable, fmt::format("the {} is not ready after {}; see {}", name,
                                                    render_duration(start_deadline), home.log_file(name)));
}

Status ensure_running(const Home& home, const std::string& name, const UpOptions& options) {
    if (find_running(home.run_file(name))) return {};
    std::vector<std::string> words{own_path(), name};
    for (std::string& word : to_arguments(options)) words.push_back(std::move(word));
    TANDEM_LET(child, start_detached(words, home.log_file(name)));
    return wait_ready(name, child, home, [&] {
        const auto running = find_running(home.run_file(name));
        if (!running) return false;
        if (name == "server") return Rest(home).get("/healthz").has_value();
        if (running->url.starts_with("https://")) return true;  // told once it listens; its certificate names the world's host
        const auto status = probe_url(running->url, options.tls_certificate);
        return status && *status == 200;
    });
}

// Ready once, it may be gone again.
Status still_runs(const Home& home, const std::string& name) {
    if (find_running(home.run_file(name))) return {};
    return gone(home, name, "again");
}

void say_ready(const Home& home) {
    const auto server = find_running(home.run_file("server"));
    const auto gateway = find_running(home.run_file("gateway"));
    fmt::print("server   {}  pid {}\n", server ? server->url : "-", server ? server->pid : 0);
    fmt::print("gateway  {}  pid {}\n", gateway ? gateway->url : "-", gateway ? gateway->pid : 0);
    fmt::print("home     {}\nadmin key in {} (mode 0600); the command line on this host finds it\n", home.root(), home.admin_key());
}

struct LiveTask {
    std::string name{};
    std::string phase{};
};
// All pages of a list, as far as the server gives them.
std::vector<codec::Value> list_all(Rest& rest, const std::string& path) {
    constexpr int pages_max = 10'000;
    std::vector<codec::Value> items;
    std::string token;
    for (int i = 0; i < pages_max; ++i) {
        auto page = rest.get(path + (token.empty() ? "" : "&continue=" + http::encode_component(token)));
        const codec::Value* found = page ? page->find("items") : nullptr;
        if (!found) break;
        items.insert(items.end(), found->items.begin(), found->items.end());
        const codec::Value* meta = page->find("metadata");
        const codec::Value* next = meta ? meta->find("continue") : nullptr;
        token = next ? std::string(next->text_or_empty()) : "";
        if (token.empty()) break;
    }
    return items;
}

// Of work that has not ended.
const std::string not_ended =
    "?limit=500&fieldSelector=" + http::encode_component("status.phase!=succeeded,status.phase!=failed,status.phase!=cancelled");

std::vector<LiveTask> live_tasks(Rest& rest) {
    std::vector<LiveTask> tasks;
    for (const codec::Value& item : list_all(rest, "/api/v1/replicas" + not_ended)) {
        const codec::Value* meta = item.find("metadata");
        const codec::Value* status = item.find("status");
        const codec::Value* phase = status ? status->find("phase") : nullptr;
        const std::string text(phase ? phase->text_or_empty() : "");
        if (text != "starting" && text != "running" && text != "stopping" && text != "unknown") continue;
        tasks.push_back({.name = fmt::format("{}/{}/{}", meta->find("project")->text_or_empty(),
                                             meta->find("namespace")->text_or_empty(), meta->find("name")->text_or_empty()),
                         .phase = text});
    }
    return tasks;
}

void cancel_jobs(Rest& rest) {
    for (const codec::Value& item : list_all(rest, "/api/v1/jobs" + not_ended)) {
        const codec::Value* meta = item.find("metadata");
        (void)rest.post(fmt::format("/api/v1/projects/{}/namespaces/{}/jobs/{}/cancel", meta->find("project")->text_or_empty(),
                                    meta->find("namespace")->text_or_empty(), meta->find("name")->text_or_empty()));
    }
}

void write_process(codec::JsonWriter& writer, std::string_view name, const std::optional<RunRecord>& record) {
    writer.key(name);
    writer.begin_object();
    writer.key("running");
    writer.boolean(record.has_value());
    writer.key("pid");
    writer.number(record ? record->pid : 0);
    writer.key("url");
    writer.text(record ? record->url : "");
    writer.key("version");
    writer.text(record ? record->version : "");
    writer.end_object();
}

// Before anything is made or remembered.
Status check_options(const Home& home, const UpOptions& options) {
    TANDEM_TRY(check_public(options));
    if (!find_running(home.run_file("server"))) TANDEM_TRY(check_is_free(options.listen, "--listen"));
    if (!find_running(home.run_file("gateway"))) TANDEM_TRY(check_is_free(options.gateway, "--gateway"));
    return {};
}

}  // namespace

int up(const std::vector<std::string>& arguments) {
    const Home home = Home::find();
    const Parsed parsed = parse_up_options("up", arguments, load_options(home));
    if (!parsed.options) {
        fmt::print(parsed.exit_code == 0 ? stdout : stderr, "{}", parsed.text);
        return parsed.exit_code;
    }
    if (const Status possible = check_options(home, *parsed.options); !possible) return complain("up", possible.error());
    if (const Status made = home.make(); !made) return complain("up", made.error());
    for (const char* name : {"server", "gateway"})
        if (const Status ready = ensure_running(home, name, *parsed.options); !ready) return complain("up", ready.error());
    // Kept once they are seen to work: a wrong one must not stand in the way of the next start.
    if (const Status saved = save_options(home, *parsed.options); !saved) return complain("up", saved.error());
    for (const char* name : {"server", "gateway"})
        if (const Status runs = still_runs(home, name); !runs) return complain("up", runs.error());
    say_ready(home);
    return 0;
}

int down(const std::vector<std::string>& arguments) {
    const Home home = Home::find();
    const bool all = has_word(arguments, "--all");
    Rest rest(home);
    if (all) cancel_jobs(rest);
    const std::vector<LiveTask> tasks = live_tasks(rest);
    for (const char* name : {"gateway", "server"}) {
        const bool was = find_running(home.run_file(name)).has_value();
        if (!stop_process(home.run_file(name), stop_deadline)) {
            fmt::print(stderr, "tandem down: the {} does not end; see {}\n", name, home.log_file(name));
            return 1;
        }
        fmt::print("{} {}\n", name, was ? "stopped" : "was not running");
    }
    if (all) {
        const std::int64_t left = end_leftover_tasks(home, end_deadline);
        fmt::print("tasks ended; {} left\n", left);
        return left == 0 ? 0 : 1;
    }
    for (const LiveTask& task : tasks) fmt::print("runs on: {} ({})\n", task.name, task.phase);
    if (!tasks.empty()) fmt::print("tandem up takes them back; tandem down --all ends them\n");
    return 0;
}

int status(const std::vector<std::string>& arguments) {
    const Home home = Home::find();
    const auto server = find_running(home.run_file("server"));
    const auto gateway = find_running(home.run_file("gateway"));
    if (const std::string output = output_of(arguments); output != "table") {
        std::string json;
        codec::JsonWriter writer(json);
        writer.begin_object();
        writer.key("home");
        writer.text(home.root());
        write_process(writer, "server", server);
        write_process(writer, "gateway", gateway);
        writer.end_object();
        if (const auto value = codec::parse_json(json); value && output == "yaml") json = codec::render_yaml(*value);
        fmt::print("{}{}", json, json.ends_with('\n') ? "" : "\n");
    } else {
        const auto line = [](const char* name, const std::optional<RunRecord>& record) {
            if (record)
                fmt::print("{:<8} running  {}  pid {}  version {}\n", name, record->url, record->pid, record->version);
            else
                fmt::print("{:<8} not running\n", name);
        };
        fmt::print("home     {}\n", home.root());
        line("server", server);
        line("gateway", gateway);
        if (server) {
            Rest rest(home);
            fmt::print("tasks    {} alive\n", live_tasks(rest).size());
        }
    }
    return server && gateway ? 0 : 6;
}

std::optional<cli::LocalInstallation> find_local() {
    const Home home = Home::find();
    auto key = read_file(home.admin_key());
    if (!key) return std::nullopt;
    while (!key->empty() && key->back() == '\n') key->pop_back();
    return cli::LocalInstallation{.server = "unix:" + home.socket(),
                                  .key = Secret(std::move(*key)),
                                  .chosen = !environment_or("TANDEM_HOME", "").empty()};
}

}  // namespace tandem::apps

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
#include "codec/json_writer.h"

namespace tandem::apps {
namespace {

constexpr Duration start_deadline = seconds(60);
constexpr Duration stop_deadline = seconds(30);
constexpr Duration end_deadline = seconds(120);

int complain(const std::string& verb, const Error& error) {
    fmt::print(stderr, "tandem {}: {}{}\n", verb, error.field.empty() ? "" : error.field + ": ", error.message);
    return error.code == ErrorCode::invalid ? 2 : 1;
}

bool wants_json(const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i + 1 < arguments.size(); ++i)
        if ((arguments[i] == "-o" || arguments[i] == "--output") && arguments[i + 1] == "json") return true;
    return std::find(arguments.begin(), arguments.end(), "-o=json") != arguments.end();
}

bool has_word(const std::vector<std::string>& arguments, const std::string& word) {
    return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
}

// The last words of a process that did not come up.
std::string last_lines(const std::string& path, std::size_t bytes) {
    const std::string text = read_file(path).value_or("");
    return text.size() > bytes ? text.substr(text.size() - bytes) : text;
}

bool ended(pid_t child) { return ::waitpid(child, nullptr, WNOHANG) == child; }

template <class Ready>
Status wait_ready(const std::string& name, pid_t child, const Home& home, Ready&& ready) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(start_deadline.ms);
    while (std::chrono::steady_clock::now() < end) {
        if (ready()) return {};
        if (ended(child))
            return fail(ErrorCode::unavailable, fmt::format("the {} ended at once; its last words ({}):\n{}", name,
                                                            home.log_file(name), last_lines(home.log_file(name), 2000)));
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
std::vector<LiveTask> live_tasks(Rest& rest) {
    std::vector<LiveTask> tasks;
    const auto page = rest.get("/api/v1/replicas?limit=500");
    const codec::Value* items = page ? page->find("items") : nullptr;
    if (!items) return tasks;
    for (const codec::Value& item : items->items) {
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
    const auto page = rest.get("/api/v1/jobs?limit=500");
    const codec::Value* items = page ? page->find("items") : nullptr;
    if (!items) return;
    for (const codec::Value& item : items->items) {
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
    if (const Status saved = save_options(home, *parsed.options); !saved) return complain("up", saved.error());
    for (const char* name : {"server", "gateway"})
        if (const Status ready = ensure_running(home, name, *parsed.options); !ready) return complain("up", ready.error());
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
    if (wants_json(arguments)) {
        std::string json;
        codec::JsonWriter writer(json);
        writer.begin_object();
        writer.key("home");
        writer.text(home.root());
        write_process(writer, "server", server);
        write_process(writer, "gateway", gateway);
        writer.end_object();
        fmt::print("{}\n", json);
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

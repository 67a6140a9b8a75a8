// SPDX-License-Identifier: Apache-2.0
#include "apps/control.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "apps/home.h"
#include "apps/leftover_tasks.h"
#include "apps/options.h"
#include "apps/process.h"
#include "apps/report.h"
#include "apps/rest.h"
#include "cli/exit_code.h"
#include "codec/document.h"
#include "executor/local/devices.h"
#include "net/http/message.h"

namespace tandem::apps {
namespace {

using codec::Value;

constexpr Duration start_deadline = seconds(60);
constexpr Duration stop_deadline = seconds(30);
constexpr Duration end_deadline = seconds(120);

bool has_word(const std::vector<std::string>& arguments, const std::string& word) {
    return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
}

std::string last_lines(const std::string& path, std::size_t bytes) {
    const std::string text = read_file(path).value_or("");
    return text.size() > bytes ? text.substr(text.size() - bytes) : text;
}

// What a process that is gone found wrong stands at the end of its log.
std::unexpected<Error> gone(const Home& home, const std::string& name, std::string_view when) {
    return fail(ErrorCode::unavailable,
                fmt::format("the {} ended {}; its last words ({}):\n{}", name, when,
                            home.log_file(name), last_lines(home.log_file(name), 2000)));
}

bool ended(pid_t child) {
    return ::waitpid(child, nullptr, WNOHANG) == child;
}

template <class Ready>
Status wait_ready(const std::string& name, pid_t child, const Home& home, Ready&& ready) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(start_deadline.ms);
    while (std::chrono::steady_clock::now() < end) {
        if (ready()) return {};
        if (ended(child)) return gone(home, name, "at once");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return fail(ErrorCode::unavailable,
                fmt::format("the {} is not ready after {}; see {}", name,
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
        if (running->url.starts_with("https://"))
            return true;  // told once it listens; its certificate names the world's host
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
    fmt::print("home     {}\nadmin key in {} (mode 0600); the command line on this host finds it\n",
               home.root(), home.admin_key());
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
        auto page =
            rest.get(path + (token.empty() ? "" : "&continue=" + http::encode_component(token)));
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
    "?limit=500&fieldSelector=" +
    http::encode_component("status.phase!=succeeded,status.phase!=failed,status.phase!=cancelled");

std::vector<LiveTask> live_tasks(Rest& rest) {
    std::vector<LiveTask> tasks;
    for (const codec::Value& item : list_all(rest, "/api/v1/replicas" + not_ended)) {
        const codec::Value* meta = item.find("metadata");
        const codec::Value* status = item.find("status");
        const codec::Value* phase = status ? status->find("phase") : nullptr;
        const std::string text(phase ? phase->text_or_empty() : "");
        if (text != "starting" && text != "running" && text != "stopping" && text != "unknown")
            continue;
        tasks.push_back({.name = fmt::format("{}/{}/{}", meta->find("project")->text_or_empty(),
                                             meta->find("namespace")->text_or_empty(),
                                             meta->find("name")->text_or_empty()),
                         .phase = text});
    }
    return tasks;
}

void cancel_jobs(Rest& rest) {
    for (const codec::Value& item : list_all(rest, "/api/v1/jobs" + not_ended)) {
        const codec::Value* meta = item.find("metadata");
        (void)rest.post(fmt::format("/api/v1/projects/{}/namespaces/{}/jobs/{}/cancel",
                                    meta->find("project")->text_or_empty(),
                                    meta->find("namespace")->text_or_empty(),
                                    meta->find("name")->text_or_empty()));
    }
}

Value describe(const std::optional<RunRecord>& record) {
    Value one = codec::make_object();
    one.add("running", make_flag(record.has_value()));
    one.add("pid",
            {.type = codec::ValueType::number, .text = std::to_string(record ? record->pid : 0)});
    one.add("url", codec::make_text(record ? record->url : ""));
    one.add("version", codec::make_text(record ? record->version : ""));
    return one;
}

// Before anything is made or remembered.
Status check_options(const Home& home, const UpOptions& options) {
    TANDEM_TRY(check_public(options));
    if (!find_running(home.run_file("server"))) {
        TANDEM_TRY(check_is_free(options.listen, "--listen"));
        TANDEM_TRY(executor::discover_devices(
            {.cpu_slices = options.slices, .over_commit = options.over_commit}));
        TANDEM_TRY(check_secret(home));
    }
    if (!find_running(home.run_file("gateway")))
        TANDEM_TRY(check_is_free(options.gateway, "--gateway"));
    return {};
}

// What runs goes on as it is; options are only taken by a start.
int refuse_other_options(const Home& home, const std::vector<std::string>& differ) {
    std::string text = "it runs already, with other options; nothing was changed\n";
    for (const std::string& line : differ) text += "  " + line + "\n";
    text += "tandem down, then tandem up with these options, changes them; tasks go on meanwhile";
    say_ready(home);
    return complain("up", {ErrorCode::conflict, std::move(text), ""});
}

Status start_parts(const Home& home, const UpOptions& options) {
    TANDEM_TRY(home.make());
    for (const char* name : {"server", "gateway"}) TANDEM_TRY(ensure_running(home, name, options));
    // Kept once they are seen to work: a wrong one must not stand in the way of the next start.
    TANDEM_TRY(save_options(home, options));
    for (const char* name : {"server", "gateway"}) TANDEM_TRY(still_runs(home, name));
    return {};
}

// A first start that failed leaves no home behind: nothing has worked in it yet. Not while a
// process has it.
void remove_half_made(const Home& home) {
    if (find_running(home.run_file("server")) || !lock_home(home)) return;
    std::error_code ignored;
    std::filesystem::remove_all(home.root(), ignored);
}

// Which keys a recovery has revoked at this start; told once.
void say_recovered(const Home& home) {
    const auto text = read_file(home.recovered());
    const auto document = text ? codec::parse_json(*text) : Result<Value>(pass_on(text.error()));
    const Value* revoked = document ? document->find("revoked") : nullptr;
    if (!revoked) return;
    std::string names;
    for (const Value& name : revoked->items)
        names += (names.empty() ? "key/" : ", key/") + std::string(name.text_or_empty());
    fmt::print("revoked  {}\n", names.empty() ? "no other admin key was there" : names);
    std::filesystem::remove(home.recovered());
}

}  // namespace

int up(const std::vector<std::string>& arguments) {
    const Home home = Home::find();
    const auto server = find_running(home.run_file("server"));
    const auto gateway = find_running(home.run_file("gateway"));
    const UpOptions kept = load_options(home);
    const auto running = server ? server : gateway;
    const UpOptions before = running ? options_from(running->options, kept) : kept;
    const Parsed parsed = parse_up_options("up", arguments, before);
    if (!parsed.options) {
        fmt::print(parsed.exit_code == 0 ? stdout : stderr, "{}", parsed.text);
        return parsed.exit_code;
    }
    if (const auto differ = differences(before, *parsed.options); running && !differ.empty())
        return refuse_other_options(home, differ);
    if (const Status possible = check_options(home, *parsed.options); !possible)
        return complain("up", possible.error());
    const bool fresh = !std::filesystem::exists(home.root());
    if (const Status started = start_parts(home, *parsed.options); !started) {
        if (fresh) remove_half_made(home);
        return complain("up", started.error());
    }
    if (server && gateway) fmt::print("already running; nothing changed\n");
    say_ready(home);
    say_recovered(home);
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
            fmt::print(stderr, "tandem down: the {} does not end; see {}\n", name,
                       home.log_file(name));
            return cli::exit_timeout;
        }
        fmt::print("{} {}\n", name, was ? "stopped" : "was not running");
    }
    if (all) {
        const std::int64_t left = end_leftover_tasks(home, end_deadline);
        fmt::print("tasks ended; {} left\n", left);
        return left == 0 ? 0 : cli::exit_timeout;
    }
    for (const LiveTask& task : tasks) fmt::print("runs on: {} ({})\n", task.name, task.phase);
    if (!tasks.empty()) fmt::print("tandem up takes them back; tandem down --all ends them\n");
    return 0;
}

int status(const std::vector<std::string>& arguments) {
    const Home home = Home::find();
    const auto server = find_running(home.run_file("server"));
    const auto gateway = find_running(home.run_file("gateway"));
    Value told = codec::make_object();
    told.add("home", codec::make_text(home.root()));
    told.add("server", describe(server));
    told.add("gateway", describe(gateway));
    const auto line = [](const char* name, const std::optional<RunRecord>& record) {
        if (!record) return fmt::format("{:<8} not running\n", name);
        return fmt::format("{:<8} running  {}  pid {}  version {}\n", name, record->url,
                           record->pid, record->version);
    };
    const std::string output = output_of(arguments);
    std::string text = fmt::format("home     {}\n", home.root()) + line("server", server) +
                       line("gateway", gateway);
    if (server && output == "table") {
        Rest rest(home);
        text += fmt::format("tasks    {} alive\n", live_tasks(rest).size());
    }
    answer(output, told, text);
    return server && gateway ? 0 : cli::exit_unavailable;
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

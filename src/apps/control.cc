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
#include "apps/waiting_tasks.h"
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

// Of a log, what was written from `from` on: the sentence that a process ended with, which is no
// JSON, else its last lines.
std::string last_words(const std::string& path, const std::string& name, std::size_t from) {
    constexpr std::size_t bytes_max = 2000;
    std::string text = read_file(path).value_or("");
    text.erase(0, std::min(from, text.size()));
    const std::string head = "tandem " + name + ": ";
    const std::size_t at = text.rfind("\n" + head);
    if (at != std::string::npos) return text.substr(at + 1);
    if (text.starts_with(head)) return text;
    return text.size() > bytes_max ? text.substr(text.size() - bytes_max) : text;
}

std::size_t size_of(const std::string& path) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    return error ? 0 : static_cast<std::size_t>(size);
}

// What a process that is gone found wrong stands at the end of its log.
std::unexpected<Error> gone(const Home& home, const std::string& name, std::string_view when,
                            std::size_t from) {
    std::string words = last_words(home.log_file(name), name, from);
    while (words.ends_with('\n')) words.pop_back();
    return fail(
        ErrorCode::unavailable,
        fmt::format("the {} ended {}:\n{}\nMore is in {}; tandem doctor checks the home and "
                    "says what to do",
                    name, when, words, home.log_file(name)));
}

bool ended(pid_t child) {
    return ::waitpid(child, nullptr, WNOHANG) == child;
}

template <class Ready>
Status wait_ready(const std::string& name, pid_t child, const Home& home, std::size_t from,
                  Ready&& ready) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(start_deadline.ms);
    while (std::chrono::steady_clock::now() < end) {
        if (ready()) return {};
        if (ended(child)) return gone(home, name, "at once", from);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return fail(ErrorCode::unavailable,
                fmt::format("the {} is not ready after {}; see {}", name,
                            render_duration(start_deadline), home.log_file(name)));
}

// `started`: the processes that this `up` has begun.
Status ensure_running(const Home& home, const std::string& name, const UpOptions& options,
                      std::size_t log_begins, std::vector<pid_t>& started) {
    if (find_running(home.run_file(name))) return {};
    std::vector<std::string> words{own_path(), name};
    for (std::string& word : to_arguments(options)) words.push_back(std::move(word));
    TANDEM_LET(child, start_detached(words, home.log_file(name)));
    started.push_back(child);
    return wait_ready(name, child, home, log_begins, [&] {
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
Status still_runs(const Home& home, const std::string& name, std::size_t log_begins) {
    if (find_running(home.run_file(name))) return {};
    return gone(home, name, "again", log_begins);
}

std::string text_of_ready(const Home& home) {
    const auto server = find_running(home.run_file("server"));
    const auto gateway = find_running(home.run_file("gateway"));
    return fmt::format("server   {}  pid {}\n", server ? server->url : "-",
                       server ? server->pid : 0) +
           fmt::format("gateway  {}  pid {}\n", gateway ? gateway->url : "-",
                       gateway ? gateway->pid : 0) +
           fmt::format(
               "home     {}\nadmin key in {} (mode 0600); the command line on this host "
               "finds it\n",
               home.root(), home.admin_key());
}

struct LiveTask {
    std::string name{};
    std::string phase{};
};
// All pages of a list.
Result<std::vector<codec::Value>> list_all(Rest& rest, const std::string& path) {
    constexpr int pages_max = 10'000;
    std::vector<codec::Value> items;
    std::string token;
    for (int i = 0; i < pages_max; ++i) {
        TANDEM_LET(
            page,
            rest.get(path + (token.empty() ? "" : "&continue=" + http::encode_component(token))));
        const codec::Value* found = page.find("items");
        if (!found) break;
        items.insert(items.end(), found->items.begin(), found->items.end());
        const codec::Value* meta = page.find("metadata");
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

Result<std::vector<LiveTask>> live_tasks(Rest& rest) {
    std::vector<LiveTask> tasks;
    TANDEM_LET(replicas, list_all(rest, "/api/v1/replicas" + not_ended));
    for (const codec::Value& item : replicas) {
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
    const auto jobs = list_all(rest, "/api/v1/jobs" + not_ended);
    for (const codec::Value& item : jobs ? *jobs : std::vector<codec::Value>{}) {
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
    one.add("pid", make_number(record ? record->pid : 0));
    one.add("url", codec::make_text(record ? record->url : ""));
    one.add("version", codec::make_text(record ? record->version : ""));
    return one;
}

// Before anything is made or remembered.
Status check_options(const Home& home, const UpOptions& options) {
    TANDEM_TRY(check_public(options));
    const bool server = find_running(home.run_file("server")).has_value();
    const bool gateway = find_running(home.run_file("gateway")).has_value();
    if (!server || !gateway) TANDEM_TRY(check_tls(options));
    if (!server) {
        TANDEM_TRY(check_is_free(options.listen, "--listen"));
        TANDEM_TRY(executor::discover_devices(
            {.cpu_slices = options.slices, .over_commit = options.over_commit}));
        TANDEM_TRY(check_secret(home));
    }
    if (!gateway) TANDEM_TRY(check_is_free(options.gateway, "--gateway"));
    return {};
}

// What runs goes on as it is; options are only taken by a start.
int refuse_other_options(const Home& home, const std::vector<std::string>& differ) {
    std::string text = "it runs already, with other options; nothing was changed\n";
    for (const std::string& line : differ) text += "  " + line + "\n";
    text += "tandem down, then tandem up with these options, changes them; tasks go on meanwhile";
    fmt::print("{}", text_of_ready(home));
    return complain("up", {ErrorCode::conflict, std::move(text), ""});
}

Status start_parts(const Home& home, const UpOptions& options, std::vector<pid_t>& begun) {
    const std::pair<const char*, std::size_t> parts[] = {
        {"server", size_of(home.log_file("server"))},
        {"gateway", size_of(home.log_file("gateway"))}};
    for (const auto& [name, log_begins] : parts)
        TANDEM_TRY(ensure_running(home, name, options, log_begins, begun));
    // Kept once they are seen to work: a wrong one must not stand in the way of the next start.
    TANDEM_TRY(save_options(home, options));
    for (const auto& [name, log_begins] : parts) TANDEM_TRY(still_runs(home, name, log_begins));
    return {};
}

// A first start that failed leaves no process and no home behind: nothing has worked in it yet. Not
// while a process has it that something else has started.
void remove_half_made(const Home& home, const std::vector<pid_t>& begun) {
    for (const pid_t child : begun) end_child(child, stop_deadline);
    if (find_running(home.run_file("server")) || !lock_home(home)) return;
    std::error_code ignored;
    std::filesystem::remove_all(home.root(), ignored);
}

// Which keys a recovery has revoked at this start; told once.
std::optional<Value> take_recovered(const Home& home) {
    const auto text = read_file(home.recovered());
    const auto document = text ? codec::parse_json(*text) : Result<Value>(pass_on(text.error()));
    const Value* revoked = document ? document->find("revoked") : nullptr;
    if (!revoked) return std::nullopt;
    std::filesystem::remove(home.recovered());
    return *revoked;
}

void tell_started(const Home& home, const std::string& output, bool ran_already) {
    Value told = codec::make_object();
    std::string text = ran_already ? "already running; nothing changed\n" : "";
    text += text_of_ready(home);
    told.add("changed", make_flag(!ran_already));
    told.add("home", codec::make_text(home.root()));
    for (const char* name : {"server", "gateway"})
        told.add(name, describe(find_running(home.run_file(name))));
    told.add("adminKeyFile", codec::make_text(home.admin_key()));
    if (const auto revoked = take_recovered(home)) {
        std::string names;
        for (const Value& name : revoked->items)
            names += (names.empty() ? "key/" : ", key/") + std::string(name.text_or_empty());
        text +=
            fmt::format("revoked  {}\n", names.empty() ? "no other admin key was there" : names);
        told.add("revoked", *revoked);
    }
    if (const std::string waiting = waiting_tasks(home); !waiting.empty()) {
        text += fmt::format("tasks    {}: tandem admin tasks list, then adopt or end\n", waiting);
        told.add("tasks", codec::make_text(waiting));
    }
    answer(output, told, text);
    for (const std::string& file : open_secrets(home))
        fmt::print(stderr, "tandem up: {} is open to other users: chmod 600 {}\n", file, file);
}

}  // namespace

int up(const std::vector<std::string>& arguments) {
    const Home home = Home::find();
    const auto server = find_running(home.run_file("server"));
    const auto gateway = find_running(home.run_file("gateway"));
    const auto kept = load_options(home);
    const auto running = server ? server : gateway;
    const UpOptions otherwise = kept ? *kept : default_options();
    const UpOptions before = running ? options_from(running->options, otherwise) : otherwise;
    const Parsed parsed = parse_up_options("up", arguments, before);
    if (!parsed.options) {
        fmt::print(parsed.exit_code == 0 ? stdout : stderr, "{}", parsed.text);
        return parsed.exit_code;
    }
    if (!kept) return complain("up", kept.error());
    if (const auto differ = differences(before, *parsed.options); running && !differ.empty())
        return refuse_other_options(home, differ);
    if (const Status possible = check_options(home, *parsed.options); !possible)
        return complain("up", possible.error());
    const bool fresh = !std::filesystem::exists(home.root());
    if (const Status made = home.make(); !made) return complain("up", made.error());
    const auto turn = take_turn_of_up(home);
    if (!turn) return complain("up", turn.error());
    std::vector<pid_t> begun;
    if (const Status started = start_parts(home, *parsed.options, begun); !started) {
        if (fresh) remove_half_made(home, begun);
        return complain("up", started.error());
    }
    tell_started(home, parsed.output, server && gateway);
    return 0;
}

int down(const std::vector<std::string>& arguments) {
    const Home home = Home::find();
    const bool all = has_word(arguments, "--all");
    Rest rest(home);
    if (all) cancel_jobs(rest);
    const std::vector<LiveTask> tasks = live_tasks(rest).value_or(std::vector<LiveTask>{});
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
    std::string text = fmt::format("home     {}\n", home.root()) + line("server", server) +
                       line("gateway", gateway);
    if (server) {
        Rest rest(home, brief_patience);
        const auto tasks = live_tasks(rest);
        if (tasks) told.add("tasksAlive", make_number(static_cast<std::int64_t>(tasks->size())));
        text += tasks ? fmt::format("tasks    {} alive\n", tasks->size())
                      : fmt::format("tasks    not known: {}\n", tasks.error().message);
    }
    answer(output_of(arguments), told, text);
    return server && gateway ? 0 : cli::exit_unavailable;
}

std::optional<cli::LocalInstallation> find_local() {
    const Home home = Home::find();
    const bool chosen = !environment_or("TANDEM_HOME", "").empty();
    auto key = read_file(home.admin_key());
    if (!key && !chosen) return std::nullopt;
    cli::LocalInstallation found{.server = "unix:" + home.socket(), .chosen = chosen};
    if (!key) {
        found.no_key = fmt::format(
            "TANDEM_HOME is {}, and {} can't be read: start an installation there with `tandem up`, "
            "set TANDEM_API_KEY, or unset TANDEM_HOME to use the context",
            home.root(), home.admin_key());
        return found;
    }
    while (!key->empty() && key->back() == '\n') key->pop_back();
    found.key = Secret(std::move(*key));
    return found;
}

}  // namespace tandem::apps

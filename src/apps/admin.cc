// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "apps/control.h"
#include "apps/home.h"
#include "apps/process.h"
#include "apps/rest.h"
#include "base/quantity.h"
#include "cli/exit_code.h"
#include "codec/json_writer.h"
#include "crypto/api_key.h"

namespace tandem::apps {
namespace {

constexpr const char* help =
    "Acts on the installation itself; the server must run\n"
    "Usage: tandem admin backup FILE | restore FILE | check | export-history FILE\n\n"
    "  backup FILE          write a copy of the store, while work goes on\n"
    "  restore FILE         check a backup and apply it at the next start\n"
    "  check                read every page of the store\n"
    "  export-history FILE  segments, rows and changes as NDJSON\n\n"
    "Examples:\n"
    "  tandem admin backup /var/backups/tandem.db\n"
    "  tandem admin check\n";

int complain(const Error& error) {
    fmt::print(stderr, "tandem admin: {}{}\n", error.field.empty() ? "" : error.field + ": ", error.message);
    return 1;
}

int post_path(Rest& rest, const std::string& verb, const std::string& file) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("path");
    writer.text(std::filesystem::absolute(file).string());
    writer.end_object();
    if (const auto done = rest.post("/api/v1/admin/" + verb, json); !done) return complain(done.error());
    fmt::print("{}\n", verb == "backup" ? "backup written to " + file : "checked; it is applied at the next start (tandem down, tandem up)");
    return 0;
}

// ---- tasks of before a restore ----

struct OldTask {
    std::string task{};
    std::string replica{};  // PROJECT/NAMESPACE/NAME; empty: it belongs to nothing
    std::string handle{};
};

std::string text_of(const codec::Value& value, std::string_view name) {
    const codec::Value* found = value.find(name);
    return found ? std::string(found->text_or_empty()) : std::string();
}

std::int64_t number_of(const codec::Value& value, std::string_view name) { return parse_integer(text_of(value, name)).value_or(0); }

Result<std::vector<OldTask>> old_tasks(Rest& rest) {
    TANDEM_LET(answer, rest.get("/api/v1/admin/tasks"));
    std::vector<OldTask> tasks;
    const codec::Value* items = answer.find("items");
    if (!items) return tasks;
    for (const codec::Value& item : items->items) {
        OldTask one{.task = text_of(item, "task"), .replica = {}, .handle = text_of(item, "handle")};
        if (const std::string name = text_of(item, "replica"); !name.empty())
            one.replica = text_of(item, "project") + "/" + text_of(item, "namespace") + "/" + name;
        tasks.push_back(std::move(one));
    }
    return tasks;
}

std::string target_of(const OldTask& task, const std::string& verb) {
    if (task.replica.empty()) return "/api/v1/admin/tasks/" + task.task + "/" + verb;
    const std::size_t first = task.replica.find('/');
    const std::size_t second = task.replica.find('/', first + 1);
    return fmt::format("/api/v1/projects/{}/namespaces/{}/replicas/{}/{}", task.replica.substr(0, first),
                       task.replica.substr(first + 1, second - first - 1), task.replica.substr(second + 1), verb);
}

// The tasks that were named, by task name, replica name or path; every one that `verb` fits for --all.
Result<std::vector<OldTask>> chosen(const std::vector<OldTask>& tasks, const std::string& verb,
                                    const std::vector<std::string>& names) {
    std::vector<OldTask> found;
    if (names == std::vector<std::string>{"--all"}) {
        for (const OldTask& one : tasks)
            if (verb == "end" || (!one.replica.empty() && !one.handle.empty())) found.push_back(one);
        return found;
    }
    for (const std::string& name : names) {
        const auto it = std::find_if(tasks.begin(), tasks.end(), [&](const OldTask& one) {
            return one.task == name || one.replica == name || one.replica.ends_with("/" + name);
        });
        if (it == tasks.end()) return invalid_field("TASK", fmt::format("\"{}\" is not among those of tandem admin tasks list", name));
        if (verb == "adopt" && it->replica.empty())
            return invalid_field("TASK", fmt::format("\"{}\" belongs to nothing that is there now; it can only be ended", name));
        found.push_back(*it);
    }
    return found;
}

int list_tasks(const std::vector<OldTask>& tasks) {
    if (tasks.empty()) fmt::print("no task waits for a decision\n");
    else fmt::print("{:<44} {:<40} {}\n", "TASK", "REPLICA", "PROCESS");
    for (const OldTask& one : tasks)
        fmt::print("{:<44} {:<40} {}\n", one.task, one.replica.empty() ? "(belongs to nothing)" : one.replica,
                   one.handle.empty() ? "none lives" : one.handle);
    return 0;
}

int decide_tasks(const std::vector<std::string>& words) {
    Rest rest(Home::find());
    const auto tasks = old_tasks(rest);
    if (!tasks) return complain(tasks.error());
    if (words == std::vector<std::string>{"list"}) return list_tasks(*tasks);
    if (words.size() < 2 || (words[0] != "adopt" && words[0] != "end")) {
        fmt::print(stderr, "usage: tandem admin tasks list | adopt TASK... | end TASK... (--all: every one)\n");
        return 2;
    }
    const auto some = chosen(*tasks, words[0], {words.begin() + 1, words.end()});
    if (!some) return complain(some.error());
    for (const OldTask& one : *some) {
        if (const auto done = rest.post(target_of(one, words[0])); !done) return complain(done.error());
        fmt::print("{}: {}\n", one.replica.empty() ? one.task : one.replica, words[0] == "adopt" ? "adopted" : "told to end");
    }
    return 0;
}

// ---- a way back in ----

Status check_owner(const Home& home) {
    struct stat facts {};
    if (!home.exists() || ::stat(home.root().c_str(), &facts) != 0)
        return fail(ErrorCode::not_found, home.root() + " holds no installation", "home");
    if (facts.st_uid == ::geteuid()) return {};
    return fail(ErrorCode::denied, "only the owner of " + home.root() + " may recover its key", "home");
}

// The next start lets it in, and writes that into the audit trail. Only its hash lies in the home until then.
Status recover_key(const Home& home) {
    TANDEM_TRY(check_owner(home));
    if (const Status locked = lock_home(home); !locked)
        return fail(ErrorCode::conflict, "the server runs; tandem down first", "home");
    const crypto::NewApiKey key = crypto::make_api_key();
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("keyId");
    writer.text(key.key_id);
    writer.key("digest");
    writer.text(key.digest);
    writer.end_object();
    TANDEM_TRY(write_file(home.recovery(), json + "\n"));
    return write_file(home.admin_key(), std::string(key.text.reveal()) + "\n");
}

}  // namespace

int admin(const std::vector<std::string>& arguments) {
    const std::string verb = arguments.empty() ? "" : arguments[0];
    if (std::ranges::any_of(arguments, [](const std::string& word) { return word == "-h" || word == "--help"; })) {
        fmt::print("{}", help);
        return 0;
    }
    Rest rest(Home::find());
    if (verb == "check" && arguments.size() == 1) {
        if (const auto done = rest.post("/api/v1/admin/check"); !done) return complain(done.error());
        fmt::print("the store passes its integrity check\n");
        return 0;
    }
    if (verb == "collect-blobs" && arguments.size() == 1) {
        const auto done = rest.post("/api/v1/admin/collect-blobs");
        if (!done) return complain(done.error());
        fmt::print("{} blobs and {} uploads removed, {} bytes freed\n", number_of(*done, "blobs"), number_of(*done, "uploads"), number_of(*done, "bytes"));
        return 0;
    }
    if ((verb == "backup" || verb == "restore") && arguments.size() == 2) return post_path(rest, verb, arguments[1]);
    if (verb == "export-history" && arguments.size() == 2) {
        if (const Status done = rest.download("/api/v1/admin/history", arguments[1]); !done) return complain(done.error());
        fmt::print("history written to {}\n", arguments[1]);
        return 0;
    }
    if (verb == "recover-key" && arguments.size() == 1) {
        const Home home = Home::find();
        if (const Status done = recover_key(home); !done) return complain(done.error());
        fmt::print("a new admin key is in {} (mode 0600); tandem up lets it in\n", home.admin_key());
        return 0;
    }
    if (verb == "tasks") return decide_tasks({arguments.begin() + 1, arguments.end()});
    fmt::print(stderr, "usage: tandem admin backup FILE | restore FILE | check | export-history FILE | collect-blobs | tasks list|adopt|end | recover-key\n");
    return 2;
}

int sim(const std::vector<std::string>& arguments) {
    const std::string program = (std::filesystem::path(own_path()).parent_path() / "tandem-sim").string();
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execv(program.c_str(), words.data());
    fmt::print(stderr, "tandem sim: {} can't be started\n", program);
    return 1;
}

}  // namespace tandem::apps

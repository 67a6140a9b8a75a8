// SPDX-License-Identifier: Apache-2.0
// tandem admin: what acts on the installation itself. Most of it asks the server; a restore, a
// recovered key and a new secret are also for the owner of a home in which no server runs, who
// holds its lock meanwhile.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "apps/control.h"
#include "apps/home.h"
#include "apps/process.h"
#include "apps/read_words.h"
#include "apps/report.h"
#include "apps/rest.h"
#include "base/quantity.h"
#include "cli/suggest.h"
#include "codec/json_writer.h"
#include "crypto/api_key.h"
#include "store/sqlite/backup.h"

namespace tandem::apps {
namespace {

using codec::Value;

struct Asked {
    std::string output = "table";
    std::string file{};
    std::vector<std::string> tasks{};
    bool all = false;
    bool revoke_others = false;
};

// What a verb has to show: a value for programs, a text for people.
struct Told {
    Value value = codec::make_object();
    std::string text{};
};

Told tell(std::initializer_list<std::pair<const char*, std::string>> members, std::string text) {
    Told told{.text = std::move(text)};
    for (const auto& [name, member] : members) told.value.add(name, codec::make_text(member));
    return told;
}

std::string text_of(const Value& value, std::string_view name) {
    const Value* found = value.find(name);
    return found ? std::string(found->text_or_empty()) : std::string();
}
std::int64_t number_of(const Value& value, std::string_view name) {
    return parse_integer(text_of(value, name)).value_or(0);
}

Result<Rest> find_rest() {
    return Rest::of_caller(Home::find());
}

Result<Told> post_path(const std::string& verb, const std::string& file, std::string text) {
    const std::string path = std::filesystem::absolute(file).string();
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("path");
    writer.text(path);
    writer.end_object();
    TANDEM_LET(rest, find_rest());
    TANDEM_TRY(rest.post("/api/v1/admin/" + verb, json));
    return tell({{"path", path}}, std::move(text));
}

Result<Told> back_up(const Asked& asked) {
    return post_path("backup", asked.file, "backup written to " + asked.file + "\n");
}

// Without a server the store may be what keeps it from starting: the file is then staged here.
Result<Told> restore(const Asked& asked) {
    const Home home = Home::find();
    const std::string text = "checked; it is applied at the next start (tandem down, tandem up)\n";
    if (find_running(home.run_file("server"))) return post_path("restore", asked.file, text);
    if (!std::filesystem::exists(home.root()))
        return fail(ErrorCode::not_found,
                    home.root() + " holds no installation yet: tandem up makes one, then restore "
                                  "into it",
                    "home");
    TANDEM_TRY(lock_home(home));
    const std::string path = std::filesystem::absolute(asked.file).string();
    TANDEM_TRY(store::sqlite::stage_restore(home.database(), path));
    return tell({{"path", path}}, text);
}

Result<Told> check(const Asked&) {
    TANDEM_LET(rest, find_rest());
    TANDEM_LET(value, rest.post("/api/v1/admin/check"));
    return Told{.value = std::move(value), .text = "the store passes its integrity check\n"};
}

Result<Told> collect_blobs(const Asked&) {
    TANDEM_LET(rest, find_rest());
    TANDEM_LET(value, rest.post("/api/v1/admin/collect-blobs"));
    std::string text =
        fmt::format("{} blobs and {} uploads removed, {} bytes freed\n", number_of(value, "blobs"),
                    number_of(value, "uploads"), number_of(value, "bytes"));
    return Told{.value = std::move(value), .text = std::move(text)};
}

Result<Told> export_history(const Asked& asked) {
    TANDEM_LET(rest, find_rest());
    TANDEM_TRY(rest.download("/api/v1/admin/history", asked.file));
    return tell({{"path", std::filesystem::absolute(asked.file).string()}},
                "history written to " + asked.file + "\n");
}

// ---- tasks of before a restore ----

struct OldTask {
    std::string task{};
    std::string replica{};  // PROJECT/NAMESPACE/NAME; empty: it belongs to nothing
    std::string handle{};

    const std::string& shown() const { return replica.empty() ? task : replica; }
};

std::vector<OldTask> tasks_of(const Value& answer) {
    std::vector<OldTask> tasks;
    const Value* items = answer.find("items");
    if (!items) return tasks;
    for (const Value& item : items->items) {
        OldTask one{
            .task = text_of(item, "task"), .replica = {}, .handle = text_of(item, "handle")};
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
    return fmt::format(
        "/api/v1/projects/{}/namespaces/{}/replicas/{}/{}", task.replica.substr(0, first),
        task.replica.substr(first + 1, second - first - 1), task.replica.substr(second + 1), verb);
}

// The tasks that were named, by task name, replica name or path; every one that `verb` fits for
// --all.
Result<std::vector<OldTask>> chosen(const std::vector<OldTask>& tasks, const std::string& verb,
                                    const Asked& asked) {
    std::vector<OldTask> found;
    if (asked.all == !asked.tasks.empty())
        return invalid_field("TASK", "name tasks of tandem admin tasks list, or say --all");
    if (asked.all) {
        for (const OldTask& one : tasks)
            if (verb == "end" || (!one.replica.empty() && !one.handle.empty()))
                found.push_back(one);
        return found;
    }
    for (const std::string& name : asked.tasks) {
        const auto it = std::ranges::find_if(tasks, [&](const OldTask& one) {
            return one.task == name || one.replica == name || one.replica.ends_with("/" + name);
        });
        if (it == tasks.end())
            return fail(ErrorCode::not_found,
                        fmt::format("\"{}\" is not among those of tandem admin tasks list", name),
                        "TASK");
        if (verb == "adopt" && it->replica.empty())
            return fail(
                ErrorCode::conflict,
                fmt::format("\"{}\" belongs to nothing that is there now; it can only be ended",
                            name),
                "TASK");
        found.push_back(*it);
    }
    return found;
}

Result<Told> list_tasks(const Asked&) {
    TANDEM_LET(rest, find_rest());
    TANDEM_LET(value, rest.get("/api/v1/admin/tasks"));
    const std::vector<OldTask> tasks = tasks_of(value);
    std::string text = tasks.empty()
                           ? "no task waits for a decision\n"
                           : fmt::format("{:<44} {:<40} {}\n", "TASK", "REPLICA", "PROCESS");
    for (const OldTask& one : tasks)
        text += fmt::format("{:<44} {:<40} {}\n", one.task,
                            one.replica.empty() ? "(belongs to nothing)" : one.replica,
                            one.handle.empty() ? "none lives" : one.handle);
    return Told{.value = std::move(value), .text = std::move(text)};
}

Result<Told> decide(const std::string& verb, const Asked& asked) {
    TANDEM_LET(rest, find_rest());
    TANDEM_LET(answer, rest.get("/api/v1/admin/tasks"));
    TANDEM_LET(some, chosen(tasks_of(answer), verb, asked));
    const std::string done = verb == "adopt" ? "adopted" : "told to end";
    Told told;
    std::vector<Value> items;
    for (const OldTask& one : some) {
        TANDEM_TRY(rest.post(target_of(one, verb)));
        told.text += fmt::format("{}: {}\n", one.shown(), done);
        items.push_back(
            tell({{"task", one.task}, {"replica", one.replica}, {"done", done}}, "").value);
    }
    told.value.add("items", make_list(std::move(items)));
    return told;
}

Result<Told> adopt_tasks(const Asked& asked) {
    return decide("adopt", asked);
}
Result<Told> end_tasks(const Asked& asked) {
    return decide("end", asked);
}

// ---- ways back in ----

// The owner of a home in which no server runs, and for as long as this process lives.
Status take_home(const Home& home) {
    struct stat facts{};
    if (!home.exists() || ::stat(home.root().c_str(), &facts) != 0)
        return fail(ErrorCode::not_found, home.root() + " holds no installation", "home");
    if (facts.st_uid != ::geteuid())
        return fail(ErrorCode::denied, "only the owner of " + home.root() + " may do this", "home");
    if (const Status locked = lock_home(home); !locked)
        return fail(ErrorCode::conflict, "the server runs; tandem down first", "home");
    return {};
}

// The next start lets it in, and writes that into the audit trail. Only its hash lies in the home
// until then.
Result<Told> recover_key(const Asked& asked) {
    const Home home = Home::find();
    TANDEM_TRY(take_home(home));
    const crypto::NewApiKey key = crypto::make_api_key();
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("keyId");
    writer.text(key.key_id);
    writer.key("digest");
    writer.text(key.digest);
    writer.key("revokeOthers");
    writer.boolean(asked.revoke_others);
    writer.end_object();
    TANDEM_TRY(write_file(home.recovery(), json + "\n"));
    TANDEM_TRY(write_file(home.admin_key(), std::string(key.text.reveal()) + "\n"));
    Told told =
        tell({{"adminKeyFile", home.admin_key()}, {"keyId", key.key_id}},
             fmt::format(
                 "a new admin key is in {} (mode 0600); tandem up lets it in{}\n", home.admin_key(),
                 asked.revoke_others ? ", revokes every other admin key, and says which" : ""));
    told.value.add("revokeOthers", make_flag(asked.revoke_others));
    return told;
}

Result<Told> new_secret(const Asked&) {
    const Home home = Home::find();
    TANDEM_TRY(take_home(home));
    TANDEM_TRY(draw_secret(home));
    return tell({{"secretFile", home.secret()}},
                fmt::format("a new secret is in {} (mode 0600). API keys and jobs are as before; a "
                            "model server that "
                            "still runs knows\nonly its key of the old secret and refuses calls "
                            "until its service has "
                            "started it again\n",
                            home.secret()));
}

// ---- words ----

struct Verb {
    const char* name;
    const char* summary;
    Result<Told> (*act)(const Asked& asked);
    bool takes_file = false;
    bool takes_tasks = false;
};
constexpr Verb verbs[] = {
    {"backup", "Write a copy of the store to FILE, while work goes on", back_up, true},
    {"restore", "Check the backup FILE and apply it at the next start", restore, true},
    {"check", "Read every page of the store", check},
    {"export-history", "Write segments, rows and changes to FILE as NDJSON", export_history, true},
    {"collect-blobs", "Remove what nothing has referred to for a day", collect_blobs},
    {"recover-key", "Draw a new admin key, while no server runs", recover_key},
    {"new-secret", "Draw a new secret for a home that has lost it, while no server runs",
     new_secret},
};
constexpr Verb task_verbs[] = {
    {"tasks list", "Tasks of before a restore that wait for a decision", list_tasks},
    {"tasks adopt", "They run on as their replicas'", adopt_tasks, false, true},
    {"tasks end", "They are stopped, with grace", end_tasks, false, true},
};

void add_verb(CLI::App& app, const Verb& verb, Asked& asked, const Verb*& chosen_verb) {
    const std::string name(verb.name);
    CLI::App* one = app.add_subcommand(name.substr(name.find(' ') + 1),
                                       verb.summary);  // all of it without a blank
    one->add_option("-o,--output", asked.output, "table, json or yaml")
        ->check(CLI::IsMember({"table", "json", "yaml"}));
    if (verb.takes_file) one->add_option("FILE", asked.file, "")->required();
    if (verb.takes_tasks) {
        one->add_option("TASK", asked.tasks, "names of tasks or replicas");
        one->add_flag("--all", asked.all, "every one");
    }
    if (verb.act == recover_key)
        one->add_flag("--revoke-others", asked.revoke_others,
                      "the next start also revokes every other key of a platform-admin");
    one->callback([&verb, &chosen_verb] { chosen_verb = &verb; });
}

// A word where a verb belongs; empty: it is one, or there is none.
std::string wrong_verb(const std::vector<std::string>& words) {
    if (words.empty() || words.front().starts_with('-') || words.front() == "tasks") return {};
    std::vector<std::string> names{"tasks"};
    for (const Verb& verb : verbs) names.emplace_back(verb.name);
    if (std::ranges::find(names, words.front()) != names.end()) return {};
    return fmt::format("\"{}\" is no verb of tandem admin{}; see tandem admin --help",
                       words.front().substr(0, 40), cli::did_you_mean(words.front(), names));
}

int say(const std::string& verb, const std::string& output, const Result<Told>& told) {
    if (!told) return complain("admin " + verb, told.error());
    answer(output, told->value, told->text);
    return 0;
}

}  // namespace

int admin(const std::vector<std::string>& arguments) {
    if (const std::string wrong = wrong_verb(arguments); !wrong.empty())
        return complain("admin", {ErrorCode::invalid, wrong, ""});
    CLI::App app("Act on the installation itself", "tandem admin");
    app.require_subcommand(1);
    Asked asked;
    const Verb* verb = nullptr;
    for (const Verb& one : verbs) add_verb(app, one, asked, verb);
    CLI::App* tasks = app.add_subcommand("tasks", "Decide on tasks of before a restore");
    tasks->require_subcommand(1);
    for (const Verb& one : task_verbs) add_verb(*tasks, one, asked, verb);
    app.footer(
        "Examples:\n  tandem admin backup /var/backups/tandem.db\n  tandem admin check -o json\n"
        "  tandem admin tasks end --all");
    if (const auto code = read_words(app, arguments)) return *code;
    return say(verb->name, asked.output, verb->act(asked));
}

int sim(const std::vector<std::string>& arguments) {
    const std::string program =
        (std::filesystem::path(own_path()).parent_path() / "tandem-sim").string();
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execv(program.c_str(), words.data());
    return complain("sim", {ErrorCode::unavailable, program + " can't be started", ""});
}

}  // namespace tandem::apps

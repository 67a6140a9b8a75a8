// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "cli/examples.h"
#include "cli/exit_code.h"
#include "cli/suggest.h"
#include "cli/table.h"

namespace tandem::cli {
namespace {

constexpr const char* where_group = "Where";

void add_where(CLI::App& app, Arguments& a) {
    app.add_option("--server", a.server,
                   "URL of the server: http://HOST:PORT, https://... or unix:/PATH")
        ->group(where_group);
    app.add_option("--context", a.context, "a context other than the current one")
        ->group(where_group);
    app.add_option("-p,--project", a.project, "project (default: the context's, else \"default\")")
        ->group(where_group);
    app.add_option("-n,--namespace", a.name_space,
                   "namespace (default: the context's, else \"default\")")
        ->group(where_group);
}

// `model push` means the job's output by --output.
void add_show(CLI::App& app, Arguments& a) {
    const bool taken = app.get_name() == "push";
    app.add_option(taken ? "-o" : "-o,--output", a.output, "table, json or yaml")
        ->check(CLI::IsMember({"table", "json", "yaml"}));
    app.add_option("--lang", a.language, "language of reasons: en or zh")
        ->check(CLI::IsMember({"en", "zh"}));
}

CLI::App* add_verb(CLI::App& app, Arguments& a, const std::string& name, const std::string& summary,
                   const std::string& parent = {}) {
    CLI::App* verb = app.add_subcommand(name, summary);
    add_where(*verb, a);
    add_show(*verb, a);
    const std::string whole = parent.empty() ? name : parent + " " + name;
    verb->callback([&a, whole] { a.verb = whole; });
    verb->footer(examples_of(whole));
    return verb;
}

CLI::App* add_group(CLI::App& app, const std::string& name, const std::string& summary) {
    CLI::App* group = app.add_subcommand(name, summary);
    group->require_subcommand(1);
    return group;
}

void add_words(CLI::App* verb, Arguments& a, const std::string& shown, int at_least, int at_most) {
    verb->add_option(shown, a.words, "")->expected(at_least, at_most)->required(at_least > 0);
}

void add_files(CLI::App* verb, Arguments& a) {
    verb->add_option("-f,--file", a.files,
                     "file or folder with objects, or - for standard input; may be repeated");
}
void add_dry_run(CLI::App* verb, Arguments& a) {
    verb->add_flag("--dry-run", a.dry_run, "let the server judge it, change nothing");
}
void add_selectors(CLI::App* verb, Arguments& a) {
    verb->add_flag("-A,--all-projects", a.all_projects, "in every project within reach");
    verb->add_option("-l,--selector", a.label_selector, "labels: a=b,c!=d,e");
    verb->add_option("--field-selector", a.field_selector,
                     "fields: status.phase=running,spec.queue=q");
}

void add_object_verbs(CLI::App& app, Arguments& a) {
    CLI::App* apply = add_verb(app, a, "apply", "Create or change objects from files, all or none");
    add_files(apply, a);
    add_dry_run(apply, a);
    CLI::App* get = add_verb(app, a, "get", "Show objects: get KIND [NAME...], get KIND/NAME");
    add_words(get, a, "KIND NAME", 1, 100);
    add_selectors(get, a);
    CLI::App* describe = add_verb(app, a, "describe",
                                  "Show all of one object, why it is so, and what happened to it");
    add_words(describe, a, "KIND NAME", 1, 2);
    CLI::App* remove =
        add_verb(app, a, "delete", "Delete objects: delete KIND NAME..., delete -f FILE");
    add_words(remove, a, "KIND NAME", 0, 100);
    add_files(remove, a);
    add_dry_run(remove, a);
    CLI::App* watch = add_verb(app, a, "watch", "Show objects as they change: watch KIND [NAME]");
    add_words(watch, a, "KIND NAME", 1, 2);
    add_selectors(watch, a);
    watch->add_option("--timeout", a.timeout, "end after this time");
    CLI::App* wait =
        add_verb(app, a, "wait", "Wait for an object: wait KIND/NAME --for phase=succeeded");
    add_words(wait, a, "KIND NAME", 1, 2);
    wait->add_option(
        "--for", a.wait_for,
        "phase=A[,B...], condition=NAME, finished, ready or deleted (default: finished; services: "
        "ready)");
    wait->add_option("--timeout", a.timeout, "give up after this time, such as 5m");
}

void add_work_verbs(CLI::App& app, Arguments& a) {
    CLI::App* logs = add_verb(app, a, "logs", "Show output: logs job/NAME");
    add_words(logs, a, "KIND NAME", 1, 2);
    logs->add_flag("-f,--follow", a.follow, "go on until it ends");
    logs->add_option("--role", a.role, "of this role (default: the first)");
    logs->add_option("--rank", a.rank, "of this rank (default: the first)")
        ->check(CLI::NonNegativeNumber);
    logs->add_option("--epoch", a.epoch, "of this start (default: the newest)")
        ->check(CLI::NonNegativeNumber);
    CLI::App* why =
        add_verb(app, a, "why", "Why is it as it is, and what would change it? why job/NAME");
    add_words(why, a, "KIND NAME", 1, 2);
    CLI::App* what_if = add_verb(
        app, a, "what-if",
        "What would a change do? And when does what waits start? Changes nothing");
    add_files(what_if, a);
    what_if->add_option("--horizon", a.horizon,
                        "how far to look, such as 24h (default), at most 31d");
    CLI::App* events =
        add_verb(app, a, "events", "What happened, newest first: events [KIND/NAME]");
    add_words(events, a, "KIND NAME", 0, 2);
    events->add_option("--limit", a.limit, "at most so many")->check(CLI::Range(1, 500));
    CLI::App* job = add_group(app, "job", "Act on jobs");
    for (const auto& [name, summary] :
         {std::pair{"cancel", "End a job"},
          {"retry", "Start a failed or cancelled job again"},
          {"hold", "Keep a pending job from starting"},
          {"release", "Take a hold back"},
          {"suspend", "Save, stop and wait until resumed"},
          {"resume", "Let a suspended job wait its turn again"},
          {"requeue", "Save, stop and wait its turn again"},
          {"front", "Before the other pending jobs of its submitter"},
          {"force", "Start it whatever quotas and limits say (operators)"}}) {
        CLI::App* verb = add_verb(*job, a, name, summary, "job");
        add_words(verb, a, "NAME", 1, 100);
        add_dry_run(verb, a);
    }
    CLI::App* priority = add_verb(*job, a, "priority",
                                  "Another priority than it was submitted with (operators)", "job");
    add_words(priority, a, "NAME", 1, 1);
    priority->add_option("--set", a.wanted_priority, "-1000..1000; left out: as submitted again");
    add_dry_run(priority, a);
    CLI::App* preview =
        add_verb(*job, a, "preview", "Where it would start now, and whom it would evict", "job");
    add_words(preview, a, "NAME", 1, 1);
    preview->add_option("--priority", a.wanted_priority, "as if it had this one");
    CLI::App* run =
        add_verb(app, a, "run",
                 "Run one command as a job, show its output, return its exit code: run -- CMD");
    run->add_option("--name", a.name, "name of the job (default: drawn)");
    run->add_option("--queue", a.queue, "queue to wait in");
    run->add_option("--priority", a.priority, "-1000..1000, larger first");
    run->add_option("--devices", a.devices, "devices, such as 1, 2 or 0.5");
    run->add_option("--flavor", a.flavor, "kind of device");
    run->add_option("--cpu", a.cpu, "processor cores, such as 2 or 500m");
    run->add_option("--memory", a.memory, "memory, such as 4Gi");
    run->add_option("-e,--env", a.env, "NAME=VALUE; may be repeated");
    run->add_option("--workdir", a.working_directory, "folder to start in");
}

void add_capacity_verbs(CLI::App& app, Arguments& a) {
    add_words(add_verb(app, a, "queue",
                       "Use and waiting work of queues; queue order NAME: who waits, by what"),
              a, "NAME", 0, 2);
    add_verb(app, a, "limits", "Licenses and limits of running work: how much of them is used");
    add_words(add_verb(app, a, "node", "Machines and their devices"), a, "NAME", 0, 1);
    add_words(add_verb(app, a, "pool", "Devices of pools"), a, "NAME", 0, 1);
    CLI::App* usage = add_group(app, "usage", "Device time and tokens");
    CLI::App* report = add_verb(*usage, a, "report", "Of a time window", "usage");
    report->add_option("--from", a.from,
                       "2026-11-30T00:00:00Z, or a duration back from now such as 24h");
    report->add_option("--to", a.to, "as --from (default: now)");
    CLI::App* explain =
        add_verb(*usage, a, "explain", "Of one job or service: explain KIND/NAME", "usage");
    add_words(explain, a, "KIND NAME", 1, 2);
}

void add_serving_verbs(CLI::App& app, Arguments& a) {
    CLI::App* model = add_group(app, "model", "Models and their versions");
    CLI::App* push =
        add_verb(*model, a, "push",
                 "Make a version: push MODEL FILE, push MODEL --job JOB --output NAME", "model");
    add_words(push, a, "MODEL FILE", 1, 2);
    push->add_option("--job", a.job, "take an output of this job");
    push->add_option("--output", a.job_output, "which output of the job");
    add_verb(*model, a, "list", "List models", "model");
    add_words(add_verb(*model, a, "versions", "List versions", "model"), a, "MODEL", 0, 1);
    CLI::App* service = add_group(app, "service", "Services");
    CLI::App* list = add_verb(*service, a, "list", "List services", "service");
    add_selectors(list, a);
    add_words(add_verb(*service, a, "show", "One service, and how to call it", "service"), a,
              "NAME", 1, 1);
}

void add_access_verbs(CLI::App& app, Arguments& a) {
    CLI::App* key = add_group(app, "key", "API keys");
    CLI::App* create = add_verb(*key, a, "create", "Make a key; it is shown once", "key");
    add_words(create, a, "NAME", 1, 1);
    create->add_option("--subject", a.subject,
                       "user:NAME or serviceaccount:PROJECT/NAME (default: yourself)");
    create->add_option("--services", a.services, "public names it may call (default: all)")
        ->delimiter(',');
    create->add_flag("--inference-only", a.inference_only, "may only call services");
    create->add_option("--requests-per-minute", a.requests_per_minute, "0: no limit");
    create->add_option("--concurrency", a.concurrency, "requests in flight");
    create->add_option("--expires", a.expires,
                       "2026-12-31T00:00:00Z, or a duration from now such as 720h");
    add_verb(*key, a, "list", "List keys", "key");
    add_words(add_verb(*key, a, "revoke", "Make a key useless", "key"), a, "NAME", 1, 1);
    add_verb(app, a, "whoami", "Subject, key and roles of the key in use");
    CLI::App* audit = add_verb(app, a, "audit", "Who did or tried what");
    audit->add_option("--limit", a.limit, "at most so many")->check(CLI::Range(1, 500));
    add_verb(app, a, "version", "Versions of client and server");
    CLI::App* context = add_group(app, "context", "Servers and keys that this user knows");
    CLI::App* set = add_verb(
        *context, a, "set",
        "Add or change a context and use it; the key is read from a file or standard input",
        "context");
    add_words(set, a, "NAME", 1, 1);
    set->add_option("--key-file", a.key_file, "file with the key, or - for standard input");
    add_words(add_verb(*context, a, "use", "Make a context the current one", "context"), a, "NAME",
              1, 1);
    add_words(add_verb(*context, a, "remove", "Forget a context", "context"), a, "NAME", 1, 1);
    add_verb(*context, a, "list", "List contexts", "context");
}

std::vector<std::string> names_of_verbs(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(verb->get_name());
    return names;
}

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::vector<std::string> options_of(const CLI::App& verb) {
    std::vector<std::string> names;
    for (const CLI::Option* option : verb.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

// How far the words name a verb, and what is wrong with the word after that; empty: nothing.
struct Way {
    const CLI::App* verb;
    std::string path = "tandem";
    std::string wrong{};
};

Way find_way(const CLI::App& app, const std::vector<std::string>& words) {
    Way way{.verb = &app};
    for (const std::string& word : words) {
        if (word.starts_with('-')) break;
        const auto names = names_of_verbs(*way.verb);
        if (names.empty()) break;
        if (std::ranges::find(names, word) == names.end()) {
            way.wrong = "\"" + word.substr(0, 40) + "\" is no verb" +
                        (way.verb == &app ? "" : " of " + way.path) + did_you_mean(word, names);
            return way;
        }
        way.verb = way.verb->get_subcommand(word);
        way.path += " " + word;
    }
    if (const auto names = names_of_verbs(*way.verb); !names.empty() && way.verb != &app)
        way.wrong = "say what to do: " + join(names);
    return way;
}

// An option that the verb does not have, with the one that was likely meant.
std::string unknown_option(const CLI::App& verb, const std::vector<std::string>& words) {
    const auto names = options_of(verb);
    for (const std::string& word : words) {
        const std::string name = word.substr(0, word.find('='));
        if (!name.starts_with("--") || std::ranges::find(names, name) != names.end()) continue;
        return "there is no option " + name.substr(0, 40) + did_you_mean(name, names);
    }
    return {};
}

bool asks_for_help(const std::vector<std::string>& words) {
    return std::ranges::any_of(words, [](const std::string& word) {
        return word == "-h" || word == "--help" || word == "--help-all";
    });
}

int refuse(const Terminal& terminal, const Way& way, const std::string& wrong) {
    terminal.err("tandem: " + printable(wrong) + "\nTry: " + way.path + " --help\n");
    return exit_usage;
}

ParsedArguments parse_with(CLI::App& app, std::vector<std::string> words, Arguments& a,
                           const Terminal& terminal) {
    const Way way = find_way(app, words);
    if (!way.wrong.empty() && !asks_for_help(words))
        return {.exit_code = refuse(terminal, way, way.wrong)};
    if (words.empty()) {
        terminal.err(app.help());
        return {.exit_code = exit_usage};
    }
    const std::string wrong_option = unknown_option(*way.verb, words);
    std::ranges::reverse(words);  // as CLI11 wants them
    try {
        app.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
        terminal.out(app.help());
        return {.exit_code = exit_ok};
    } catch (const CLI::CallForAllHelp&) {
        terminal.out(app.help("", CLI::AppFormatMode::All));
        return {.exit_code = exit_ok};
    } catch (const CLI::Error& error) {
        return {.exit_code =
                    refuse(terminal, way, wrong_option.empty() ? error.what() : wrong_option)};
    }
    return {.arguments = std::move(a)};
}

}  // namespace

ParsedArguments parse_arguments(std::vector<std::string> words, const Terminal& terminal,
                                const Options& options) {
    Arguments a;
    const auto marker = std::find(words.begin(), words.end(), "--");
    if (marker != words.end()) {
        a.command.assign(marker + 1, words.end());
        words.erase(marker, words.end());
    }
    CLI::App app("Tandem: train models and serve them on shared machines", "tandem");
    app.require_subcommand(1);
    app.set_help_all_flag("--help-all", "help for every verb");
    add_object_verbs(app, a);
    add_work_verbs(app, a);
    add_serving_verbs(app, a);
    add_capacity_verbs(app, a);
    add_access_verbs(app, a);
    for (const HostVerb& verb : options.host_verbs)
        app.add_subcommand(verb.name, verb.summary)->group("This host")->prefix_command();
    app.footer(
        "First steps:\n"
        "  tandem up                     start server and gateway on this machine\n"
        "  tandem run -- echo hello      one command as a job\n"
        "  tandem get jobs               what became of it\n"
        "  tandem help VERB              options and examples of a verb\n\n"
        "Exit codes: 0 ok, 1 the work failed, 2 usage, 3 not found, 4 denied, 5 conflict, 6 "
        "unavailable, 7 timeout,\n"
        "8 a limit is reached, 9 internal error. `run` returns the exit code of its command.");
    return parse_with(app, std::move(words), a, terminal);
}

}  // namespace tandem::cli

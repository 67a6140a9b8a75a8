// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <array>

#include "cli/arguments.h"
#include "cli/exit_code.h"
#include "cli/show.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/words.h"

namespace tandem::cli {
namespace {

struct VerbEntry {
    std::string_view name;
    Verb act;
};
constexpr VerbEntry verbs[] = {
    {"get", do_get},
    {"describe", do_describe},
    {"delete", do_delete},
    {"apply", do_apply},
    {"watch", do_watch},
    {"wait", do_wait},
    {"logs", do_logs},
    {"why", do_why},
    {"what-if", do_what_if},
    {"events", do_events},
    {"job cancel", do_job_cancel},
    {"job retry", do_job_retry},
    {"job hold", do_job_hold},
    {"job release", do_job_release},
    {"job suspend", do_job_suspend},
    {"job resume", do_job_resume},
    {"job requeue", do_job_requeue},
    {"job front", do_job_front},
    {"job force", do_job_force},
    {"job priority", do_job_priority},
    {"job preview", do_job_preview},
    {"limits", do_limits},
    {"run", do_run},
    {"model push", do_model_push},
    {"model list", do_model_list},
    {"model versions", do_model_versions},
    {"service list", do_service_list},
    {"service show", do_service_show},
    {"queue", do_queue},
    {"node", do_node},
    {"pool", do_pool},
    {"usage report", do_usage_report},
    {"usage explain", do_usage_explain},
    {"key create", do_key_create},
    {"key list", do_key_list},
    {"key revoke", do_key_revoke},
    {"whoami", do_whoami},
    {"audit", do_audit},
    {"version", do_version},
};

int tell(const Error& error, const Terminal& terminal) {
    terminal.err("tandem: " + printable(render_error(error)) + "\n");
    return exit_code_of(error.code);
}

int finish(const Result<int>& result, const Terminal& terminal) {
    return result ? *result : tell(result.error(), terminal);
}

Result<int> act(const Arguments& arguments, const Terminal& terminal, const Options& options) {
    if (arguments.verb.starts_with("context ")) return do_context(arguments, terminal);
    if (arguments.verb == "version" && arguments.output == "table")
        terminal.out(say(language_of(arguments), "client {}\n", options.version));
    auto opened = Session::open(arguments, terminal, options);
    if (!opened) {
        if (arguments.verb == "version") tell_client_version(arguments, terminal, options.version);
        return pass_on(opened.error());
    }
    Session& session = *opened;
    for (const VerbEntry& verb : verbs)
        if (verb.name == arguments.verb) return verb.act(session);
    return fail(ErrorCode::internal,
                "the verb \"" + arguments.verb + "\" is known to the help alone");
}

}  // namespace

int run(int argc, const char* const* argv, const Terminal& terminal, const Options& options) {
    std::vector<std::string> words(argv + 1, argv + argc);
    // "help VERB" is "VERB --help".
    if (!words.empty() && words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    if (!words.empty())
        for (const HostVerb& verb : options.host_verbs)
            if (verb.name == words.front()) return verb.run({words.begin() + 1, words.end()});
    ParsedArguments parsed = parse_arguments(std::move(words), terminal, options);
    if (!parsed.arguments) return parsed.exit_code;
    return finish(act(*parsed.arguments, terminal, options), terminal);
}

}  // namespace tandem::cli

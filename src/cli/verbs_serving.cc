// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/show.h"
#include "cli/upload.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "codec/json_writer.h"
#include "codec/manifest.h"

namespace tandem::cli {
namespace {

using codec::Value;

std::string body_of(std::initializer_list<std::pair<const char*, std::string>> members) {
    std::string body;
    codec::JsonWriter json(body);
    json.begin_object();
    for (const auto& [name, text] : members) {
        json.key(name);
        json.text(text);
    }
    json.end_object();
    return body;
}

// Under this very name of a field the server says that it has no such file.
bool lacks_file(const Error& error) {
    return error.code == ErrorCode::not_found && error.field == "digest";
}

// Asked by digest first: weights that are there need not be sent again.
Result<Session::Answered> push_file(Session& session, const std::string& path,
                                    const std::string& file) {
    TANDEM_LET(digest, digest_of_file(file));
    const Request request{.method = "POST", .path = path, .body = body_of({{"digest", digest}})};
    auto answered = session.ask(request);
    if (answered || !lacks_file(answered.error())) return answered;
    TANDEM_LET(stored, upload_file(session, file));
    return session.ask({.method = "POST", .path = path, .body = body_of({{"digest", stored}})});
}

Result<int> show_service(Session& session, const Value& service) {
    show_one(session, model::Kind::service, service);
    if (session.arguments().output != "table") return exit_ok;
    TANDEM_LET(version, session.get("/api/v1/version"));
    session.terminal().out("\n" + calling_lines(service, text_at(version, "gateway"),
                                                look_of(session).language));
    return exit_ok;
}

}  // namespace

Result<int> do_model_push(Session& session) {
    const Arguments& a = session.arguments();
    const bool from_job = !a.job.empty();
    if (from_job == (a.words.size() == 2) || from_job != !a.job_output.empty())
        return fail(ErrorCode::invalid,
                    "either name a file (push MODEL FILE) or a job and its output (push MODEL "
                    "--job JOB --output NAME)");
    const std::string& name = a.words.front();
    TANDEM_TRY(model::check_name(name, "MODEL"));
    // The model itself is made with its first version.
    const std::string path = session.item(session.key_of(model::Kind::model, name)) + "/versions";
    const auto answered =
        from_job ? session.ask({.method = "POST",
                                .path = path,
                                .body = body_of({{"fromJob", a.job}, {"output", a.job_output}})})
                 : push_file(session, path, a.words[1]);
    if (!answered) return pass_on(answered.error());
    const Value& version = answered->body;
    show(session, version, [&] {
        const codec::Language language = look_of(session).language;
        const std::string known = answered->status == 201
                                      ? std::string()
                                      : say(language, ": already version {} of {}",
                                            number_at(version, "spec.number"), name);
        return say(language, "modelversion/{} {} {} bytes{}\n", text_at(version, "metadata.name"),
                   text_at(version, "spec.digest"), text_at(version, "spec.bytes"), known);
    });
    return exit_ok;
}

Result<int> do_model_list(Session& session) {
    TANDEM_LET(list, list_all(session, model::Kind::model, {}, false));
    show_list(session, model::Kind::model, list, false);
    return exit_ok;
}

Result<int> do_model_versions(Session& session) {
    TANDEM_LET(list, list_all(session, model::Kind::model_version, {}, false));
    const auto& words = session.arguments().words;
    if (!words.empty())
        for (std::size_t i = 0; i < list.names.size(); ++i)
            if (list.names[i] == "items")
                std::erase_if(list.items[i].items, [&](const Value& version) {
                    return text_at(version, "spec.model") != words.front();
                });
    show_list(session, model::Kind::model_version, list, false);
    return exit_ok;
}

Result<int> do_service_list(Session& session) {
    const Arguments& a = session.arguments();
    TANDEM_LET(list,
               list_all(session, model::Kind::service,
                        {{"labelSelector", a.label_selector}, {"fieldSelector", a.field_selector}},
                        a.all_projects));
    show_list(session, model::Kind::service, list, a.all_projects);
    return exit_ok;
}

Result<int> do_service_show(Session& session) {
    TANDEM_LET(service, session.get(session.item(session.key_of(
                            model::Kind::service, session.arguments().words.front()))));
    return show_service(session, service);
}

}  // namespace tandem::cli

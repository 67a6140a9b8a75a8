// SPDX-License-Identifier: Apache-2.0
#include "cli/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/context.h"
#include "cli/suggest.h"
#include "crypto/random_bytes.h"

namespace tandem::cli {
namespace {

// From connecting to the last byte. What only asks is answered at once by a server that is well.
constexpr Duration act_deadline = minutes(2);
constexpr Duration ask_deadline = seconds(30);
constexpr Duration brief_deadline = seconds(5);

Duration deadline_of(const std::string& method, const std::string& verb) {
    if (verb == "whoami" || verb == "version") return brief_deadline;
    return method == "GET" ? ask_deadline : act_deadline;
}

// A server that was never reached is likely not there; one that was is likely restarting.
constexpr int first_tries_max = 2;
constexpr int later_tries_max = 7;  // 12 s in all

struct Endpoint {
    std::string server{};
    Secret key{};
    std::string project{};
    std::string name_space{};
};

Endpoint endpoint_of(const Context& context) {
    return {context.server, context.key, context.project, context.name_space};
}

// A key that belongs to this very server, when one is known.
Secret key_for(const std::string& server, const Contexts& contexts,
               const std::optional<LocalInstallation>& local) {
    if (local && local->server == server) return local->key;
    const auto found = std::ranges::find(contexts.list, server, &Context::server);
    return found == contexts.list.end() ? Secret() : found->key;
}

// What can't be a key is told here, by the name of its variable; it is not printed.
Result<Secret> check_key(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
        text.pop_back();
    if (text.empty())
        return fail(ErrorCode::unauthenticated,
                    "is set but empty; unset the variable to use the key of the context",
                    "TANDEM_API_KEY");
    const bool plain = std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
    if (plain && text.starts_with("td_")) return Secret(std::move(text));
    return fail(ErrorCode::unauthenticated,
                "holds no Tandem key: a key is one word that begins with td_, as `tandem key "
                "create` shows it; unset the variable to use the key of the context",
                "TANDEM_API_KEY");
}

Result<Endpoint> find_endpoint(const Arguments& arguments, const Terminal& terminal,
                               const Options& options) {
    const std::string env_server = terminal.environment("TANDEM_SERVER").value_or("");
    const std::string server = arguments.server.empty() ? env_server : arguments.server;
    const auto local = options.find_local ? options.find_local() : std::nullopt;
    const auto file = contexts_file(terminal.environment);
    Contexts contexts;
    if (file) {
        TANDEM_LET(loaded, load_contexts(*file));
        contexts = std::move(loaded);
    }
    const Context* named =
        contexts.find(arguments.context.empty() ? contexts.current : arguments.context);
    if (!arguments.context.empty()) {
        if (named) return endpoint_of(*named);
        return fail(
            ErrorCode::invalid,
            fmt::format("there is no context \"{}\"; see: tandem context list", arguments.context));
    }
    Endpoint found;
    if (!server.empty())
        found = {.server = server, .key = key_for(server, contexts, local)};
    else if (local && local->chosen)
        // Without a key too: what was named is never another one.
        found = {.server = local->server, .key = local->key};
    else if (named)
        found = endpoint_of(*named);
    else if (local)
        found = {.server = local->server, .key = local->key};
    else
        return fail(ErrorCode::unavailable,
                    "no server is known: start one with `tandem up`, or set --server, "
                    "TANDEM_SERVER or a context");
    TANDEM_LET(key, key_of_environment(terminal.environment));
    if (key) found.key = std::move(*key);
    if (local && found.server == local->server && found.key.empty() && !local->no_key.empty())
        return fail(ErrorCode::unauthenticated, local->no_key);
    return found;
}

bool is_mutation(const std::string& method) {
    return method != "GET" && method != "HEAD";
}

ErrorCode code_of_status(int status) {
    switch (status) {
        case 401:
            return ErrorCode::unauthenticated;
        case 403:
            return ErrorCode::denied;
        case 404:
            return ErrorCode::not_found;
        case 409:
            return ErrorCode::conflict;
        case 410:
            return ErrorCode::gone;
        case 413:
            return ErrorCode::too_large;
        case 429:
            return ErrorCode::exhausted;
        case 502:
        case 503:
        case 504:
            return ErrorCode::unavailable;
        case 507:
            return ErrorCode::storage_full;
        default:
            return status < 500 ? ErrorCode::invalid : ErrorCode::internal;
    }
}

std::optional<ErrorCode> code_of_word(std::string_view word) {
    for (int i = 0; i <= static_cast<int>(ErrorCode::storage_full); ++i)
        if (name_of(static_cast<ErrorCode>(i)) == word) return static_cast<ErrorCode>(i);
    return std::nullopt;
}

}  // namespace

Result<std::optional<Secret>> key_of_environment(const Environment& environment) {
    auto text = environment("TANDEM_API_KEY");
    if (!text) return std::optional<Secret>{};
    TANDEM_LET(key, check_key(std::move(*text)));
    return std::optional<Secret>(std::move(key));
}

Error error_of(int status, std::string_view body) {
    Error error{code_of_status(status),
                fmt::format("the server answered {} {}", status, http::reason_of(status)),
                {}};
    const auto problem = codec::parse_json(body);
    if (!problem) return error;
    const auto text = [&](std::string_view name) {
        const codec::Value* member = problem->find(name);
        return member ? std::string(member->text_or_empty()) : std::string();
    };
    if (std::string detail = text("detail"); !detail.empty()) error.message = std::move(detail);
    if (const auto code = code_of_word(text("code"))) error.code = *code;
    error.field = text("field");
    return error;
}

std::string render_error(const Error& error) {
    const bool told = error.field.empty() || error.message.starts_with(error.field + ":");
    return told ? error.message : error.field + ": " + error.message;
}

Result<Session> Session::open(const Arguments& arguments, const Terminal& terminal,
                              const Options& options) {
    TANDEM_LET(endpoint, find_endpoint(arguments, terminal, options));
    auto url = http::parse_url(endpoint.server);
    if (!url) return in_context(fmt::format("server \"{}\"", endpoint.server), url.error());
    http::ClientOptions client_options{.server = std::move(*url)};
    client_options.total_deadline = act_deadline;
    client_options.stream_idle_deadline = minutes(10);
    Session session;
    TANDEM_LET(client, http::Client::make(std::move(client_options)));
    session.client_ = std::move(client);
    session.arguments_ = &arguments;
    session.terminal_ = &terminal;
    session.server_ = endpoint.server;
    session.client_version_ = options.version;
    session.key_ = endpoint.key;
    const auto choose = [](const std::string& flag, const std::string& kept) {
        return !flag.empty() ? flag : !kept.empty() ? kept : std::string("default");
    };
    session.project_ = choose(arguments.project, endpoint.project);
    session.name_space_ = choose(arguments.name_space, endpoint.name_space);
    return session;
}

http::Call Session::make_call(const Request& request, const std::string& idempotency_key) const {
    http::Call call{.method = request.method, .target = request.path};
    char separator = '?';
    for (const auto& [name, value] : request.query) {
        if (value.empty()) continue;
        call.target += separator + name + "=" + http::encode_component(value);
        separator = '&';
    }
    if (!key_.empty()) call.headers.add("Authorization", "Bearer " + std::string(key_.reveal()));
    if (!request.body.empty()) call.headers.add("Content-Type", request.content_type);
    if (!idempotency_key.empty()) call.headers.add("Idempotency-Key", idempotency_key);
    call.body = request.body;
    call.total_deadline = deadline_of(request.method, arguments_->verb);
    return call;
}

Result<codec::Value> Session::call(const Request& request) {
    TANDEM_LET(answered, ask(request));
    return std::move(answered.body);
}

Result<Session::Answered> Session::ask(const Request& request) {
    const std::string key = is_mutation(request.method) ? crypto::draw_token() : std::string();
    const http::Call call = make_call(request, key);
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(15);
    Result<http::Response> answer = client_->send(call);
    const int tries_max = reached_ ? later_tries_max : first_tries_max;
    // One that keeps silent is not asked again: it has had its time.
    for (int i = 1; i < tries_max && !answer && answer.error().code == ErrorCode::unavailable &&
                    std::chrono::steady_clock::now() < give_up;
         ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100 << i));
        answer = client_->send(call);
    }
    if (!answer) return pass_on(std::move(answer.error()));
    reached_ = true;
    if (answer->status >= 400) return pass_on(error_of(answer->status, answer->body));
    if (answer->body.empty()) return Answered{.status = answer->status};
    TANDEM_LET(body, codec::parse_json(answer->body));
    return Answered{.status = answer->status, .body = std::move(body)};
}

Status Session::stream(const Request& request, Reader reader, http::Cancel* cancel) {
    int status = 200;
    std::string refusal;
    http::StreamReader pieces;
    pieces.on_head = [&](const http::Response& head) {
        status = head.status;
        if (status < 400 && reader.on_head) reader.on_head(head);
        return true;
    };
    pieces.on_chunk = [&](std::string_view piece) {
        if (status < 400) return reader.on_piece(piece);
        if (refusal.size() < 64 * 1024) refusal += piece;
        return true;
    };
    TANDEM_TRY(client_->stream(make_call(request, {}), std::move(pieces), cancel));
    if (status >= 400) return pass_on(error_of(status, refusal));
    return {};
}

std::string Session::collection(model::Kind kind, bool all) const {
    const model::KindInfo& info = model::info_of(kind);
    std::string path = "/api/v1";
    if (!all && info.scope != model::Scope::cluster)
        path += "/projects/" + http::encode_component(project_);
    if (!all && info.scope == model::Scope::name_space)
        path += "/namespaces/" + http::encode_component(name_space_);
    return path + "/" + std::string(info.plural);
}

std::string Session::item(const model::ObjectKey& key) const {
    const model::KindInfo& info = model::info_of(key.kind);
    std::string path = "/api/v1";
    if (info.scope != model::Scope::cluster)
        path += "/projects/" + http::encode_component(key.project);
    if (info.scope == model::Scope::name_space)
        path += "/namespaces/" + http::encode_component(key.name_space);
    return path + "/" + std::string(info.plural) + "/" + http::encode_component(key.name);
}

namespace {

// Element 3 of array sweep may be called sweep[3], which is job sweep-3.
std::string element_name(std::string name) {
    const std::size_t open = name.find('[');
    if (open == std::string::npos || !name.ends_with(']')) return name;
    return name.substr(0, open) + "-" + name.substr(open + 1, name.size() - open - 2);
}

}  // namespace

model::ObjectKey Session::key_of(model::Kind kind, std::string name) const {
    const model::Scope scope = model::info_of(kind).scope;
    if (kind == model::Kind::job) name = element_name(std::move(name));
    return {.kind = kind,
            .project = scope == model::Scope::cluster ? "" : project_,
            .name_space = scope == model::Scope::name_space ? name_space_ : "",
            .name = std::move(name)};
}

namespace {

// "job/" and "/train" are halves of a name.
Status check_whole(const std::string& given, const std::string& kind, const Target& target) {
    const bool named = std::ranges::find(target.names, "") == target.names.end();
    if (named && !kind.empty()) return {};
    return fail(ErrorCode::invalid,
                fmt::format("\"{}\" names no {}: write KIND/NAME, such as job/train",
                            given.substr(0, 40), kind.empty() ? "kind" : "object"));
}

}  // namespace

Result<Target> parse_target(const std::vector<std::string>& words) {
    if (words.empty()) return fail(ErrorCode::invalid, "name an object: KIND/NAME or KIND NAME");
    Target target;
    std::string word = words.front();
    const std::size_t slash = word.find('/');
    if (slash != word.npos) {
        target.names.push_back(word.substr(slash + 1));
        word.resize(slash);
    }
    target.names.insert(target.names.end(), words.begin() + 1, words.end());
    TANDEM_TRY(check_whole(words.front(), word, target));
    const auto kind = model::find_kind_by_word(word);
    if (!kind) {
        std::string known;
        std::vector<std::string> words_known;
        for (const model::KindInfo& info : model::kind_table) {
            known += (known.empty() ? "" : ", ") + std::string(info.singular);
            words_known.emplace_back(info.singular);
            words_known.emplace_back(info.plural);
        }
        const std::string hint = did_you_mean(word, words_known);
        return fail(ErrorCode::invalid, fmt::format("\"{}\" is no kind{}", word.substr(0, 40),
                                                    hint.empty() ? "; kinds are " + known : hint));
    }
    target.kind = *kind;
    return target;
}

Result<model::ObjectKey> parse_one(const Session& session, const std::vector<std::string>& words) {
    TANDEM_LET(target, parse_target(words));
    if (target.names.size() != 1)
        return fail(ErrorCode::invalid, "name exactly one object: KIND/NAME");
    return session.key_of(target.kind, target.names.front());
}

}  // namespace tandem::cli

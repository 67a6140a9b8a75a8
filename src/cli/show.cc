// SPDX-License-Identifier: Apache-2.0
#include "cli/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <variant>

#include "base/quantity.h"
#include "cli/words.h"

namespace tandem::cli {
namespace {

using codec::Value;

struct ColumnContext {
    const Value& object;
    Instant now;
    codec::Language language;
};
// The text at a path, or what a function makes of the object.
struct Column {
    using Cell = std::string (*)(const ColumnContext&);
    Phrase header;
    std::variant<const char*, Cell> source;

    std::string cell(const ColumnContext& c) const {
        if (const auto* path = std::get_if<const char*>(&source)) return text_at(c.object, *path);
        return std::get<Cell>(source)(c);
    }
};

std::string age_cell(const ColumnContext& c) {
    const auto created = parse_instant(text_at(c.object, "metadata.createdAt"));
    return created ? render_age(c.now - *created) : "";
}
std::string reason_cell(const ColumnContext& c) {
    return reason_text(find_at(c.object, "status.reason"), c.language);
}
std::string flag_text(const Value* value, codec::Language language) {
    return say(language, value && value->boolean ? Phrase("yes") : Phrase("no"));
}

std::string ready_flag_cell(const ColumnContext& c) {
    return flag_text(find_at(c.object, "status.ready"), c.language);
}
std::string closed_cell(const ColumnContext& c) {
    return flag_text(find_at(c.object, "spec.unschedulable"), c.language);
}
std::string revoked_cell(const ColumnContext& c) {
    return flag_text(find_at(c.object, "spec.revoked"), c.language);
}
std::string digest_cell(const ColumnContext& c) {
    return text_at(c.object, "spec.digest").substr(0, 19);
}

std::string names_of(const Value* list) {
    std::string text;
    if (list)
        for (const Value& item : list->items)
            text += (text.empty() ? "" : ",") + std::string(item.text_or_empty());
    return text;
}

std::string projects_cell(const ColumnContext& c) {
    return names_of(find_at(c.object, "spec.projects"));
}
std::string nodes_cell(const ColumnContext& c) {
    return names_of(find_at(c.object, "status.nodes"));
}
std::string command_cell(const ColumnContext& c) {
    return names_of(find_at(c.object, "spec.command"));
}

std::string ranks_cell(const ColumnContext& c) {
    std::int64_t least = 0;
    std::int64_t most = 0;
    if (const Value* roles = find_at(c.object, "spec.roles"))
        for (const Value& role : roles->items) {
            const std::int64_t stated = number_at(role, "minReplicas");
            const std::int64_t needed = stated > 0 ? stated : number_at(role, "replicas");
            least += needed;
            most += std::max(needed, number_at(role, "maxReplicas"));
        }
    if (most == least) return std::to_string(least);
    return fmt::format("{} of {}..{}", number_at(c.object, "status.replicas"), least, most);
}

std::string ready_cell(const ColumnContext& c) {
    return fmt::format("{}/{}", number_at(c.object, "status.ready"),
                       number_at(c.object, "status.desired"));
}

std::string service_name_cell(const ColumnContext& c) {
    const std::string name = text_at(c.object, "spec.publicName");
    return name.empty() ? text_at(c.object, "metadata.name") : name;
}

// "2 cpu-slice, 8 nvidia-h200"; unhealthy ones are named.
std::string devices_cell(const ColumnContext& c) {
    std::vector<std::pair<std::string, int>> counts;
    if (const Value* devices = find_at(c.object, "status.devices"))
        for (const Value& device : devices->items) {
            const Value* healthy = device.find("healthy");
            std::string flavor =
                text_at(device, "flavor") + (healthy && !healthy->boolean ? " (not healthy)" : "") +
                (text_at(device, "takenBy").empty() ? ""
                                                    : " (taken by a task of before a restore)");
            auto found = std::ranges::find(counts, flavor, &std::pair<std::string, int>::first);
            if (found == counts.end())
                counts.emplace_back(std::move(flavor), 1);
            else
                ++found->second;
        }
    std::string text;
    for (const auto& [flavor, count] : counts)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, flavor);
    return text;
}

// "0, 1" or "0 (0.5)": devices given to a replica.
std::string shares_cell(const ColumnContext& c) {
    std::string text;
    if (const Value* shares = find_at(c.object, "status.devices"))
        for (const Value& share : shares->items) {
            const std::string amount = text_at(share, "amount");
            text += fmt::format("{}{}{}", text.empty() ? "" : ",", number_at(share, "index"),
                                amount == "1" ? "" : " (" + amount + ")");
        }
    return text;
}

std::string quotas_cell(const ColumnContext& c) {
    std::string text;
    if (const Value* quotas = find_at(c.object, "spec.quotas"))
        for (const Value& quota : quotas->items) {
            text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", text_at(quota, "flavor"),
                                text_at(quota, "nominal"));
            if (const std::string max = text_at(quota, "max"); max != "unlimited")
                text += " (max " + max + ")";
        }
    return text;
}

// An operator's word stands for what was submitted.
std::string priority_cell(const ColumnContext& c) {
    const std::string given = text_at(c.object, "status.priorityOverride.priority");
    const std::string forced = text_at(c.object, "status.forcedBy").empty() ? "" : " forced";
    return (given.empty() ? text_at(c.object, "spec.priority") : given + " (set)") + forced;
}

// Of what is counted or promised.
std::vector<Column> columns_of_promise(model::Kind kind) {
    if (kind == model::Kind::license)
        return {{"COUNT", "spec.count"},
                {"PROJECTS", projects_cell},
                {"TITLE", "spec.title"},
                {"AGE", age_cell}};
    if (kind == model::Kind::maintenance)
        return {{"PHASE", "status.phase"},
                {"START", "spec.start"},
                {"DURATION", "spec.duration"},
                {"NODES", nodes_cell},
                {"WHY", "spec.reason"}};
    return {{"PHASE", "status.phase"},     {"QUEUE", "spec.queue"},
            {"FLAVOR", "spec.flavor"},     {"DEVICES", "spec.devices"},
            {"REPLICAS", "spec.replicas"}, {"WINDOW", "status.window"},
            {"START", "status.start"},     {"END", "status.end"},
            {"REASON", reason_cell}};
}

std::vector<Column> columns_of(model::Kind kind) {
    switch (kind) {
        case model::Kind::job:
            return {{"PHASE", "status.phase"},   {"QUEUE", "spec.queue"},
                    {"PRIORITY", priority_cell}, {"RANKS", ranks_cell},
                    {"STARTS", "status.starts"}, {"AGE", age_cell},
                    {"REASON", reason_cell}};
        case model::Kind::service:
            return {{"PHASE", "status.phase"},
                    {"READY", ready_cell},
                    {"VERSION", "status.servingVersion"},
                    {"CALLED", service_name_cell},
                    {"AGE", age_cell},
                    {"REASON", reason_cell}};
        case model::Kind::replica:
            return {{"PHASE", "status.phase"},       {"NODE", "status.node"},
                    {"DEVICES", shares_cell},        {"STARTS", "status.starts"},
                    {"ENDPOINT", "status.endpoint"}, {"AGE", age_cell},
                    {"REASON", reason_cell}};
        case model::Kind::node:
            return {{"READY", ready_flag_cell},
                    {"DEVICES", devices_cell},
                    {"CPU", "status.cpu"},
                    {"MEMORY", "status.memory"},
                    {"EXECUTOR", "status.executor"},
                    {"CLOSED", closed_cell},
                    {"AGE", age_cell}};
        case model::Kind::pool:
            return {{"FORM", "spec.form"},       {"READY", ready_flag_cell},
                    {"DEVICES", "spec.devices"}, {"FLAVOR", "spec.flavor"},
                    {"FROM", "spec.from"},       {"PROJECTS", projects_cell},
                    {"REASON", reason_cell}};
        case model::Kind::queue:
            return {{"PARENT", "spec.parent"},
                    {"POOL", "spec.pool"},
                    {"NOMINAL", quotas_cell},
                    {"PROJECTS", projects_cell},
                    {"STOP", "spec.stop"}};
        case model::Kind::runtime:
            return {{"FORMAT", "spec.format"},
                    {"READY TIMEOUT", "spec.readyTimeout"},
                    {"COMMAND", command_cell}};
        case model::Kind::model_version:
            return {{"MODEL", "spec.model"},
                    {"NUMBER", "spec.number"},
                    {"ARCHITECTURE", "spec.facts.architecture"},
                    {"QUANTISATION", "spec.facts.quantisation"},
                    {"BYTES", "spec.bytes"},
                    {"DIGEST", digest_cell},
                    {"AGE", age_cell}};
        case model::Kind::license:
        case model::Kind::reservation:
        case model::Kind::maintenance:
            return columns_of_promise(kind);
        case model::Kind::role_binding:
            return {{"SUBJECT", "spec.subject"},
                    {"ROLE", "spec.role"},
                    {"IN PROJECT", "spec.project"},
                    {"AGE", age_cell}};
        case model::Kind::api_key:
            return {{"SUBJECT", "spec.subject"}, {"KEY ID", "spec.keyId"},
                    {"PROJECT", "spec.project"}, {"EXPIRES", "spec.expires"},
                    {"REVOKED", revoked_cell},   {"AGE", age_cell}};
        default:
            return {{"TITLE", "spec.title"}, {"AGE", age_cell}};
    }
}

}  // namespace

bool wants_colour(const Terminal& terminal) {
    return terminal.out_is_terminal && terminal.environment("NO_COLOR").value_or("").empty();
}

codec::Language language_of(const Arguments& arguments) {
    return arguments.language == "zh" ? codec::Language::zh : codec::Language::en;
}

Look look_of(const Session& session) {
    return {wants_colour(session.terminal()), language_of(session.arguments())};
}

const Value* find_at(const Value& value, std::string_view path) {
    const Value* here = &value;
    while (here && !path.empty()) {
        const std::size_t dot = std::min(path.find('.'), path.size());
        here = here->find(path.substr(0, dot));
        path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return here;
}

std::string text_at(const Value& value, std::string_view path) {
    const Value* found = find_at(value, path);
    return found ? std::string(found->text_or_empty()) : std::string();
}

std::int64_t number_at(const Value& value, std::string_view path) {
    return parse_integer(text_at(value, path)).value_or(0);
}

std::string reason_text(const Value* reason, codec::Language language) {
    if (!reason) return {};
    const auto code = model::parse_enum<model::ReasonCode>(text_at(*reason, "code"));
    if (!code)
        return text_at(*reason, "text").empty() ? text_at(*reason, "code")
                                                : text_at(*reason, "text");
    model::Reason parsed{.code = *code};
    if (const Value* params = reason->find("params"))
        for (std::size_t i = 0; i < params->items.size(); ++i)
            parsed.params.push_back(
                {params->names[i], std::string(params->items[i].text_or_empty())});
    return codec::render_reason(parsed, language);
}

std::string render_age(Duration age) {
    const std::int64_t s = std::max<std::int64_t>(0, age.ms / 1000);
    if (s < 120) return fmt::format("{}s", s);
    if (s < 120 * 60) return fmt::format("{}m", s / 60);
    if (s < 48 * 3600) return fmt::format("{}h", s / 3600);
    return fmt::format("{}d", s / 86400);
}

Table make_table(model::Kind kind, const std::vector<const Value*>& objects, Instant now,
                 codec::Language language, TableScope scope) {
    Table table;
    const bool in_project =
        scope.with_project && model::info_of(kind).scope != model::Scope::cluster;
    const bool in_namespace =
        scope.with_project && model::info_of(kind).scope == model::Scope::name_space;
    if (in_project) table.headers.push_back(say(language, "PROJECT"));
    if (in_namespace) table.headers.push_back(say(language, "NAMESPACE"));
    table.headers.push_back(say(language, "NAME"));
    const std::vector<Column> columns = columns_of(kind);
    for (const Column& column : columns) table.headers.push_back(say(language, column.header));
    for (const Value* object : objects) {
        auto& row = table.rows.emplace_back();
        if (in_project) row.push_back(text_at(*object, "metadata.project"));
        if (in_namespace) row.push_back(text_at(*object, "metadata.namespace"));
        row.push_back(text_at(*object, "metadata.name"));
        for (const Column& column : columns) row.push_back(column.cell({*object, now, language}));
    }
    return table;
}

void show(const Session& session, const Value& answer, const std::function<std::string()>& table) {
    const Terminal& terminal = session.terminal();
    if (session.arguments().output == "json")
        terminal.out(codec::render_json_pretty(answer));
    else if (session.arguments().output == "yaml")
        terminal.out(codec::render_yaml(answer));
    else
        terminal.out(table());
}

namespace {

// What makes the first of a kind; empty where none is made by hand.
std::string_view first_of(model::Kind kind) {
    switch (kind) {
        case model::Kind::job:
            return "tandem run -- CMD, or tandem apply -f FILE";
        case model::Kind::service:
        case model::Kind::queue:
        case model::Kind::pool:
        case model::Kind::user:
        case model::Kind::project:
        case model::Kind::role_binding:
        case model::Kind::service_account:
            return "tandem apply -f FILE";
        case model::Kind::model:
        case model::Kind::model_version:
            return "tandem model push MODEL FILE";
        case model::Kind::api_key:
            return "tandem key create NAME";
        default:
            return {};
    }
}

std::string nothing_found(const Session& session, model::Kind kind, bool everywhere) {
    const Arguments& a = session.arguments();
    const codec::Language language = language_of(a);
    const model::KindInfo& info = model::info_of(kind);
    std::string text = say(language, "no {} found", info.plural);
    if (!everywhere && info.scope == model::Scope::name_space)
        text += say(language, " in project {}, namespace {}", session.project(),
                    session.name_space());
    else if (!everywhere && info.scope == model::Scope::project)
        text += say(language, " in project {}", session.project());
    text += '\n';
    if (!a.label_selector.empty() || !a.field_selector.empty())
        return text + say(language, "try it without the selector\n");
    if (!everywhere && info.scope == model::Scope::name_space)
        text += say(language, "of all projects: tandem get {} -A\n", info.plural);
    if (const std::string_view how = first_of(kind); !how.empty())
        text += say(language, "make one: {}\n", how);
    return text;
}

}  // namespace

void show_list(const Session& session, model::Kind kind, const Value& list, bool with_project) {
    show(session, list, [&] {
        std::vector<const Value*> objects;
        if (const Value* items = list.find("items"))
            for (const Value& item : items->items) objects.push_back(&item);
        if (objects.empty()) return nothing_found(session, kind, with_project);
        return render_table(make_table(kind, objects, session.terminal().now(),
                                       language_of(session.arguments()), {with_project}),
                            wants_colour(session.terminal()));
    });
}

void show_one(const Session& session, model::Kind kind, const Value& object) {
    show(session, object, [&] {
        return render_table(make_table(kind, {&object}, session.terminal().now(),
                                       language_of(session.arguments()), {}),
                            wants_colour(session.terminal()));
    });
}

std::string calling_lines(const Value& service, const std::string& gateway,
                          codec::Language language) {
    std::string name = text_at(service, "spec.publicName");
    if (name.empty()) name = text_at(service, "metadata.name");
    const std::string base = gateway.empty()           ? "http://GATEWAY"
                             : gateway.contains("://") ? gateway
                                                       : "http://" + gateway;
    return say(language, "Call it:\n") + fmt::format(
        "  curl {0}/v1/chat/completions -H \"Authorization: Bearer $TANDEM_API_KEY\" -H "
        "\"Content-Type: application/json\" \\\n"
        "       -d "
        "'{{\"model\":\"{1}\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hello\"}}]}}'\n"
        "  python3 -c 'from openai import OpenAI; import os; c = OpenAI(base_url=\"{0}/v1\", "
        "api_key=os.environ[\"TANDEM_API_KEY\"]); "
        "print(c.chat.completions.create(model=\"{1}\", "
        "messages=[{{\"role\":\"user\",\"content\":\"Hello\"}}]).choices[0].message.content)'\n",
        base, name);
}

}  // namespace tandem::cli

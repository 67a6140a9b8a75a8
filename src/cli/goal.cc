// SPDX-License-Identifier: Apache-2.0
#include "cli/goal.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/show.h"
#include "cli/suggest.h"
#include "model/phase.h"

namespace tandem::cli {
namespace {

using codec::Value;
using model::Kind;

bool phase_is(const Value& object, std::initializer_list<std::string_view> phases) {
    return std::ranges::find(phases, text_at(object, "status.phase")) != phases.end();
}
bool is_ended(const Value& object) {
    return phase_is(object, {"succeeded", "failed", "cancelled"});
}

struct NamedCondition {
    std::string_view name;
    std::vector<Kind> kinds;
    Goal::Condition holds;
};

const std::vector<NamedCondition>& conditions() {
    static const std::vector<NamedCondition> all{
        {"Admitted",
         {Kind::job},
         [](const Value& o) {
             return !phase_is(o, {"pending", ""}) &&
                    (!is_ended(o) || number_at(o, "status.epoch") > 0);
         }},
        {"Running",
         {Kind::job, Kind::replica},
         [](const Value& o) { return phase_is(o, {"running"}); }},
        {"Finished", {Kind::job, Kind::replica}, is_ended},
        {"Succeeded", {Kind::job}, [](const Value& o) { return phase_is(o, {"succeeded"}); }},
        {"Failed", {Kind::job}, [](const Value& o) { return phase_is(o, {"failed"}); }},
        {"Cancelled", {Kind::job}, [](const Value& o) { return phase_is(o, {"cancelled"}); }},
        {"Ready", {Kind::service}, [](const Value& o) { return phase_is(o, {"ready"}); }},
        {"Ready",
         {Kind::node, Kind::pool},
         [](const Value& o) {
             const Value* ready = find_at(o, "status.ready");
             return ready && ready->boolean;
         }},
        {"Available",
         {Kind::service},
         [](const Value& o) { return number_at(o, "status.ready") > 0; }},
        {"Progressing",
         {Kind::service},
         [](const Value& o) { return phase_is(o, {"starting", "updating", "rollingBack"}); }},
        {"Asleep", {Kind::service}, [](const Value& o) { return phase_is(o, {"asleep"}); }},
    };
    return all;
}

Goal::Condition find_condition(std::string_view name, Kind kind) {
    for (const NamedCondition& one : conditions())
        if (one.name == name && std::ranges::find(one.kinds, kind) != one.kinds.end())
            return one.holds;
    return nullptr;
}

std::vector<std::string> conditions_of(Kind kind) {
    std::vector<std::string> names;
    for (const NamedCondition& one : conditions())
        if (std::ranges::find(one.kinds, kind) != one.kinds.end()) names.emplace_back(one.name);
    return names;
}

std::string join(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

std::unexpected<Error> wrong(std::string message) {
    return invalid_field("--for", std::move(message));
}

bool has_phase(Kind kind) {
    return kind == Kind::job || kind == Kind::service || kind == Kind::replica;
}

Status take_phases(Goal& goal, std::string_view list, Kind kind) {
    const std::string_view word = model::info_of(kind).singular;
    if (!has_phase(kind)) return wrong(fmt::format("a {} has no phase", word));
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        goal.phases.emplace_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    for (const std::string& phase : goal.phases) {
        const bool of_service = kind == Kind::service;
        const bool known = of_service ? model::parse_enum<model::ServicePhase>(phase).has_value()
                                      : model::parse_enum<model::Phase>(phase).has_value();
        if (known) continue;
        return wrong(fmt::format("\"{}\" is no phase; phases are {}", phase.substr(0, 40),
                                 of_service ? model::list_names<model::ServicePhase>()
                                            : model::list_names<model::Phase>()));
    }
    if (goal.phases.empty()) return wrong("name at least one phase: phase=A[,B...]");
    return {};
}

Status take_condition(Goal& goal, std::string_view text, Kind kind) {
    const std::size_t at = text.find('=');
    const std::string name(text.substr(0, at));
    const std::string_view value = at == text.npos ? "true" : text.substr(at + 1);
    if (value != "true" && value != "false")
        return wrong("a condition is condition=NAME, condition=NAME=true or condition=NAME=false");
    goal.wanted = value == "true";
    goal.condition = find_condition(name, kind);
    if (goal.condition) return {};
    const auto known = conditions_of(kind);
    const std::string_view word = model::info_of(kind).singular;
    if (known.empty()) return wrong(fmt::format("a {} has no conditions", word));
    return wrong(fmt::format("\"{}\" is no condition of a {}{}; there are {}", name.substr(0, 40),
                             word, did_you_mean(name, known), join(known)));
}

}  // namespace

Result<Goal> parse_goal(std::string text, Kind kind) {
    if (text.empty()) text = kind == Kind::service ? "ready" : "finished";
    Goal goal{.text = text};
    const std::string_view view = text;
    if (text == "deleted") {
        goal.deleted = true;
    } else if (view.starts_with("phase=")) {
        TANDEM_TRY(take_phases(goal, view.substr(6), kind));
    } else if (view.starts_with("condition=")) {
        TANDEM_TRY(take_condition(goal, view.substr(10), kind));
    } else if (text == "ready" && find_condition("Ready", kind)) {
        goal.condition = find_condition("Ready", kind);
    } else if (text == "finished" && find_condition("Finished", kind)) {
        goal.finished = true;
    } else {
        return wrong(
            "must be phase=A[,B...], condition=NAME, finished (jobs), ready (services, nodes, "
            "pools) or deleted");
    }
    return goal;
}

std::optional<int> judge(const Goal& goal, const Value& object) {
    const std::string phase = text_at(object, "status.phase");
    if (std::ranges::find(goal.phases, phase) != goal.phases.end()) return exit_ok;
    if (goal.condition && goal.condition(object) == goal.wanted) return exit_ok;
    if (!is_ended(object)) return std::nullopt;
    if (goal.finished) return phase == "succeeded" ? exit_ok : exit_failed;
    // An ended job comes to no other phase by itself.
    const bool waits = !goal.phases.empty() || goal.condition;
    if (waits && find_at(object, "spec.roles")) return exit_failed;
    return std::nullopt;
}

}  // namespace tandem::cli

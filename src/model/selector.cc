// SPDX-License-Identifier: Apache-2.0
#include "model/selector.h"

#include <algorithm>
#include <array>

namespace tandem::model {
namespace {

constexpr std::size_t selector_length_max = 4096;

// Member of SelectableFields by the name callers write.
struct FieldName {
    std::string_view name;
    std::string SelectableFields::*member;
};
constexpr std::array<FieldName, 6> field_names{{
    {"metadata.name", &SelectableFields::name},
    {"metadata.namespace", &SelectableFields::name_space},
    {"metadata.project", &SelectableFields::project},
    {"status.phase", &SelectableFields::phase},
    {"spec.queue", &SelectableFields::queue},
    {"owner", &SelectableFields::owner},
}};

const FieldName* find_field(std::string_view name) {
    const auto found = std::ranges::find(field_names, name, &FieldName::name);
    return found == field_names.end() ? nullptr : &*found;
}

std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

std::string shown(std::string_view part) {
    std::string text(part.substr(0, 60));
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    return "\"" + text + "\"";
}

Requirement split(std::string_view part) {
    const std::size_t at = part.find('=');
    if (at == std::string_view::npos) {
        const bool absent = part.starts_with('!');
        return {.key = std::string(trim(absent ? part.substr(1) : part)),
                .op = absent ? SelectorOperator::absent : SelectorOperator::present};
    }
    const bool differs = at > 0 && part[at - 1] == '!';
    const std::string_view key = part.substr(0, differs ? at - 1 : at);
    std::string_view value = part.substr(at + 1);
    if (!differs && value.starts_with('=')) value.remove_prefix(1);
    return {.key = std::string(trim(key)),
            .op = differs ? SelectorOperator::differs : SelectorOperator::equals,
            .value = std::string(trim(value))};
}

// Splits at commas and hands each part to `check`, which adds what only it can judge.
template <class Check>
Result<std::vector<Requirement>> parse(std::string_view text, std::string_view field, Check check) {
    const auto bad = [&](std::string message) { return invalid_field(std::string(field), std::move(message)); };
    std::vector<Requirement> requirements;
    if (trim(text).empty()) return requirements;
    if (text.size() > selector_length_max) return bad("must be at most 4096 characters, is " + std::to_string(text.size()));
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        const std::string_view part = trim(text.substr(from, comma - from));
        from = comma + 1;
        if (part.empty()) return bad("has an empty part: parts stand between commas, like a=b,c!=d");
        Requirement requirement = split(part);
        const std::string_view key = requirement.key;
        if (key.empty() || key.find_first_of(" !()") != std::string_view::npos || requirement.value.find('=') != std::string::npos)
            return bad(shown(part) + " is none of a=b, a!=b, a, !a");
        if (const std::string wrong = check(requirement); !wrong.empty()) return bad(shown(part) + ": " + wrong);
        requirements.push_back(std::move(requirement));
        if (requirements.size() > requirement_count_max) return bad("must have at most 32 parts");
    }
    return requirements;
}

bool has_phase(Kind kind) { return kind == Kind::job || kind == Kind::replica || kind == Kind::service; }

std::string check_field(const Requirement& requirement, Kind kind) {
    if (find_field(requirement.key) == nullptr) {
        std::string names;
        for (const FieldName& known : field_names) names += (names.empty() ? "" : ", ") + std::string(known.name);
        return "fields are " + names;
    }
    if (requirement.op != SelectorOperator::equals && requirement.op != SelectorOperator::differs) return "write = or != and a value";
    if (requirement.key == "status.phase") {
        if (!has_phase(kind)) return std::string(name_of(kind)) + " has no phase";
        const bool known = kind == Kind::service ? parse_enum<ServicePhase>(requirement.value).has_value()
                                                 : parse_enum<Phase>(requirement.value).has_value();
        if (!known) return "phases are " + (kind == Kind::service ? list_names<ServicePhase>() : list_names<Phase>());
    }
    if (requirement.key == "spec.queue" && !has_phase(kind)) return std::string(name_of(kind)) + " has no queue";
    if (requirement.key == "owner") {
        if (kind != Kind::replica) return std::string(name_of(kind)) + " has no owner";
        if (!Uid::parse(requirement.value)) return "an owner is a uid of 24 lower-case hex digits";
    }
    return {};
}

}  // namespace

Result<std::vector<Requirement>> parse_label_selector(std::string_view text) {
    return parse(text, "labelSelector", [](const Requirement&) { return std::string(); });
}

Result<std::vector<Requirement>> parse_field_selector(std::string_view text, Kind kind) {
    return parse(text, "fieldSelector", [kind](const Requirement& part) { return check_field(part, kind); });
}

SelectableFields selectable_fields_of(const Object& object) {
    const Meta& meta = meta_of(object);
    SelectableFields fields{.name = meta.name, .name_space = meta.name_space, .project = meta.project};
    if (const auto* job = std::get_if<Job>(&object)) {
        fields.phase = name_of(job->status.phase);
        fields.queue = job->spec.queue;
    } else if (const auto* service = std::get_if<Service>(&object)) {
        fields.phase = name_of(service->status.phase);
        fields.queue = service->spec.queue;
    } else if (const auto* replica = std::get_if<Replica>(&object)) {
        fields.phase = name_of(replica->status.phase);
        fields.queue = replica->spec.queue;
        fields.owner = replica->spec.owner_uid.text();
    }
    return fields;
}

bool matches_labels(const std::vector<Requirement>& requirements, const Labels& labels) {
    return std::ranges::all_of(requirements, [&](const Requirement& requirement) {
        const auto found = labels.find(requirement.key);
        switch (requirement.op) {
            case SelectorOperator::equals: return found != labels.end() && found->second == requirement.value;
            case SelectorOperator::differs: return found == labels.end() || found->second != requirement.value;
            case SelectorOperator::present: return found != labels.end();
            case SelectorOperator::absent: return found == labels.end();
        }
        return false;
    });
}

bool matches_fields(const std::vector<Requirement>& requirements, const SelectableFields& fields) {
    return std::ranges::all_of(requirements, [&](const Requirement& requirement) {
        const FieldName* field = find_field(requirement.key);
        const bool equal = field != nullptr && fields.*(field->member) == requirement.value;
        return equal == (requirement.op == SelectorOperator::equals);
    });
}

}  // namespace tandem::model

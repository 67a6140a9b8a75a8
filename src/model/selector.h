// SPDX-License-Identifier: Apache-2.0
// Selectors: which objects a list or a watch is about, from the text a caller writes.
//   labels  "team=blue,tier!=test,gpu,!draft"   equals (also ==), differs or absent, present, absent
//   fields  "status.phase=running,spec.queue!=night"   equals, differs
// All parts must hold. Fields: metadata.name, metadata.namespace, metadata.project, status.phase, spec.queue,
// owner (uid of the workload of a replica). Used by stores for lists and by the API for watches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/object.h"

namespace tandem::model {

enum class SelectorOperator : std::uint8_t { equals, differs, present, absent };

struct Requirement {
    std::string key{};
    SelectorOperator op = SelectorOperator::equals;
    std::string value{};
    bool operator==(const Requirement&) const = default;
};

inline constexpr std::size_t requirement_count_max = 32;  // in one selector

// Empty text selects everything. Errors name "labelSelector" or "fieldSelector" and the part that is wrong.
Result<std::vector<Requirement>> parse_label_selector(std::string_view text);
Result<std::vector<Requirement>> parse_field_selector(std::string_view text, Kind kind);

// What field selectors look at; empty where a kind has no such field.
struct SelectableFields {
    std::string name{};
    std::string name_space{};
    std::string project{};
    std::string phase{};
    std::string queue{};
    std::string owner{};  // uid
    bool operator==(const SelectableFields&) const = default;
};
SelectableFields selectable_fields_of(const Object& object);

bool matches_labels(const std::vector<Requirement>& requirements, const Labels& labels);
bool matches_fields(const std::vector<Requirement>& requirements, const SelectableFields& fields);

}  // namespace tandem::model

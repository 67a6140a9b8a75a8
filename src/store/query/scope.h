// SPDX-License-Identifier: Apache-2.0
// What every store's reader judges alike: scopes, the plan of a list, versions that are still kept.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ports.h"
#include "model/selector.h"
#include "store/query/continue_token.h"

namespace tandem::store {

bool is_in_scope(const core::ReadScope& scope, const std::string& project);
// A Project is in its own scope; cluster-wide objects are in no project's.
const std::string& project_of(const model::ObjectKey& key);

// A list query whose selectors, limit and token have been checked.
struct ListPlan {
    std::vector<model::Requirement> labels{};
    std::vector<model::Requirement> fields{};
    std::optional<ContinueToken> token{};
    core::ReadScope scope{};
    model::Kind kind = model::Kind::job;
    std::string project{};
    std::string name_space{};

    bool has_selector() const { return !labels.empty() || !fields.empty(); }
    bool accepts_fields(const model::SelectableFields& object) const;  // scope too
    bool accepts(const model::SelectableFields& object, const model::Labels& object_labels) const;
    // The value that `field` must have, when there is one.
    std::optional<std::string> wanted(std::string_view field) const;
};
Result<ListPlan> plan_list(const core::ListQuery& query);

// A version that changes() can go on from; gone when rows after it are missing, or it is of another history.
Status check_kept(std::int64_t after, std::int64_t changes_floor, std::int64_t version);

// Sets what a page that is not the last says of the rest. total: matching objects in all, for a first page.
void finish_page(core::ListPage& page, const ListPlan& plan, const core::ListQuery& query, std::int64_t last_id, std::int64_t total);

}  // namespace tandem::store

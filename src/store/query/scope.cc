// SPDX-License-Identifier: Apache-2.0
#include "store/query/scope.h"

#include <algorithm>

namespace tandem::store {
namespace {

constexpr std::int64_t limit_max = 500;

}  // namespace

bool is_in_scope(const core::ReadScope& scope, const std::string& project) {
    return scope.all_projects ||
           (!project.empty() && std::ranges::find(scope.projects, project) != scope.projects.end());
}

const std::string& project_of(const model::ObjectKey& key) {
    return key.kind == model::Kind::project ? key.name : key.project;
}

bool ListPlan::accepts_fields(const model::SelectableFields& object) const {
    const std::string& own = kind == model::Kind::project ? object.name : object.project;
    return is_in_scope(scope, own) && (project.empty() || own == project) &&
           (name_space.empty() || object.name_space == name_space) &&
           matches_fields(fields, object);
}

bool ListPlan::accepts(const model::SelectableFields& object,
                       const model::Labels& object_labels) const {
    return accepts_fields(object) && matches_labels(labels, object_labels);
}

std::optional<std::string> ListPlan::wanted(std::string_view field) const {
    for (const model::Requirement& part : fields)
        if (part.key == field && part.op == model::SelectorOperator::equals) return part.value;
    return std::nullopt;
}

Result<ListPlan> plan_list(const core::ListQuery& query) {
    if (query.limit < 1 || query.limit > limit_max)
        return invalid_field("limit", "must be 1..500, is " + std::to_string(query.limit));
    ListPlan plan{.scope = query.scope,
                  .kind = query.kind,
                  .project = query.project,
                  .name_space = query.name_space};
    TANDEM_LET(labels, model::parse_label_selector(query.label_selector));
    plan.labels = std::move(labels);
    TANDEM_LET(fields, model::parse_field_selector(query.field_selector, query.kind));
    plan.fields = std::move(fields);
    if (query.continue_token.empty()) return plan;
    TANDEM_LET(token, parse_token(query));
    plan.token = token;
    return plan;
}

Status check_kept(std::int64_t after, std::int64_t changes_floor, std::int64_t version) {
    if (after >= changes_floor && after <= version) return {};
    return fail(ErrorCode::gone, "changes after version " + std::to_string(after) +
                                     " are not kept (kept: after " + std::to_string(changes_floor) +
                                     ", up to " + std::to_string(version) + "); list again");
}

void finish_page(core::ListPage& page, const ListPlan& plan, const core::ListQuery& query,
                 std::int64_t last_id, std::int64_t total) {
    const auto shown = static_cast<std::int64_t>(page.items.size());
    // Counted once, for the first page; later pages take away what they show. At least one object
    // follows. With a selector a count would cost as much as the whole list.
    const std::int64_t counted = plan.has_selector() ? 0
                                 : plan.token        ? plan.token->remaining
                                                     : total;
    page.remaining = std::max<std::int64_t>(1, counted - shown);
    page.continue_token = render_token(
        {.version = page.version, .last_id = last_id, .remaining = page.remaining}, query);
}

}  // namespace tandem::store

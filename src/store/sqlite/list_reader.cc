// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/list_reader.h"

#include <set>
#include <utility>

#include "store/query/labels_text.h"

namespace tandem::store::sqlite {
namespace {

// One SELECT per index; all give rows of one kind in the order of ids. ?1, ?2: places between; ?3:
// the key.
constexpr std::string_view columns =
    "SELECT place, version, project, namespace, name, phase, queue, owner, labels FROM objects ";
constexpr std::string_view body_of = "SELECT body FROM changes WHERE version = ?1";
constexpr std::string_view by_kind = "WHERE ?3 = '' AND place > ?1 AND place < ?2 ORDER BY place";
constexpr std::string_view by_project =
    "INDEXED BY objects_project WHERE project = ?3 AND project <> '' AND place > ?1 AND place < ?2 "
    "ORDER BY place";
constexpr std::string_view by_phase =
    "INDEXED BY objects_phase WHERE phase = ?3 AND phase <> '' AND place > ?1 AND place < ?2 ORDER "
    "BY place";
constexpr std::string_view by_owner =
    "INDEXED BY objects_owner WHERE owner = ?3 AND owner <> '' AND place > ?1 AND place < ?2 ORDER "
    "BY place";
constexpr int rows_between_looks = 32;  // at the clock

// The index that leaves least to be looked at, as a rule of thumb: few replicas have one owner, and
// most objects have ended.
std::pair<std::string_view, std::string> choose(const ListPlan& plan) {
    if (const auto owner = plan.wanted("owner")) return {by_owner, *owner};
    const auto phase = plan.wanted("status.phase");
    const bool ended =
        phase && (*phase == "succeeded" || *phase == "failed" || *phase == "cancelled");
    if (phase && !ended) return {by_phase, *phase};
    if (model::info_of(plan.kind).scope != model::Scope::cluster) {
        if (!plan.project.empty()) return {by_project, plan.project};
        if (!plan.scope.all_projects && plan.scope.projects.size() == 1)
            return {by_project, plan.scope.projects.front()};
    }
    if (phase) return {by_phase, *phase};
    return {by_kind, {}};
}

}  // namespace

ListReader::ListReader(ReaderPool& pool, const KindNumbers& kinds, const core::ListQuery& query,
                       ListPlan plan)
    : pool_(&pool), kinds_(&kinds), query_(&query), plan_(std::move(plan)) {
    const auto [where, key] = choose(plan_);
    sql_ = std::string(columns) + std::string(where);
    key_ = key;
    place_ = kinds.place_of(query.kind, RowId{plan_.token ? plan_.token->last_id : 0});
}

Result<std::int64_t> ListReader::count(Connection& connection) {
    // Without a selector only, and by the index of names alone.
    constexpr std::string_view everywhere =
        "SELECT count(*) FROM objects INDEXED BY objects_name WHERE kind = ?1 AND (?2 = '' OR "
        "namespace = ?2)";
    constexpr std::string_view in_project =
        "SELECT count(*) FROM objects INDEXED BY objects_name WHERE kind = ?1 AND project = ?3 AND "
        "(?2 = '' OR namespace = ?2)";
    constexpr std::string_view of_name =
        "SELECT count(*) FROM objects INDEXED BY objects_name WHERE kind = ?1 AND project = '' AND "
        "namespace = '' AND ?2 = '' AND name = ?3";
    const std::string_view of_one = plan_.kind == model::Kind::project ? of_name : in_project;
    std::set<std::string> projects(plan_.scope.projects.begin(), plan_.scope.projects.end());
    if (!plan_.project.empty()) {
        const bool visible = plan_.scope.all_projects || projects.contains(plan_.project);
        projects = visible ? std::set{plan_.project} : std::set<std::string>{};
    } else if (plan_.scope.all_projects) {
        projects = {""};
    }
    std::int64_t total = 0;
    for (const std::string& project : projects) {
        TANDEM_LET(rows, connection.prepared(project.empty() ? everywhere : of_one));
        rows->start(kinds_->number_of(plan_.kind), plan_.name_space);
        if (!project.empty()) rows->bind(3, project);
        TANDEM_TRY(rows->step());
        total += rows->integer(0);
        rows->reset();
    }
    return total;
}

Status ListReader::begin(Connection& connection) {
    TANDEM_LET(meta, connection.prepared("SELECT version, changes_floor FROM meta"));
    TANDEM_TRY(meta->step());
    page_.version = meta->integer(0);
    const std::int64_t floor = meta->integer(1);
    meta->reset();
    if (plan_.token) {
        TANDEM_TRY(check_kept(plan_.token->version, floor, page_.version));
        page_.version = plan_.token->version;
    } else if (!plan_.has_selector()) {
        TANDEM_LET(total, count(connection));
        total_ = total;
    }
    return {};
}

Result<bool> ListReader::take(const Statement& row, Statement& body) {
    place_ = row.integer(0);
    const model::SelectableFields fields{.name = std::string(row.text(4)),
                                         .name_space = std::string(row.text(3)),
                                         .project = std::string(row.text(2)),
                                         .phase = std::string(row.text(5)),
                                         .queue = std::string(row.text(6)),
                                         .owner = std::string(row.text(7))};
    if (!plan_.accepts_fields(fields)) return false;
    if (!plan_.labels.empty() &&
        !matches_labels(plan_.labels, parse_labels(row.text(8)).value_or(model::Labels{})))
        return false;
    if (std::ssize(page_.items) == query_->limit) return true;
    body.start(row.integer(1));
    TANDEM_LET(found, body.step());
    if (!found) return fail(ErrorCode::internal, "an object's last change is missing");
    page_.items.push_back({.version = row.integer(1), .json = std::string(body.text(0))});
    body.reset();
    last_ = place_;
    return false;
}

Result<bool> ListReader::read_slice(ReaderPool::Snapshot& snapshot) {
    TANDEM_LET(rows, snapshot.connection().prepared(sql_));
    TANDEM_LET(body, snapshot.connection().prepared(body_of));
    const std::int64_t end = (kinds_->number_of(plan_.kind) + 1) << 56;
    rows->start(place_, end, key_);
    for (int looked = 1;; ++looked) {
        TANDEM_LET(found, rows->step());
        if (!found) return true;
        TANDEM_LET(full, take(*rows, *body));
        if (full) {
            finish_page(page_, plan_, *query_, KindNumbers::id_of(last_).value, total_);
            return true;
        }
        if (looked % rows_between_looks == 0 && snapshot.is_over()) return false;
    }
}

Result<core::ListPage> ListReader::read() {
    for (bool first = true;; first = false) {
        TANDEM_LET(snapshot, pool_->begin());
        if (first) TANDEM_TRY(begin(snapshot.connection()));
        TANDEM_LET(done, read_slice(snapshot));
        if (done) return std::move(page_);
    }
}

}  // namespace tandem::store::sqlite

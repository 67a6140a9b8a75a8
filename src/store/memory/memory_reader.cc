// SPDX-License-Identifier: Apache-2.0
// What the API reads of a store in memory.
#include <algorithm>
#include <ranges>

#include "codec/manifest.h"
#include "codec/record.h"
#include "store/memory/memory_store.h"
#include "store/query/continue_token.h"
#include "store/query/history_lines.h"
#include "store/query/scope.h"

namespace tandem::store {
namespace {

core::ObjectText text_of(const model::Object& object) {
    return {.version = meta_of(object).version, .json = codec::render_object(object)};
}

bool is_asked_for(const core::UsageQuery& query, const model::UsageRecord& row, bool open) {
    const bool in_time = row.from < query.to && (open || row.to > query.from);
    return in_time && is_in_scope(query.scope, row.project) &&
           (query.project.empty() || row.project == query.project) &&
           (!query.owner || row.owner_uid == query.owner);
}

void export_state(const core::RecoveredState& state, std::vector<std::string>& lines) {
    for (const model::Object& object : state.objects)
        lines.push_back(render_object_line(meta_of(object).id, codec::render_object(object),
                                           codec::render_internal(object)));
    for (const auto& row : state.open_intents)
        lines.push_back(render_row_line("intent", codec::encode(row)));
    for (const auto& row : state.idempotency)
        lines.push_back(render_row_line("idempotency", codec::encode(row)));
    for (const auto& row : state.open_intervals)
        lines.push_back(render_row_line("interval", codec::encode(row)));
    if (state.live) lines.push_back(render_row_line("live", codec::encode(*state.live)));
    for (const auto& row : state.cursors)
        lines.push_back(render_row_line("cursor", codec::encode(row)));
}

std::string batch_line(const LoggedBatch& batch) {
    std::string inputs;
    for (const model::Input& input : batch.inputs)
        inputs += (inputs.empty() ? "" : "\n") + codec::encode_input(input);
    const std::string_view seed(reinterpret_cast<const char*>(batch.tick.seed.data()),
                                batch.tick.seed.size());
    return render_batch_line({.sequence = batch.sequence,
                              .now = batch.tick.now,
                              .seed = seed,
                              .digest = batch.digest,
                              .inputs = inputs});
}

}  // namespace

Result<std::optional<core::ObjectText>> MemoryStore::find(const model::ObjectKey& key) {
    const std::scoped_lock lock(disk_->mutex_);
    const auto found = disk_->rows_.names.find(key);
    if (found == disk_->rows_.names.end()) return std::nullopt;
    return text_of(disk_->rows_.objects.at(found->second));
}

Result<core::ListPage> MemoryStore::list(const core::ListQuery& query) {
    TANDEM_LET(plan, plan_list(query));
    const std::scoped_lock lock(disk_->mutex_);
    const MemoryRows& rows = disk_->rows_;
    core::ListPage page{.version = rows.meta.version};
    if (plan.token) {
        TANDEM_TRY(check_kept(plan.token->version, rows.changes_floor, rows.meta.version));
        page.version = plan.token->version;
    }
    std::int64_t total = 0;
    std::int64_t last = plan.token ? plan.token->last_id : 0;
    const model::Object* next = nullptr;
    for (const auto& [id, object] : rows.objects) {
        if (kind_of(object) != query.kind) continue;
        if (!plan.accepts(selectable_fields_of(object), meta_of(object).labels)) continue;
        ++total;
        if (id.value <= last || next != nullptr) continue;
        if (static_cast<std::int64_t>(page.items.size()) == query.limit) {
            next = &object;
            continue;
        }
        page.items.push_back(text_of(object));
        last = id.value;
    }
    if (next != nullptr) finish_page(page, plan, query, last, total);
    return page;
}

Result<std::vector<core::ChangeText>> MemoryStore::changes(std::int64_t after, std::int64_t limit) {
    const std::scoped_lock lock(disk_->mutex_);
    const MemoryRows& rows = disk_->rows_;
    TANDEM_TRY(check_kept(after, rows.changes_floor, rows.meta.version));
    std::vector<core::ChangeText> found;
    auto kept = std::ranges::upper_bound(rows.changes, after, {},
                                         [](const KeptChange& row) { return row.change.version; });
    for (; kept != rows.changes.end() && static_cast<std::int64_t>(found.size()) < limit; ++kept) {
        const model::Change& change = kept->change;
        const model::Meta& meta = meta_of(change.object);
        found.push_back({.version = change.version,
                         .type = change.type,
                         .kind = kind_of(change.object),
                         .project = meta.project,
                         .name_space = meta.name_space,
                         .name = meta.name,
                         .json = codec::render_object(change.object),
                         .labels = meta.labels,
                         .old_labels = change.old_labels});
    }
    return found;
}

Result<std::vector<model::UsageRecord>> MemoryStore::usage(const core::UsageQuery& query) {
    const std::scoped_lock lock(disk_->mutex_);
    std::vector<model::UsageRecord> found;
    for (const model::UsageRecord& row : disk_->rows_.usage | std::views::values)
        if (is_asked_for(query, row, false)) found.push_back(row);
    std::ranges::sort(found, {},
                      [](const model::UsageRecord& row) { return std::pair(row.to, row.id); });
    for (const model::UsageRecord& row : disk_->rows_.open_intervals | std::views::values)
        if (is_asked_for(query, row, true)) found.push_back(row);
    return found;
}

Result<std::vector<model::RequestUsage>> MemoryStore::requests(const core::UsageQuery& query) {
    const std::scoped_lock lock(disk_->mutex_);
    std::vector<model::RequestUsage> found;
    for (const model::RequestUsage& row : disk_->rows_.requests | std::views::values) {
        const bool of_owner = !query.owner || row.service_uid == query.owner;
        if (of_owner && row.at >= query.from && row.at < query.to &&
            is_in_scope(query.scope, row.project) &&
            (query.project.empty() || row.project == query.project))
            found.push_back(row);
    }
    std::ranges::sort(found, {}, [](const model::RequestUsage& row) {
        return std::tie(row.at, row.gateway, row.epoch, row.sequence);
    });
    return found;
}

Result<std::vector<model::EventRecord>> MemoryStore::events(const core::ReadScope& scope,
                                                            const Uid& about, std::int64_t limit) {
    const std::scoped_lock lock(disk_->mutex_);
    std::vector<model::EventRecord> found;
    for (const model::EventRecord& row :
         disk_->rows_.events | std::views::values | std::views::reverse) {
        if (static_cast<std::int64_t>(found.size()) == limit) break;
        if (is_in_scope(scope, project_of(row.about)) && (!about || row.uid == about))
            found.push_back(row);
    }
    return found;
}

Result<std::vector<model::AuditRecord>> MemoryStore::audit(std::int64_t after, std::int64_t limit) {
    const std::scoped_lock lock(disk_->mutex_);
    std::vector<model::AuditRecord> found;
    for (const model::AuditRecord& row : disk_->rows_.audit)
        if (row.sequence > after && static_cast<std::int64_t>(found.size()) < limit)
            found.push_back(row);
    return found;
}

Status MemoryStore::export_history(const std::function<bool(std::string_view line)>& sink) {
    std::vector<std::string> lines;
    {
        const std::scoped_lock lock(disk_->mutex_);
        const MemoryRows& rows = disk_->rows_;
        auto change = rows.changes.begin();
        for (const Segment& segment : rows.segments) {
            const std::int64_t kept_after =
                std::max(segment.start.meta.version, rows.changes_floor);
            lines.push_back(render_segment_line({.number = segment.number,
                                                 .core_version = segment.core_version,
                                                 .changes_kept_after = kept_after,
                                                 .meta = codec::encode(segment.start.meta)}));
            export_state(segment.start, lines);
            for (const LoggedBatch& batch : segment.batches) {
                lines.push_back(batch_line(batch));
                for (; change != rows.changes.end() && change->batch <= batch.sequence; ++change)
                    if (change->change.version > kept_after)
                        lines.push_back(render_change_line(
                            change->change.version, model::name_of(change->change.type), change->at,
                            codec::render_object(change->change.object)));
            }
        }
    }
    for (const std::string& line : lines)
        if (!sink(line)) break;
    return {};
}

}  // namespace tandem::store

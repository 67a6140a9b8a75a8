// SPDX-License-Identifier: Apache-2.0
#include "server/work_view.h"

#include <algorithm>
#include <set>

namespace tandem::server {
namespace {

std::int64_t hash_of(const model::ObjectKey& key) {
    Digest digest;
    digest.add(static_cast<std::int64_t>(key.kind));
    digest.add(key.project);
    digest.add(key.name_space);
    digest.add(key.name);
    return static_cast<std::int64_t>(digest.value() >> 2);  // room above for the numbers behind it
}

WorkCard card_of(const model::Job& job) {
    return {.key = {model::Kind::job, job.meta.project, job.meta.name_space, job.meta.name},
            .id = job.meta.id,
            .uid = job.meta.uid,
            .phase = model::name_of(job.status.phase),
            .pending = job.status.phase == model::Phase::pending,
            .reason = job.status.reason,
            .started = job.status.started,
            .not_before = job.status.not_before};
}
WorkCard card_of(const model::Service& service) {
    return {.key = {model::Kind::service, service.meta.project, service.meta.name_space, service.meta.name},
            .id = service.meta.id,
            .uid = service.meta.uid,
            .phase = model::name_of(service.status.phase),
            .pending = true,
            .reason = service.status.reason,
            .started = std::nullopt,
            .not_before = service.status.not_before};
}

bool is_over(const model::Job& job) { return model::is_terminal(job.status.phase); }

std::vector<model::Reason> leftovers_of(const core::State& state) {
    std::vector<model::Reason> told;
    for (const auto& [id, node] : state.table<model::Node>().rows()) {
        std::set<std::string> tasks;
        std::int64_t devices = 0;
        for (const model::Device& device : node.status.devices) {
            if (device.taken_by.empty()) continue;
            tasks.insert(device.taken_by);
            devices += 1;
        }
        if (devices > 0)
            told.push_back({model::ReasonCode::leftover_tasks,
                            {{"tasks", std::to_string(tasks.size())},
                             {"devices", std::to_string(devices)},
                             {"node", node.meta.name}}});
    }
    return told;
}

}  // namespace

const WorkCard* WorkView::find(const model::ObjectKey& key) const {
    for (std::int64_t at = hash_of(key);; ++at) {
        const Card* card = by_key_.find(at);
        if (!card) return nullptr;
        if ((*card)->key == key) return card->get();
    }
}

const WorkCard* WorkView::find(RowId id) const {
    const Card* card = by_id_.find(id.value);
    return card ? card->get() : nullptr;
}

void WorkViewBuilder::change_key(const WorkView::Card& card, bool gone) {
    std::int64_t at = hash_of(card->key);
    const auto shown = [&] { return next_.by_key_.find(at); };
    while (shown() && (*shown())->key != card->key) ++at;
    if (!gone) return next_.by_key_.put(at, card, stamp_);
    if (!shown()) return;
    next_.by_key_.erase(at, stamp_);
    // Those behind it may stand there only because its place was taken.
    for (++at; shown(); ++at) {
        const WorkView::Card moved = *shown();
        next_.by_key_.erase(at, stamp_);
        change_key(moved, false);
    }
}

template <class T>
void WorkViewBuilder::put(const T& row, bool gone) {
    changed_ = true;
    // A name that was used again belongs to the younger row.
    const auto* shown = next_.by_id_.find(row.meta.id.value);
    if (gone && !shown) return;
    auto card = std::make_shared<const WorkCard>(card_of(row));
    const WorkCard* named = next_.find(card->key);
    if (!named || named->id <= row.meta.id) change_key(card, gone);
    if (gone)
        next_.by_id_.erase(row.meta.id.value, stamp_);
    else
        next_.by_id_.put(row.meta.id.value, std::move(card), stamp_);
}

std::shared_ptr<const WorkView> WorkViewBuilder::hand_out(const core::State& state) {
    auto plan = state.planner.snapshot();
    if (newest_ && !changed_ && plan == next_.plan_) return newest_;
    next_.plan_ = std::move(plan);
    next_.version_ = state.meta.version;
    next_.at_ = state.meta.time;
    newest_ = std::make_shared<const WorkView>(next_);
    stamp_ += 1;
    changed_ = false;
    return newest_;
}

std::shared_ptr<const WorkView> WorkViewBuilder::begin(const core::State& state) {
    for (const auto& [id, job] : state.table<model::Job>().rows())
        if (!is_over(job)) put(job, false);
    for (const auto& [id, service] : state.table<model::Service>().rows()) put(service, false);
    next_.leftovers_ = std::make_shared<const std::vector<model::Reason>>(leftovers_of(state));
    return hand_out(state);
}

std::shared_ptr<const WorkView> WorkViewBuilder::after(const model::BatchRecord& record, const core::State& state) {
    for (const model::Change& change : record.changes) {
        const bool deleted = change.type == model::ChangeType::deleted;
        if (const auto* job = std::get_if<model::Job>(&change.object)) put(*job, deleted || is_over(*job));
        if (const auto* service = std::get_if<model::Service>(&change.object)) put(*service, deleted);
        if (!std::holds_alternative<model::Node>(change.object)) continue;
        changed_ = true;
        next_.leftovers_ = std::make_shared<const std::vector<model::Reason>>(leftovers_of(state));
    }
    return hand_out(state);
}

}  // namespace tandem::server

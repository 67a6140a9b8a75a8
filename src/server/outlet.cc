// SPDX-License-Identifier: Apache-2.0
#include "server/outlet.h"

#include <algorithm>

#include "codec/manifest.h"

namespace tandem::server {

const std::string* BatchTexts::find(const model::Outcome& outcome) const {
    // Changes are numbered in order, one an object.
    if (!record_ || record_->changes.empty()) return nullptr;
    const std::int64_t index = outcome.version - record_->changes.front().version;
    if (index < 0 || index >= static_cast<std::int64_t>(record_->changes.size())) return nullptr;
    const auto change = static_cast<std::size_t>(index);
    if (model::meta_of(record_->changes[change].object).uid != outcome.uid) return nullptr;
    return &codec::change_text(*record_, change);
}

CoreThread::Outlet::Outlet(CoreThread& owner) : owner_(owner) {}

std::int64_t CoreThread::Outlet::expect(Waiting done) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(next_ticket_, std::move(done));
    return next_ticket_++;
}

void CoreThread::Outlet::drop(std::int64_t ticket) {
    const std::lock_guard lock(mutex_);
    waiting_.erase(ticket);
}

template <class Callback>
Callback CoreThread::Outlet::take(std::int64_t ticket) {
    const std::lock_guard lock(mutex_);
    const auto it = waiting_.find(ticket);
    if (it == waiting_.end() || !std::holds_alternative<Callback>(it->second)) return {};
    Callback done = std::move(std::get<Callback>(it->second));
    waiting_.erase(it);
    return done;
}

void CoreThread::Outlet::refuse_all() {
    std::unordered_map<std::int64_t, Waiting> left;
    {
        const std::lock_guard lock(mutex_);
        left = std::exchange(waiting_, {});
    }
    for (auto& [ticket, waiting] : left)
        if (auto* done = std::get_if<AnswerCallback>(&waiting))
            (*done)({.ticket = ticket, .outcomes = {}, .error = Error{ErrorCode::unavailable, "the server is stopping", ""}}, {});
}

void CoreThread::Outlet::refresh_access(const core::State& state) {
    auto view = std::make_shared<const AccessView>(state);
    const std::lock_guard lock(owner_.access_mutex_);
    owner_.access_ = std::move(view);
}

void CoreThread::Outlet::publish_work(std::shared_ptr<const WorkView> view) {
    const std::lock_guard lock(owner_.work_mutex_);
    owner_.work_.swap(view);  // the older one ends outside the lock
}

void CoreThread::Outlet::begin_work(const core::State& state) { publish_work(work_.begin(state)); }

void CoreThread::Outlet::publish_changes(const model::BatchRecord& record) {
    auto batch = std::make_shared<PublishedBatch>();
    batch->version = record.meta.version;
    for (std::size_t i = 0; i < record.changes.size(); ++i) {
        const model::Change& change = record.changes[i];
        const model::Meta& meta = model::meta_of(change.object);
        batch->changes.push_back({.version = change.version,
                                  .type = change.type,
                                  .kind = model::kind_of(change.object),
                                  .project = meta.project,
                                  .name_space = meta.name_space,
                                  .name = meta.name,
                                  .json = codec::change_text(record, i),
                                  .labels = meta.labels,
                                  .old_labels = change.old_labels});
    }
    owner_.changes_.publish(std::move(batch));
}

void CoreThread::Outlet::publish(const model::BatchRecord& record, const core::State& state) {
    told_ = &record;
    owner_.meters_.published(record);
    const bool access_changed = std::any_of(record.changes.begin(), record.changes.end(), [](const model::Change& change) {
        return AccessView::depends_on(model::kind_of(change.object));
    });
    if (access_changed) refresh_access(state);
    publish_work(work_.after(record, state));
    if (!record.changes.empty() && owner_.changes_.has_listeners()) publish_changes(record);
    if (auto delta = owner_.feed_builder_.delta(record, state))
        owner_.feed_.publish(std::make_shared<const model::FeedUpdate>(std::move(*delta)));
}

void CoreThread::Outlet::answer(const model::Answer& answer) {
    // Refused with the whole batch: nothing was published for it.
    const BatchTexts texts = answer.error || !told_ ? BatchTexts() : BatchTexts(*told_);
    if (auto done = take<AnswerCallback>(answer.ticket)) done(answer, texts);
}
void CoreThread::Outlet::grant(std::int64_t ticket, const std::vector<model::LeaseGrant>& grants) {
    owner_.meters_.granted(grants.size());
    if (auto done = take<GrantCallback>(ticket)) done(grants);
}
void CoreThread::Outlet::acknowledge(std::int64_t ticket, std::int64_t sequence) {
    if (auto done = take<SequenceCallback>(ticket)) done(sequence);
}

}  // namespace tandem::server

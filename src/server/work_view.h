// SPDX-License-Identifier: Apache-2.0
// WorkView: live jobs and services, and the planner's picture of them, as of one commit; what `why`, queue and
// pool views read. Immutable and shared between threads; the next one shares with it what no commit touched.
// Finished jobs are not in it: their rows tell all.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/state.h"
#include "sched/shared_map.h"
#include "sched/snapshot.h"

namespace tandem::server {

struct WorkCard {
    model::ObjectKey key{};
    RowId id{};
    Uid uid{};
    std::string_view phase{};  // a name of the program's own
    bool pending = false;  // waits, or is a service
    model::Reason reason{};
    std::optional<Instant> started{};
    std::optional<Instant> not_before{};
};

class WorkView {
  public:
    const WorkCard* find(const model::ObjectKey& key) const;
    const WorkCard* find(RowId id) const;
    // Devices that tasks of before a restore keep from everybody, by node.
    const std::vector<model::Reason>& leftovers() const { return *leftovers_; }
    const sched::Snapshot& plan() const { return *plan_; }
    std::int64_t version() const { return version_; }  // of the commit
    Instant at() const { return at_; }
    std::size_t size() const { return by_id_.size(); }

  private:
    friend class WorkViewBuilder;
    using Card = std::shared_ptr<const WorkCard>;
    sched::SharedMap<Card> by_id_{};
    sched::SharedMap<Card> by_key_{};  // by hash of the key, or the next number that was free
    std::shared_ptr<const sched::Snapshot> plan_{};
    std::shared_ptr<const std::vector<model::Reason>> leftovers_{};
    std::int64_t version_ = 0;
    Instant at_{};
};

// Makes the views. Thread rule: the core thread.
class WorkViewBuilder {
  public:
    std::shared_ptr<const WorkView> begin(const core::State& state);
    // Costs what the batch changed; the same view again when it changed nothing of it.
    std::shared_ptr<const WorkView> after(const model::BatchRecord& record, const core::State& state);

  private:
    template <class T>
    void put(const T& row, bool gone);
    void change_key(const WorkView::Card& card, bool gone);
    std::shared_ptr<const WorkView> hand_out(const core::State& state);

    WorkView next_{};
    std::uint64_t stamp_ = 1;
    bool changed_ = false;
    std::shared_ptr<const WorkView> newest_{};
};

}  // namespace tandem::server

// SPDX-License-Identifier: Apache-2.0
// VerdictWriter: the verdict of one waiting class on the tables of a snapshot; lives for one call. Inside of
// sched only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/verdict.h"
#include "sched/judge.h"

namespace tandem::sched {

inline constexpr std::size_t holders_shown = 5;
// Of the queues with the most work, so that it ends.
inline constexpr std::size_t holders_scanned = 16'384;

class VerdictWriter {
  public:
    VerdictWriter(const SnapshotTables& tables, const ClassCard& card)
        : tables_(tables), card_(card), judge_(tables, card) {}
    void write(model::Verdict& verdict);

  private:
    std::string text(int name) const {
        const Card<std::string>* found = name == no_name ? nullptr : tables_.names.find(name);
        return found == nullptr ? std::string{} : **found;
    }
    std::string flavor_text(int flavor) const { return flavor == no_name ? "*" : text(flavor); }
    model::Reason closed() const;
    model::Reason of_limit(const LimitLack& lack) const;
    model::Reason of_places(const PlaceLack& lack) const;
    std::optional<model::Reason> of_finding() const;
    model::Reason waiting_for_leavers() const;
    void add_permits(model::Verdict& verdict) const;
    void add_counter_holders(const CounterCard& counter, model::Verdict& verdict) const;
    std::vector<model::Reason> constraints(const Choice& choice) const;
    model::Remedy remedy(const Choice& choice) const;
    static std::string cut_of(const Choice& choice, const DomainCard& domain);
    void add_funnels(const std::vector<Choice>& choices, model::Verdict& verdict) const;
    void add_protections(const Choice& choice, model::Verdict& verdict) const;
    int reclaim_level(const std::map<int, std::int64_t>& needs) const;
    bool has_borrowers(int level, const std::map<int, std::int64_t>& needs) const;
    std::optional<Instant> when_allowed() const;
    bool add_rights(const Choice& choice, bool lower, model::Verdict& verdict) const;
    const QuotaRow* row_at(int queue, int flavor_row) const {
        return &judge_.queue_at(queue).rows[static_cast<std::size_t>(flavor_row)];
    }
    void add_holders(const Choice& choice, model::Verdict& verdict) const;
    bool is_below(int queue, int above) const;

    const SnapshotTables& tables_;
    const ClassCard& card_;
    Judge judge_;
};

}  // namespace tandem::sched

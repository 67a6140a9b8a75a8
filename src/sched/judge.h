// SPDX-License-Identifier: Apache-2.0
// Judge: what one waiting class lacks, on the tables of a snapshot. A choice gives each part one of the flavors
// that it takes; what it lacks are limits of quota and places for members, in the order of the parts' placement.
// Places are counted as placement would fill them: nodes with the fewest free devices first, then the oldest.
// Inside of sched only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sched/bounds.h"
#include "sched/by_rules.h"
#include "sched/snapshot_tables.h"

namespace tandem::sched {

inline constexpr std::size_t choices_judged = 16;

struct LimitLack {
    int flavor = no_name;
    std::int64_t needed = 0;
    Limit limit{};
    bool ever = true;  // would fit if nothing else were used
};
struct PlaceLack {
    ShapePart part{};
    int domain = -1;            // -1: without devices, or there is none
    std::int64_t fit = 0;       // members that have a place now
    std::int64_t possible = 0;  // that would have one on empty machines
    bool of_cpu_or_memory = false;
    bool some_nodes = false;  // labels or taints keep it off others
    const model::Labels* selector = nullptr;
    // By rules of places (judge_rules.cc): what binds, and in which domain there is most room.
    model::ReasonCode rule = model::ReasonCode::none;
    std::string level{};  // where machines would do but for what belongs together
    std::string in_domain{};
    std::int64_t of_domains = 0;
};
struct Choice {
    std::vector<int> flavors{};  // by part of the shape; no_name: without devices, or nothing will do
    std::vector<int> domains{};
    std::vector<LimitLack> limits{};
    std::vector<PlaceLack> places{};
    std::int64_t admitted = 0;   // nodes that a member of the first part may go to
    std::int64_t with_room = 0;  // of those with room for one
    std::int64_t in_scope = 0;   // of those in the domain that the first part would take
    Scope scope{};
    bool fits() const { return limits.empty() && places.empty(); }
    bool never() const;
    std::int64_t missing() const;
};

class Judge {
  public:
    Judge(const SnapshotTables& tables, const ClassCard& card);

    model::ReasonCode closed() const { return closed_; }
    const QueueCard* queue() const { return queue_; }
    const PoolCard* pool() const { return pool_; }
    int queue_position() const { return queue_position_; }
    // At most `choices_judged`; those that give all parts one flavor come first.
    std::vector<Choice> choices(View view) const;
    bool judges_all() const { return judges_all_; }  // there are no more choices than that
    const QueueCard& queue_at(int position) const { return **tables_.queues.find(position); }
    int flavor_row(int flavor) const;

  private:
    struct Taken {
        std::int64_t cpu = 0;
        std::int64_t memory = 0;
        std::int64_t whole = 0;
    };
    struct Candidate {
        int name = no_name;
        int order = 0;
        std::int64_t whole = 0;
        std::int64_t shares = 0;
        std::int64_t members = 0;
    };
    std::vector<int> flavors_for(std::size_t part) const;
    void list_flavors();
    Choice look(std::vector<int> flavors, View view) const;
    void add_limits(Choice& choice, View view) const;
    void add_places(std::size_t part, Choice& choice, std::map<int, Taken>& taken, bool first,
                    View view) const;
    struct Ground;
    Ground survey(const ShapePart& part, const NodeRule& rule, int domain,
                  const std::map<int, Taken>& taken, View view) const;
    void add_places_by_rules(std::size_t part, Choice& choice, std::map<int, Taken>& taken,
                             bool first, View view) const;
    std::string domain_text(const Ground& ground, const Scope& scope) const;
    Company company(DomainNumbers& numbers, View view) const;
    bool takes_part(const NodeCard& room, int domain) const;
    void note_places(PlaceLack& lack, Choice& choice, const Ground& ground) const;
    std::int64_t share_members(const NodeCard& room, const RoomCell& cell, const ShapePart& part,
                               View view) const;
    Candidate candidate(int name, const NodeCard& room, int domain, const ShapePart& part,
                        const std::map<int, Taken>& taken, View view, bool devices_alone) const;
    void take(const std::vector<Candidate>& candidates, const ShapePart& part,
              std::map<int, Taken>& taken) const;
    int domain_of(int flavor) const;

    const SnapshotTables& tables_;
    const ClassCard& card_;
    int queue_position_ = -1;
    const QueueCard* queue_ = nullptr;
    const PoolCard* pool_ = nullptr;
    model::ReasonCode closed_ = model::ReasonCode::none;
    std::vector<std::vector<int>> flavors_{};  // of each choice, by part
    bool judges_all_ = true;
    bool by_rules_ = false;
};

}  // namespace tandem::sched

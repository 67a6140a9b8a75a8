// SPDX-License-Identifier: Apache-2.0
// Hunt: one search for the cheapest set of workloads whose leaving is proved to make room for a
// demand. Everything it tries is undone through the journal. Prospect: what is known of the nodes
// of one domain for one class during one plan: how many members each can take, and the cheapest
// victims for one more there. Inside of sched only.
#pragma once

#include <span>

#include "sched/prey.h"

namespace tandem::sched {

struct Offer {
    Price price{};
    int node = -1;  // position
    std::uint32_t version = 0;
    std::vector<int> victims{};  // of Prospect::victims
};

struct Planner::Inside::Prospect {
    Inside& inside;
    const model::Resources each;
    int domain = -1;
    int project = no_name;
    int rule = no_name;  // which nodes it may go to
    std::int64_t serial = 0;       // of the class
    int level = -1;                // of the hunt
    std::int64_t protection = -1;  // judgements it rests on; -1: on none
    bool shields = false;
    bool waits_for_time = false;
    std::vector<Victim> victims{};  // cheapest first
    std::int64_t most_members = 0;  // that they could make room for, counted and not searched
    std::int64_t total = 0;         // members that fit in the future view, by node and shape
    std::size_t seen = 0;           // of the nodes that this plan changed

    void start();
    void refresh();  // after placements and evictions of this plan
    void touch(int position);
    // Cheapest way to one more member; absent when no victims are left for one.
    std::optional<Offer> take_offer();
    std::int64_t members_on(int position) const;
    std::int64_t members_of(int position) const {  // as of the last touch
        return members[static_cast<std::size_t>(position)];
    }

    struct NodeCase;
    Offer make_offer(int position) const;
    NodeCase describe(int position, std::vector<int> candidates) const;
    void choose(const NodeCase& one, Offer& offer) const;
    void choose_among_all(const NodeCase& one, Offer& offer) const;
    void choose_stepwise(const NodeCase& one, Offer& offer) const;
    bool frees_device(const NodeState& node, const Victim& victim) const;
    std::span<const std::pair<int, int>> victims_on(int position) const;
    bool is_gone(const Victim& victim) const;

    std::vector<std::pair<int, int>> on_node{};  // (position, victim), sorted
    std::vector<std::int64_t> members{};         // by position
    std::vector<std::uint32_t> versions{};
    std::vector<Offer> heap{};
};

struct Planner::Inside::Hunt {
    Inside& inside;
    int class_index;
    const Demand& demand;
    Plan& plan;
    const ClassView& view;
    const QueueFacts& queue;
    Attempt attempt{.view = View::future, .kind = EntryKind::claim};
    std::vector<Need> needs{};
    int level = -1;        // lowest node whose nominal quota covers the demand; -1: none
    bool judged = false;   // the choice rests on what quotas protect
    bool shields = false;  // somebody of lower priority is protected from the demand
    bool waits_for_time = false;
    bool limited = false;  // by the rate of evictions

    void find_needs();
    void find_needs_without_surplus();
    bool is_possible() const;  // a sound "no" when false: not even if everybody left
    void add_keys(Attempt& failed) const;

    std::vector<Victim> find_surplus();
    std::vector<Victim> find_own();
    std::vector<Victim> find_borrowers();
    std::vector<Victim> find_larger_shares();
    std::optional<Victim> consider(RowId workload, Group group, model::ReasonCode why);

    bool run(int flavor, Attempt& failed, Placement& out);
    std::vector<Victim> find_by_right();
    bool has_lower_work() const;
    bool has_borrowers() const;
    bool has_evictable(int node) const;  // somebody at or below it may be asked to leave
    std::shared_ptr<Prospect> prospect(std::vector<Victim> (Hunt::*find)(), int flavor, bool fair);
    bool take(Prospect& prospect, Placement& out);
    bool take_fair_share(Prospect& prospect, Placement& out);
    bool leave(Prospect& prospect, std::span<const Victim> list, Placement& out);
    // Nothing: proved that no set would do. Empty: nodes and quota have room without anybody.
    std::optional<std::vector<Victim>> select(Prospect& prospect);
    std::optional<std::vector<Victim>> choose(Prospect& prospect);
    // by_rules_hunt.cc: inside one domain, where all must be in one.
    std::optional<std::vector<Victim>> choose_by_rules(const Prospect& prospect);
    std::vector<Scope> scopes_to_clear() const;
    bool could_hold(const Scope& scope) const;
    std::vector<Victim> clear(std::span<const Victim> here, std::span<const Victim> victims);
    std::vector<Victim> select_by_placing(std::span<const Victim> victims);
    bool free_quota(std::span<const Victim> victims, std::vector<Victim>& list);
    void drop_unneeded(std::vector<Victim>& list, Prospect* prospect);
    bool is_needed(const Victim& victim, const Prospect* prospect, std::int64_t& room);
    std::int64_t room_now(const Prospect& prospect, std::span<const Victim> list) const;
    void add_places(const Victim& victim, std::set<int>& places) const;
    void improve(std::span<const Victim> victims, std::vector<Victim>& list);
    bool keeps_shares(std::span<const Victim> list);

    bool evict(const Victim& victim);  // or, a second time, lets it stay
    bool is_structural() const {
        const std::int64_t devices = demand.parts[0].each.devices;
        const bool odd = devices < 1000 && inside.odd_slots > 0;
        return demand.parts.size() == 1 && devices > 0 && !view.by_rules && !odd;
    }
    bool fits();
    bool fits_after(std::span<const Victim> list);
    bool quota_fits() const;
    bool commit(std::span<const Victim> list, Placement& out);
};

}  // namespace tandem::sched

// SPDX-License-Identifier: Apache-2.0
// Planner::Inside: the planner's tables, its journal, and the steps of a plan. What core told
// (names, facts, slots, occupants, demands) is primary; capacity and quota counters are derived
// from it, kept up to date with each change, and built anew after a change of queues or pools.
// Inside of sched only.
//
// Journal: every change of the primary tables leaves its inverse. Undoing walks them backwards
// through the same functions, so that derived counters come back exactly. Classes that slept are
// awake after an undo by core.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "sched/attempt.h"
#include "sched/capacity.h"
#include "sched/class_view.h"
#include "sched/decay.h"
#include "sched/facts.h"
#include "sched/flavor_choice.h"
#include "sched/journal.h"
#include "sched/outlook.h"
#include "sched/permits.h"
#include "sched/planner.h"
#include "sched/profiles.h"
#include "sched/published.h"
#include "sched/quota.h"
#include "sched/snapshot.h"
#include "sched/waiting.h"

namespace tandem::sched {

struct EntryKey {
    RowId id{};
    std::int64_t part = 0;
    bool operator==(const EntryKey&) const = default;
};
struct EntryKeyHash {
    std::size_t operator()(const EntryKey& key) const noexcept {
        return std::hash<RowId>{}(RowId{key.id.value * 31 + key.part});
    }
};

struct WorkloadState {
    std::vector<int> slots{};
    std::optional<OccupantFacts> occupant{};
    std::int64_t planned_end = ends_never;  // of what a plan placed, until it is an occupant
    bool empty() const { return slots.empty() && !occupant; }
};

struct Planner::Inside {
    // --- primary ---
    Names names{};
    std::map<int, NodeFacts> nodes{};
    std::map<int, PoolFacts> pools{};
    std::map<int, QueueFacts> queues{};
    std::map<RowId, BookingFacts> bookings{};
    std::vector<Slot> slots{};
    std::vector<int> free_slots{};
    std::unordered_map<EntryKey, int, EntryKeyHash> entries{};
    std::unordered_map<RowId, WorkloadState> workloads{};
    std::vector<std::vector<int>> slots_of_node{};  // by name
    std::unordered_map<int, std::set<RowId>> occupants_of_queue{};  // without surplus
    std::map<int, std::set<RowId>> surplus_of_queue{};
    std::map<RowId, Demand> growths{};  // what elastic work would like to have
    // Of what may be asked to leave: how many of each priority, by queue.
    std::map<int, std::map<std::int64_t, std::int64_t>> urgencies{};
    Waiting waiting{};
    std::unordered_map<int, FlavorChoice> flavor_choices{};  // by the name of their text
    std::vector<MixCount> told_mix{};
    Instant time{};                      // as far as it was told
    std::map<UseKey, Use> uses{};        // of queues that have a half-life
    std::map<int, Bucket> allowances{};  // of queues whose evictions are limited; absent: full
    std::set<int> remembered{};          // queues whose use or bucket changed since forget()
    std::unordered_map<int, NodeRule> rules{};  // by the name of their text
    Permits permits{};
    std::unordered_map<int, PlacingRef> placings{};  // likewise
    std::int64_t odd_slots = 0;  // with memory of devices of their own choice
    std::set<int> social_slots{};  // of work that others select or that keeps them away
    // --- derived ---
    std::unordered_map<MixKey, std::int64_t, MixKeyHash> asked_counts{};
    std::map<int, std::int64_t> capacity_by_flavor{};  // healthy milli-devices
    TypicalMix mix{};
    std::vector<MixCount> mix_counts{};  // what it was made of
    std::map<int, std::int64_t> mix_capacity{};
    bool mix_is_fresh = false;
    std::map<int, Duration> half_lives{};  // own or inherited, of queues that have one
    std::int64_t tainted_nodes = 0;
    std::int64_t closing_nodes = 0;
    mutable std::map<int, NodeBitmap> admitted{};  // by rule; of nodes that are there
    mutable std::map<int, Topology> topologies{};  // by pool; dropped when a node changes
    bool dirty = true;
    std::int64_t builds = 0;
    int shared_pool = no_name;
    Owners owners{};
    Capacity capacity{names};
    QuotaTree quota{};
    std::vector<ClassView> views{};
    std::vector<int> open_domains{};          // while a part is being placed
    std::uint64_t fingerprint = 0;            // sum over the primary tables
    std::uint64_t occupants_fingerprint = 0;  // the part of it that is spread over a hash table
    std::map<int, Profiles> profiles{};  // by rule
    bool profiles_stale = true;
    bool some_run_least = false;  // a queue states a minimum run time
    Unshown unshown{};
    Published published{};
    // --- journal ---
    std::vector<Undo> journal{};
    bool marked = false;
    bool undoing = false;
    std::vector<int> provisional{};  // slots that a plan made; some may be gone
    std::set<int> grown_roots{};     // trees and pools whose use grew during this plan
    std::set<int> grown_pools{};
    std::vector<int> released{};  // slots of this plan's victims
    std::map<int, Headway> headways{};  // of classes
    Releases releases{};
    Outlooks outlooks{};
    std::vector<RowId> starting{};  // what plans placed since forget()
    // --- of one plan, for preemption (prey.h, hunt.h) ---
    struct Judgements;
    struct Prospect;
    std::shared_ptr<Judgements> judgements{};
    std::map<std::tuple<int, int, bool>, std::shared_ptr<Prospect>>
        prospects{};                                                      // class, flavor, fair
    std::int64_t protection = 0;       // grows when judgements are forgotten
    std::vector<int> changed_nodes{};  // positions, as changes came
    std::optional<Instant> look_at{};  // some class sleeps until then
    bool may_grow = false;  // something changed since nobody could
    std::optional<Instant> booking_look{};  // a booking may have to be filled
    bool quiet = false;                     // what is tried wakes nobody
    std::optional<std::size_t> news_at{};  // how long the journal was when news were taken

    // primary.cc: changes of the primary tables, journaled
    void set_node(int name, std::unique_ptr<NodeFacts> facts);
    void set_pool(int name, std::unique_ptr<PoolFacts> facts);
    void change_owners(int pool, const std::vector<DeviceKey>& before,
                       const std::vector<DeviceKey>& after);
    void set_queue(int name, std::unique_ptr<QueueFacts> facts);
    void set_booking(RowId id, std::unique_ptr<BookingFacts> facts);
    void set_occupant(RowId workload, std::unique_ptr<OccupantFacts> facts);
    void pin(const WorkloadState& state, bool pins);
    int add_slot(Slot slot);
    void remove_slot(int index);
    void change_leaving(int index);
    void put_demand(Demand demand);
    void take_demand(int slot);
    void undo_to(std::size_t mark);
    void end_call();  // without a mark nothing needs to be undone

    // memory.cc: decayed use and eviction buckets
    void follow_half_lives();
    bool remember(int queue);
    void set_use(UseKey key, const std::optional<Use>& use);
    void use(const Slot& slot, int sign);
    Wide faded_of(int node) const;
    void set_bucket(int queue, const std::optional<Bucket>& bucket);
    std::optional<Bucket> bucket_of(int queue) const;
    std::optional<Instant> when_allowed(int node, std::int64_t evictions) const;
    void spend(int node, std::int64_t evictions);
    std::vector<QueueMemory> list_memory() const;
    void restore_memory(const QueueMemory& memory);

    // derived.cc
    void derive(Owners& owners, Capacity& capacity, QuotaTree& quota) const;
    int find_shared_pool() const;
    std::vector<int> list_flavors() const;
    void build();
    void ensure_built() {
        if (dirty) build();
    }
    bool is_ownership(const Slot& slot) const;
    bool is_charged(const Slot& slot) const;
    void own(const Slot& slot, bool gains);
    void reattach(int node_name);
    void apply(const Slot& slot, int sign);
    void wake_after_release(const Slot& slot);
    void wake_node(int node_name);
    ClassKey key_of(const Demand& demand);
    int intern_choice(const std::string& text);
    int intern_rule(const model::Resources& each);
    int intern_lasting(int rule, std::int64_t lasts_ms);
    void forget_lasting();
    std::optional<Finding> find_closing(int class_index, const Demand& demand, Plan& plan);
    const NodeRule& rule_of(int rule) const;
    const NodeBitmap* admitted_nodes(int rule) const;
    bool rule_admits(int rule, int position) const;
    bool has_amounts(int position, const model::Resources& each, View view) const;
    void readmit(int node_name, const NodeFacts* facts);
    bool fits(int position, const model::Resources& each, int rule, View view) const;
    const FlavorChoice& choice_of(int asked) const;
    const FlavorChoice& choice_of(const std::string& text) const {
        return choice_of(names.find(text));
    }

    // typical.cc
    void count_devices(const NodeFacts& facts, std::int64_t sign);
    void count_asked(const ClassKey& key, std::int64_t sign);
    void count_asked(const Slot& slot, std::int64_t sign);
    std::vector<MixCount> learned_counts() const;
    const TypicalMix& typical_mix();
    const ClassView& view_of(int class_index);
    struct Recount;
    std::string recount();

    // placement.cc
    bool place(int class_index, const Demand& demand, Attempt& attempt, Plan& plan);
    const ClassView& refresh_parts(int class_index);
    bool place_part(const ClassView& view, const Demand& demand, std::size_t part, Attempt& attempt,
                    Plan& plan);
    bool place_in(int domain, const ClassView& view, const Demand& demand, std::size_t part,
                  Attempt& attempt, Plan& plan);
    std::vector<std::vector<int>> list_candidates(int pool, int asked, int only_flavor) const;
    bool has_quota(const ClassView& view, int flavor, std::int64_t need, Attempt& attempt) const;
    void order_by_score(std::vector<int>& domains, const ClassView& view, const DemandPart& part,
                        int rule, Plan& plan);
    RoomChoice choose_room(int domain, const ClassView& view, const model::Resources& each,
                           int rule, Plan& plan);
    std::vector<int> domains_for(const ClassView& view, const model::Resources& each,
                                 int only_flavor) const;
    bool place_without_devices(const ClassView& view, const Demand& demand, std::size_t part,
                               Attempt& attempt, Plan& plan);
    int find_bare(const model::Resources& each, int rule, Plan& plan) const;
    int find_node(const Domain& domain, const model::Resources& each, int rule, View view,
                  bool spread, Plan& plan) const;
    struct Found {
        int node = -1;
        std::vector<Share> shares{};
    };
    Found find_room(int domain, const ClassView& view, const Demand& demand, std::size_t part,
                    const Attempt& attempt, Plan& plan);
    std::vector<Share> whole_devices(const Domain& domain, int node, std::int64_t count,
                                     View view) const;
    Found find_share(const Domain& domain, const ClassView& view, const model::Resources& each,
                     int rule, const Attempt& attempt, Plan& plan) const;
    bool has_mine(const Attempt& attempt, int node_name, std::int64_t device) const;
    void take(int node, int flavor, std::vector<Share> shares, const ClassView& view,
              const Demand& demand, std::size_t part, Attempt& attempt);
    void write(const Demand& demand, Attempt& attempt, Placement& out) const;

    // by_rules.cc, by_rules_preempt.cc
    struct Rules;
    int intern_placing(const PlacingRef& placing);
    bool has_company(int placing) const;
    const Topology& topology_of(int pool) const;
    bool place_by_rules(const ClassView& view, const Demand& demand, Attempt& attempt, Plan& plan);
    Rules rules_for(const ClassView& view, const Demand& demand, View when) const;
    bool put_in_scope(Rules& rules, std::size_t part, int domain, const Scope& scope,
                      Attempt& attempt, Plan& plan);
    bool put_part(Rules& rules, std::size_t part, const Scope& scope, Attempt& attempt, Plan& plan);
    bool put_members(Rules& rules, std::size_t part, int domain, const std::vector<Site>& sites,
                     const Scope& scope, Attempt& attempt, Plan& plan);
    std::vector<Site> list_sites(const Rules& rules, std::size_t part, int domain,
                                 const Attempt& attempt, Plan& plan) const;
    std::int64_t members_at(int position, const Rules& rules, std::size_t part, int domain,
                            const Attempt& attempt) const;
    std::vector<Share> pick_devices(int position, const Rules& rules, std::size_t part, int domain,
                                    const Attempt& attempt) const;
    std::vector<int> open_flavors(const ClassView& view, const Demand& demand, std::size_t part,
                                  const std::vector<int>& tier, Attempt& attempt, Plan& plan);
    Shortage shortage_by_rules(const Rules& rules, std::size_t part, int domain,
                               const std::vector<Site>& sites) const;
    bool never_by_rules(const ClassView& view, const ShapePart& part);

    // headway.cc
    bool delays_head(int class_index, const Demand& demand, Attempt& attempt, Plan& plan);
    bool judge_head(int class_index, const Demand& demand, Attempt& attempt, Plan& plan);
    Finding find_hold(int class_index) const;
    int find_head(int class_index, const Attempt& judged, Plan& plan);
    void find_headway(int class_index, const Attempt& judged, Plan& plan);
    bool fits_once_gone(int class_index, std::span<const RowId> leavers, const Attempt& judged,
                        Plan& plan);
    std::vector<std::pair<std::optional<Instant>, RowId>> list_ends(int pool) const;
    void let_pass(int head, const Demand& demand, const Attempt& attempt);
    void let_leave(RowId workload, const Attempt& judged);
    void forget_headways(int placed_class, bool evicts);

    // reserved_time.cc: devices promised for windows to come
    struct Moment;
    bool holds_devices(const BookingFacts& booking) const;
    std::vector<Moment> moments_before(const ClassView& view, Instant end,
                                       const std::set<int>& flavors) const;
    bool leaves_by(RowId workload, const WorkloadState& state, Instant start) const;
    void let_leave_by(Instant start, const BookingFacts& booking);
    bool put_members(RowId id, std::int64_t count, Attempt& attempt, Plan& plan);
    bool put_promised(const Moment& moment, std::vector<int>& slots_put, Plan& plan);
    std::optional<Moment> find_broken(int class_index, const Demand& demand, bool claims,
                                      Plan& plan);
    std::optional<Finding> keep_promises(int class_index, const Demand& demand, Attempt& attempt,
                                         Placement& placement, std::size_t before, Plan& plan);
    bool place_beside(int class_index, const Demand& demand, const Moment& moment,
                      Attempt& attempt, Plan& plan);
    Finding find_promise(int class_index, const Moment& moment) const;
    void fill_bookings(Plan& plan);
    void fill_booking(RowId id, Plan& plan);
    struct Filling;

    // outlook.cc
    struct Counting;
    std::optional<Wanted> countable(int class_index);
    std::int64_t end_of(RowId workload) const;
    void list_releases(RowId workload, std::vector<Release>& out) const;
    void list_shares(int slot, std::int64_t end, std::vector<Release>& out) const;
    const std::vector<Release>& releases_now();
    void touch_release(RowId workload) { releases.touch(workload, workloads.size()); }
    void tally_node(Tally& tally, const Domain& domain, int position) const;
    const Tally& tally_of(int domain);
    void count_headway(int class_index, const Wanted& wanted, const Attempt& judged, Plan& plan);
    bool leaves_for(const Outlook& outlook, RowId workload) const;
    std::int64_t members_then(const Outlook& outlook, int position) const;
    void recount_node(Outlook& outlook, int position) const;
    bool catch_up(int head, Outlook& outlook);
    bool fits_beside(Outlook& outlook, const Attempt& attempt) const;
    // permitted.cc: counters beside devices
    const PermitNeed* find_full(int class_index) const;
    void sleep_for_permit(int class_index, const PermitNeed& full);
    void rest_permitted();
    void wake_permitted(const Slot& slot);
    std::string recount_permits() const;
    void show_counters();

    // growth.cc, preemption.cc
    struct Growing;
    void set_growth(RowId workload, std::unique_ptr<Demand> wish);
    void grow(Plan& plan, std::int64_t step_budget);
    struct Hunt;
    bool preempt(int class_index, const Demand& demand, int flavor, Attempt& failed, Plan& plan,
                 Placement& out);
    std::optional<std::int64_t> lowest_in(int queue_name) const;
    void count_occupant(RowId workload, const OccupantFacts& occupant, std::int64_t sign);
    void start_hunting();
    void forget_judgements();
    void look_again(Instant at) { look_at = look_at ? std::min(*look_at, at) : at; }
    void note_change(int node_name);
    void note_changes(const Attempt& attempt);
    const QueueFacts* find_queue(int name) const;
    bool is_of_one_flavor(RowId workload) const;
    BorrowShare share_of_branch(int node) const;

    // cause.cc: why a class that could not be placed goes to sleep
    Lent lent_pools() const;
    const Profiles& empty_machines(int rule = no_name);
    bool never_fits(const ClassView& view, const ShapePart& part);
    Finding find_cause(int class_index, const Attempt& attempt);
    Finding cause_of(const ClassView& view, const Shortage& shortage, Finding finding) const;
    model::Reason tell_cause(const Finding& finding) const;

    // snapshot_build.cc
    void touch(const Slot& slot);
    std::shared_ptr<const Snapshot> snapshot();
    void show_names();
    void show_tables();
    void show_pools();
    void show_queue(int node);
    void show_queues();
    void show_node(int name);
    void show_neighbours(int name, NodeCard& room) const;
    void show_domains();
    void show_holder(RowId workload);
    void show_class(int class_index, MemberChanges& edit);
    void show_waiting();

    // cycle.cc
    Plan plan(Instant now, std::int64_t step_budget);
    bool attempt_class(int class_index, Plan& plan);
    void note_start(const Demand& demand, bool claims);
    void make_room();
    void release_room();
    bool try_flavors(int class_index, const Demand& demand, Attempt& attempt, Plan& plan,
                     Placement& out);
    std::vector<int> choose_flavors(const ClassView& view, const Demand& demand) const;
    void wake_after_pass();
    void fill_pools(Plan& plan);
    void fill_pool(int name, Plan& plan);
    void drop_provisional();
};

}  // namespace tandem::sched

// SPDX-License-Identifier: Apache-2.0
#include "sched/topology.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"

namespace tandem::sched {
namespace {

std::size_t spot(int index) {
    return static_cast<std::size_t>(index);
}

// Sites of one domain, as places in the list of all.
struct Group {
    int domain = -1;
    std::vector<int> sites{};
    std::int64_t room = 0;  // in units
    std::int64_t worth = 0;
    std::int64_t free = 0;
};

int domain_of(const Site& site, int level) {
    return (*site.domains)[spot(level)];
}

// Lays replicas out, level by level. A unit is a slice down to the slices' level, then a replica.
class Layout {
  public:
    Layout(const TopologyAsk& ask, std::span<const Site> sites) : ask_(ask), sites_(sites) {}

    std::int64_t slices_in(std::span<const int> list) const;
    void fill(int level, std::span<const int> list, std::int64_t units);
    void spread_out(std::span<const int> list, std::int64_t count);
    std::vector<std::pair<int, std::int64_t>> take() { return std::move(out_); }
    // Sites without a domain of the level make a group as well, of domain -1.
    std::vector<Group> groups(int level, std::span<const int> list) const;

  private:
    bool in_slices(int level) const {
        return ask_.slice_level != no_level && level <= ask_.slice_level;
    }
    std::int64_t members_in(std::span<const int> list) const;
    std::int64_t units_in(int level, std::span<const int> list) const {
        return in_slices(level) ? slices_in(list) : members_in(list);
    }
    void fill_group(int level, const Group& group, std::int64_t units);
    void balance(int level, std::vector<Group> list, std::int64_t units);
    int host() const { return static_cast<int>(sites_.front().domains->size()) - 1; }

    const TopologyAsk& ask_;
    std::span<const Site> sites_;
    std::vector<std::pair<int, std::int64_t>> out_{};
};

std::int64_t Layout::members_in(std::span<const int> list) const {
    std::int64_t sum = 0;
    for (int index : list) sum += sites_[spot(index)].members;
    return sum;
}

std::int64_t Layout::slices_in(std::span<const int> list) const {
    std::map<int, std::int64_t> rooms;
    for (int index : list) {
        const Site& site = sites_[spot(index)];
        if (const int domain = domain_of(site, ask_.slice_level); domain >= 0)
            rooms[domain] += site.members;
    }
    std::int64_t sum = 0;
    for (const auto& [domain, room] : rooms) sum += room / ask_.slice;
    return sum;
}

std::vector<Group> Layout::groups(int level, std::span<const int> list) const {
    std::map<int, Group> found;
    for (int index : list) {
        const Site& site = sites_[spot(index)];
        const int own = domain_of(site, level);
        Group& group = found[own];
        group.domain = own;
        group.worth = group.sites.empty() ? site.worth : std::max(group.worth, site.worth);
        group.sites.push_back(index);
        group.free += site.free;
    }
    std::vector<Group> groups;
    for (auto& [key, group] : found) {
        group.room = units_in(level, group.sites);
        groups.push_back(std::move(group));
    }
    return groups;
}

void Layout::fill_group(int level, const Group& group, std::int64_t units) {
    if (level == ask_.slice_level) units *= ask_.slice;
    if (level == host()) {
        for (int index : group.sites) {
            const std::int64_t members = std::min(units, sites_[spot(index)].members);
            if (members > 0) out_.emplace_back(sites_[spot(index)].node, members);
            units -= members;
        }
        return;
    }
    fill(level + 1, group.sites, units);
}

// The most welcome domains first. Of equals as few as will do: the largest while none holds the
// rest, then the smallest that does.
void Layout::fill(int level, std::span<const int> list, std::int64_t units) {
    std::vector<Group> all = groups(level, list);
    std::erase_if(all, [](const Group& group) { return group.room == 0; });
    if (ask_.balanced && level == ask_.preferred) return balance(level, std::move(all), units);
    std::ranges::sort(all, [](const Group& a, const Group& b) {
        if (a.worth != b.worth) return a.worth > b.worth;
        if (a.room != b.room) return a.room > b.room;
        return a.free != b.free ? a.free < b.free : a.sites.front() < b.sites.front();
    });
    for (std::size_t next = 0; units > 0; ++next) {
        TANDEM_ASSERT(next < all.size(), "what is laid out must fit");
        std::size_t chosen = next;
        for (std::size_t i = next + 1; i < all.size(); ++i) {
            if (all[i].worth != all[next].worth || all[i].room < units) break;
            if (all[i].room < all[chosen].room) chosen = i;
        }
        const std::int64_t takes = std::min(units, all[chosen].room);
        fill_group(level, all[chosen], takes);
        units -= takes;
    }
}

// The fewest domains that suffice, and in each as nearly the same number as their room lets.
void Layout::balance(int level, std::vector<Group> list, std::int64_t units) {
    std::ranges::sort(list, [](const Group& a, const Group& b) {
        return a.room != b.room ? a.room > b.room : a.sites.front() < b.sites.front();
    });
    std::int64_t sum = 0;
    std::size_t few = 0;
    while (few < list.size() && sum < units) sum += list[few++].room;
    list.resize(few);
    std::vector<std::int64_t> takes(few);
    for (std::size_t left = few; left > 0; --left) {  // the smallest first
        const auto each = static_cast<std::int64_t>(left);
        takes[left - 1] = std::min(list[left - 1].room, units / each);
        units -= takes[left - 1];
    }
    TANDEM_ASSERT(units == 0, "what is laid out must fit");
    for (std::size_t i = 0; i < few; ++i)
        if (takes[i] > 0) fill_group(level, list[i], takes[i]);
}

// Each domain gets the same, and some of them, the most welcome first, up to the skew more.
void Layout::spread_out(std::span<const int> list, std::int64_t count) {
    std::vector<Group> all = groups(ask_.spread, list);
    std::erase_if(all, [](const Group& group) { return group.domain < 0; });
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Group& group : all) least = std::min(least, group.room);
    const std::int64_t same = std::min(least, count / static_cast<std::int64_t>(all.size()));
    std::vector<std::int64_t> takes(all.size(), same);
    std::int64_t rest = count - same * static_cast<std::int64_t>(all.size());
    std::ranges::sort(all, [](const Group& a, const Group& b) {
        if (a.worth != b.worth) return a.worth > b.worth;
        return a.free != b.free ? a.free > b.free : a.sites.front() < b.sites.front();
    });
    for (std::int64_t more = 1; more <= ask_.max_skew && rest > 0; ++more) {
        for (std::size_t i = 0; i < all.size() && rest > 0; ++i) {
            if (takes[i] >= all[i].room) continue;
            takes[i] += 1;
            rest -= 1;
        }
    }
    TANDEM_ASSERT(rest == 0, "what is laid out must fit");
    for (std::size_t i = 0; i < all.size(); ++i)
        if (takes[i] > 0) fill_group(ask_.spread, all[i], takes[i]);
}

std::vector<int> inside(std::span<const Site> sites, const Scope& scope) {
    std::vector<int> list;
    for (std::size_t i = 0; i < sites.size(); ++i)
        if (scope.holds(sites[i])) list.push_back(static_cast<int>(i));
    return list;
}

std::int64_t room_of(const TopologyAsk& ask, std::span<const Site> sites,
                     std::span<const int> list) {
    if (list.empty()) return 0;
    const Layout layout(ask, sites);
    if (ask.slice_level != no_level) return layout.slices_in(list) * ask.slice;
    std::int64_t sum = 0;
    if (ask.spread == no_level) {
        for (int index : list) sum += sites[spot(index)].members;
        return sum;
    }
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const std::vector<Group> groups = layout.groups(ask.spread, list);
    for (const Group& group : groups)
        if (group.domain >= 0) least = std::min(least, group.room);
    for (const Group& group : groups)
        if (group.domain >= 0) sum += std::min(group.room, least + ask.max_skew);
    return sum;
}

// Domains of one level with their sites, in order of their first node.
std::vector<std::pair<Scope, std::vector<int>>> domains_at(int level, std::span<const Site> sites) {
    std::vector<std::pair<Scope, std::vector<int>>> list;
    std::map<int, std::size_t> known;
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const int domain = domain_of(sites[i], level);
        if (domain < 0) continue;
        const auto [entry, added] = known.try_emplace(domain, list.size());
        if (added) list.push_back({{level, domain}, {}});
        list[entry->second].second.push_back(static_cast<int>(i));
    }
    return list;
}

// Of the best `count` places.
std::int64_t worth_of(std::span<const Site> sites, std::vector<int> list, std::int64_t count) {
    std::ranges::sort(list, [&](int a, int b) {
        return sites[spot(a)].worth != sites[spot(b)].worth
                   ? sites[spot(a)].worth > sites[spot(b)].worth
                   : a < b;
    });
    std::int64_t sum = 0;
    for (int index : list) {
        const std::int64_t members = std::min(count, sites[spot(index)].members);
        sum += members * sites[spot(index)].worth;
        count -= members;
    }
    return sum;
}

void add_scopes(const TopologyAsk& ask, std::span<const Site> sites, int level, std::int64_t count,
                std::vector<Scope>& scopes) {
    struct Fit {
        Scope scope{};
        std::int64_t worth = 0;
        std::int64_t room = 0;
        std::size_t order = 0;
    };
    std::vector<Fit> fits;
    for (auto& [scope, list] : domains_at(level, sites)) {
        const std::int64_t room = room_of(ask, sites, list);
        if (room < count) continue;
        fits.push_back({scope, worth_of(sites, std::move(list), count), room, fits.size()});
    }
    std::ranges::sort(fits, [](const Fit& a, const Fit& b) {
        if (a.worth != b.worth) return a.worth > b.worth;
        return a.room != b.room ? a.room < b.room : a.order < b.order;
    });
    for (const Fit& fit : fits) scopes.push_back(fit.scope);
}

}  // namespace

std::vector<int> DomainNumbers::of(const model::Labels& labels, int node) {
    std::vector<int> domains;
    domains.reserve(labels_.size() + 1);
    std::string path;
    for (std::size_t level = 0; level < labels_.size(); ++level) {
        const auto found = labels.find(labels_[level]);
        if (level > 0) path += '/';
        if (found == labels.end()) {
            domains.push_back(-1);
            continue;
        }
        path += found->second;
        const auto [entry, added] = numbers_.try_emplace({static_cast<int>(level), path},
                                                         static_cast<int>(domains_.size()));
        if (added) domains_.push_back({static_cast<int>(level), path});
        domains.push_back(entry->second);
    }
    domains.push_back(node);
    return domains;
}

int DomainNumbers::level(std::string_view name) const {
    if (name.empty()) return no_level;
    if (name == model::host_level) return host();
    for (std::size_t level = 0; level < labels_.size(); ++level)
        if (model::level_name(labels_[level]) == name) return static_cast<int>(level);
    return unknown_level;
}

std::string DomainNumbers::level_name(int level) const {
    if (level < 0) return {};
    return std::string(level == host() ? model::host_level
                                       : model::level_name(labels_[spot(level)]));
}

std::string DomainNumbers::text(int level, int domain) const {
    if (level < 0 || level == host() || domain < 0) return {};
    return domains_[spot(domain)].path;
}

TopologyAsk ask_of(const model::JobPlacing& placing, const DomainNumbers& numbers) {
    const model::JobTopology& topology = placing.topology;
    TopologyAsk ask{.preferred = numbers.level(topology.preferred),
                    .balanced = topology.balanced,
                    .slice = std::max<std::int64_t>(1, topology.slice.size),
                    .spread = numbers.level(placing.spread.level),
                    .max_skew = placing.spread.max_skew};
    if (topology.slice.size > 0) ask.slice_level = numbers.level(topology.slice.required);
#if !defined(TANDEM_PLANT_REQUIRED_TOPOLOGY)
    ask.required = numbers.level(topology.required);
#endif
#if defined(TANDEM_PLANT_EVEN_SPREAD)
    ask.max_skew = 10'000;
#endif
    return ask;
}

std::int64_t room_in(const TopologyAsk& ask, std::span<const Site> sites, const Scope& scope) {
    return room_of(ask, sites, inside(sites, scope));
}

std::vector<Scope> scopes_for(const TopologyAsk& ask, std::span<const Site> sites,
                              std::int64_t count) {
    std::vector<Scope> scopes;
    if (!ask.is_known() || sites.empty()) return scopes;
    if (ask.required >= 0) {
        add_scopes(ask, sites, ask.required, count, scopes);
        return scopes;
    }
    for (int level = ask.preferred; level >= 0; --level)
        add_scopes(ask, sites, level, count, scopes);
    if (room_in(ask, sites, {}) >= count) scopes.push_back({});
    return scopes;
}

BestScope best_scope(const TopologyAsk& ask, std::span<const Site> sites) {
    BestScope best;
    if (!ask.is_known() || sites.empty()) return best;
    if (ask.required < 0) {
        const int level = ask.slice_level >= 0 ? ask.slice_level : ask.spread;
        if (level >= 0) best.domains = static_cast<std::int64_t>(domains_at(level, sites).size());
        best.room = room_in(ask, sites, {});
        return best;
    }
    for (const auto& [scope, list] : domains_at(ask.required, sites)) {
        const std::int64_t room = room_of(ask, sites, list);
        if (best.domains == 0 || room > best.room) {
            best.scope = scope;
            best.room = room;
        }
        best.domains += 1;
    }
    return best;
}

std::vector<std::pair<int, std::int64_t>> lay_out(const TopologyAsk& ask,
                                                  std::span<const Site> sites, const Scope& scope,
                                                  std::int64_t count) {
    const std::vector<int> list = inside(sites, scope);
    Layout layout(ask, sites);
    if (list.empty()) return {};
    if (ask.spread != no_level) {
        layout.spread_out(list, count);
        return layout.take();
    }
    // Slices inside a domain narrower than their own level are whole all the same.
    TopologyAsk narrowed = ask;
    if (ask.slice_level != no_level && scope.level >= ask.slice_level) {
        narrowed.slice_level = no_level;
        narrowed.slice = 1;
    }
    Layout inner(narrowed, sites);
    const std::int64_t units = narrowed.slice_level == no_level ? count : count / narrowed.slice;
    const int host = static_cast<int>(sites.front().domains->size()) - 1;
    inner.fill(std::min(scope.level + 1, host), list, units);
    return inner.take();
}

Scope narrowest(const TopologyAsk& ask, std::span<const Site> sites, const Scope& scope) {
    Scope found;
    if (ask.spread < 0) return found;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const auto& [domain, list] : domains_at(ask.spread, sites)) {
        std::int64_t room = 0;
        bool within = false;
        for (int index : list) {
            if (!scope.holds(sites[spot(index)])) continue;
            within = true;
            room += sites[spot(index)].members;
        }
        if (!within || room >= least) continue;
        least = room;
        found = domain;
    }
    return found;
}

}  // namespace tandem::sched

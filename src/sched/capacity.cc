// SPDX-License-Identifier: Apache-2.0
#include "sched/capacity.h"

#include <algorithm>

namespace tandem::sched {
namespace {

std::size_t index_of(std::int32_t count) {
    return static_cast<std::size_t>(count);
}

bool is_whole(const Dev& device, View view) {
    if (!device.healthy || device.claimed != 0) return false;
    return view == View::now ? device.occupied == 0 : device.occupied == device.leaving;
}
bool is_partial(const Dev& device) {
    return device.healthy && device.stayers > 0 && device.free(View::future) > 0;
}

// What one device adds to its cell.
void count_device(Cell& cell, const Dev& device, std::int32_t sign) {
    if (is_whole(device, View::now)) cell.whole[at(View::now)] += sign;
    if (is_whole(device, View::future)) cell.whole[at(View::future)] += sign;
    if (device.healthy && device.claimed == 0 && device.pinned == 0) cell.whole[at_most] += sign;
    if (is_partial(device)) cell.partial += sign;
}

void change_amount(Amount& amount, std::int64_t by, const Slot& slot, int sign) {
    if (slot.kind == EntryKind::allocation) {
        amount.occupied += by * sign;
        if (slot.leaving) amount.leaving += by * sign;
    } else if (!slot.leaving) {
        amount.claimed += by * sign;
    }
}

}  // namespace

std::int64_t Dev::free_thousandths(View view) const {
    const std::int64_t beyond =
        (view == View::now ? beyond_occupied : beyond_occupied - beyond_leaving) + beyond_claimed;
    return std::max<std::int64_t>(0, unused(view) * memory - beyond);
}

std::int32_t Dev::free_by_memory(View view) const {
    if (memory == 0) return 0;
    return static_cast<std::int32_t>(std::min<std::int64_t>(free_thousandths(view) / memory, 1000));
}

bool Dev::takes(std::int64_t milli, std::int64_t memory_bytes, int project, View view) const {
    if (!healthy || stayers == 0 || stay_project != project) return false;
    if (memory_bytes == 0 ? free(view) < milli
                          : unused(view) < milli || free_memory(view) < memory_bytes)
        return false;
    return view == View::future || leavers == 0 || leave_project == project;
}

bool Dev::is_free_for(const Share& share) const {
    if (occupied + share.milli > 1000) return false;
    if (odd > 0 || share.memory_bytes > 0) {
        const std::int64_t left = (1000 - occupied) * memory - beyond_occupied;
        const std::int64_t asked =
            share.memory_bytes > 0 ? share.memory_bytes * 1000 : share.milli * memory;
        if (left < asked) return false;
    }
    return true;
}

void Buckets::move(int node, std::int32_t from, std::int32_t to) {
    if (from >= 0) {
        nodes[index_of(from)].erase(node);
        count[index_of(from)] -= 1;
    }
    if (to < 0) return;
    if (index_of(to) >= nodes.size()) {
        nodes.resize(index_of(to) + 1);
        count.resize(index_of(to) + 1);
    }
    nodes[index_of(to)].insert(node);
    count[index_of(to)] += 1;
}

std::int64_t Buckets::fitting(std::int64_t size) const {
    std::int64_t sum = 0;
    for (std::size_t g = static_cast<std::size_t>(size); g < count.size(); ++g) {
        sum += count[g] * (static_cast<std::int64_t>(g) / size);
    }
    return sum;
}

std::int64_t Buckets::free_devices() const {
    return fitting(1);
}

void Capacity::clear() {
    *this = Capacity(*names_);
}

bool Capacity::put(int name, const NodeFacts& facts, const Owners& owners, int shared_pool) {
    const int position = find(name);
    if (position >= 0 && node(position).id != facts.id) return false;
    if (position < 0 && !nodes_.empty() && nodes_.back().id >= facts.id) return false;
    append(name, facts, owners, shared_pool);
    return true;
}

void Capacity::append(int name, const NodeFacts& facts, const Owners& owners, int shared_pool) {
    int position = find(name);
    if (position < 0) {
        position = static_cast<int>(nodes_.size());
        nodes_.push_back({.name = name, .id = facts.id});
        if (static_cast<std::size_t>(name) >= by_name_.size())
            by_name_.resize(static_cast<std::size_t>(name) + 1, -1);
        by_name_[static_cast<std::size_t>(name)] = position;
    } else {
        enlist(position, false);
    }
    NodeState& node = nodes_[static_cast<std::size_t>(position)];
    node.present = true;
    node.usable = facts.ready && !facts.unschedulable;
    node.cpu = {.total = facts.cpu_milli};
    node.memory = {.total = facts.memory_bytes};
    make_cells(node, facts, owners, shared_pool);
    enlist(position, true);
}

void Capacity::remove(int name) {
    const int position = find(name);
    if (position < 0) return;
    enlist(position, false);
    NodeState& node = nodes_[static_cast<std::size_t>(position)];
    node = {.name = name, .id = node.id};
    by_name_[static_cast<std::size_t>(name)] = -1;  // its position stays empty, so that order stays
}

void Capacity::make_cells(NodeState& node, const NodeFacts& facts, const Owners& owners,
                          int shared_pool) {
    node.devices.clear();
    node.cells.clear();
    for (const DeviceFacts& device : facts.devices) {
        const auto held = owners.find({node.name, device.index});
        const int owner = held == owners.end() ? shared_pool : held->second;
        Dev dev{.index = device.index,
                .flavor = device.flavor,
                .owner = owner,
                .healthy = device.healthy,
                .memory = device.memory_bytes};
        if (owner != no_name) {
            const int domain = need_domain(owner, device.flavor);
            const auto cell = std::ranges::find(node.cells, domain, &Cell::domain);
            dev.cell = static_cast<int>(cell - node.cells.begin());
            if (cell == node.cells.end()) node.cells.push_back({.domain = domain});
            if (dev.healthy) node.cells[static_cast<std::size_t>(dev.cell)].devices += 1;
            count_device(node.cells[static_cast<std::size_t>(dev.cell)], dev, 1);
        }
        node.devices.push_back(dev);
    }
}

void Capacity::enlist(int position, bool in) {
    NodeState& node = nodes_[static_cast<std::size_t>(position)];
    if (!node.usable) return;
    if (in && node.cells.empty()) bare_.insert(position);
    if (!in) bare_.erase(position);
    for (Cell& cell : node.cells) {
        Domain& domain = domains_[static_cast<std::size_t>(cell.domain)];
        domain.rooms.touch(position);
        for (std::size_t view = 0; view < histogram_count; ++view) {
            domain.whole[view].move(position, in ? -1 : cell.whole[view],
                                    in ? cell.whole[view] : -1);
        }
        if (in && cell.devices > 0) domain.nodes.insert(position);
        if (!in) domain.nodes.erase(position);
        if (in && cell.partial > 0) domain.partial.insert(position);
        if (!in) domain.partial.erase(position);
    }
}

void Capacity::settle(int position, Cell& cell, const Cell& before) {
    Domain& domain = domains_[static_cast<std::size_t>(cell.domain)];
    for (std::size_t view = 0; view < histogram_count; ++view) {
        if (cell.whole[view] != before.whole[view])
            domain.whole[view].move(position, before.whole[view], cell.whole[view]);
    }
    if ((cell.partial > 0) == (before.partial > 0)) return;
    if (cell.partial > 0)
        domain.partial.insert(position);
    else
        domain.partial.erase(position);
}

void Capacity::change_device(Dev& device, const Slot& slot, const Share& share, int sign) {
    const auto milli = static_cast<std::int32_t>(share.milli * sign);
    if (share.memory_bytes > 0) change_memory(device, slot, share, sign);
    if (slot.kind == EntryKind::allocation) {
        device.occupied += milli;
        if (slot.leaving) device.leaving += milli;
    } else if (!slot.leaving) {
        device.claimed += milli;
    } else {
        return;  // a claim that was given up has nothing
    }
    std::int32_t& sharers = slot.leaving ? device.leavers : device.stayers;
    int& project = slot.leaving ? device.leave_project : device.stay_project;
    sharers += sign;
    if (slot.pinned && !slot.leaving) device.pinned += sign;
    project = sharers == 0 ? no_name : slot.project;
}

void Capacity::change_memory(Dev& device, const Slot& slot, [[maybe_unused]] const Share& share,
                             int sign) {
#if defined(TANDEM_PLANT_DEVICE_MEMORY)
    const std::int64_t beyond = 0;
#else
    const std::int64_t beyond =
        (share.memory_bytes * 1000 - share.milli * device.memory) * sign;
#endif
    if (slot.kind == EntryKind::allocation) {
        device.beyond_occupied += beyond;
        if (slot.leaving) device.beyond_leaving += beyond;
    } else if (!slot.leaving) {
        device.beyond_claimed += beyond;
    } else {
        return;
    }
    device.odd += sign;
}

void Capacity::change(const Slot& slot, int sign) {
    const int position = find(slot.node);
    if (position < 0) return;
    NodeState& node = nodes_[static_cast<std::size_t>(position)];
    change_amount(node.cpu, slot.cpu_milli, slot, sign);
    change_amount(node.memory, slot.memory_bytes, slot, sign);
    for (const Cell& cell : node.cells)
        domains_[static_cast<std::size_t>(cell.domain)].rooms.touch(position);
    int open = -1;  // cell whose change is not yet settled
    Cell before{};
    for (const Share& share : slot.shares) {
        Dev* device = find_device(node, share.device);
        if (device == nullptr) continue;
        if (device->cell >= 0 && device->cell != open) {
            if (open >= 0 && node.usable)
                settle(position, node.cells[static_cast<std::size_t>(open)], before);
            open = device->cell;
            before = node.cells[static_cast<std::size_t>(open)];
        }
        if (device->cell < 0) {
            change_device(*device, slot, share, sign);
            continue;
        }
        Cell& cell = node.cells[static_cast<std::size_t>(device->cell)];
        count_device(cell, *device, -1);
        change_device(*device, slot, share, sign);
        count_device(cell, *device, 1);
    }
    if (open >= 0 && node.usable)
        settle(position, node.cells[static_cast<std::size_t>(open)], before);
}

Rooms& Capacity::rooms_of(int index) {
    Rooms& rooms = domains_[static_cast<std::size_t>(index)].rooms;
    for (int position : rooms.changed()) {
        const NodeState& node = nodes_[static_cast<std::size_t>(position)];
        if (!node.usable || std::ranges::find(node.cells, index, &Cell::domain) == node.cells.end()) {
            rooms.drop(position);
            continue;
        }
        fill_key(node, index);
        rooms.put(position, key_);
    }
    rooms.settled();
    return rooms;
}

// A device that somebody leaves to another project, or that nobody may take now, has nothing left.
void Capacity::fill_key(const NodeState& node, int domain) {
    order_.clear();
    for (const Dev& device : node.devices) {
        if (device.cell < 0 || node.cells[static_cast<std::size_t>(device.cell)].domain != domain)
            continue;
        if (is_whole(device, View::now)) {
            order_.emplace_back(1000, no_name);
            continue;
        }
        const bool open = device.healthy && device.stayers > 0 &&
                          (device.leavers == 0 || device.leave_project == device.stay_project);
        const std::int32_t left = open ? device.free(View::now) : 0;
        order_.emplace_back(left, left > 0 ? device.stay_project : no_name);
    }
    std::ranges::sort(order_, std::ranges::greater{});
    key_.cpu_left = node.cpu.free(View::now);
    key_.left.clear();
    key_.projects.clear();
    for (const auto& [left, project] : order_) {
        key_.left.push_back(left);
        key_.projects.push_back(project);
    }
}

Dev* Capacity::find_device(NodeState& node, std::int64_t index) {
    const auto guess = static_cast<std::size_t>(index);
    if (guess < node.devices.size() && node.devices[guess].index == index)
        return &node.devices[guess];
    const auto found = std::ranges::find(node.devices, index, &Dev::index);
    return found == node.devices.end() ? nullptr : &*found;
}

const Dev* Capacity::find_device(const NodeState& node, std::int64_t index) {
    return find_device(const_cast<NodeState&>(node), index);  // the search itself changes nothing
}

int Capacity::find_domain(int pool, int flavor) const {
    const auto found = by_pool_flavor_.find({pool, flavor});
    return found == by_pool_flavor_.end() ? -1 : found->second;
}

const std::vector<int>& Capacity::domains_of(int pool) const {
    const auto found = by_pool_.find(pool);
    return found == by_pool_.end() ? none_ : found->second;
}

int Capacity::need_domain(int pool, int flavor) {
    const auto [entry, added] =
        by_pool_flavor_.try_emplace({pool, flavor}, static_cast<int>(domains_.size()));
    if (added) {
        domains_.push_back({.pool = pool, .flavor = flavor});
        std::vector<int>& list = by_pool_[pool];
        const auto before = [this](int index, const std::string& text) {
            return names_->text(domains_[static_cast<std::size_t>(index)].flavor) < text;
        };
        list.insert(std::lower_bound(list.begin(), list.end(), names_->text(flavor), before),
                    entry->second);
    }
    return entry->second;
}

}  // namespace tandem::sched

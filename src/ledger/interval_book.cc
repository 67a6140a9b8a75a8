// SPDX-License-Identifier: Apache-2.0
#include "ledger/interval_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/boxed.h"
#include "base/digest.h"
#include "base/undo_map.h"

namespace tandem::ledger {
namespace {

using model::LedgerState;
using model::UsageRecord;

constexpr std::int64_t whole_device = 1000;

// One device: who has what of it, and what nobody has.
struct DeviceRow {
    std::string flavor{};
    std::string owner{};
    LedgerState idle_state = LedgerState::idle;
    std::map<RowId, UsageRecord> shares{};
    Boxed<UsageRecord> idle{};  // most of the time a device is held

    std::int64_t occupied() const {
        std::int64_t milli = 0;
        for (const auto& [id, share] : shares) milli += share.milli;
        return milli;
    }
};

void attribute(UsageRecord& row, const Attribution& who) {
    row.pool = who.pool;
    row.queue = who.queue;
    row.project = who.project;
    row.name_space = who.name_space;
    row.owner_kind = who.owner_kind;
    row.owner_name = who.owner_name;
    row.owner_uid = who.owner_uid;
    row.replica = who.replica;
    row.epoch = who.epoch;
}

Attribution attribution_of(const UsageRecord& row) {
    return {row.pool,       row.queue,     row.project, row.name_space, row.owner_kind,
            row.owner_name, row.owner_uid, row.replica, row.epoch};
}

void add_to(Digest& digest, const UsageRecord& row) {
    digest.add(row.id.value);
    digest.add(static_cast<std::int64_t>(row.state));
    digest.add(row.from.ms);
    digest.add(row.milli);
    digest.add(row.node);
    digest.add(row.device);
    digest.add(row.pool);
    digest.add(row.replica);
}

// Open intervals of a device by id.
std::map<RowId, const UsageRecord*> open_of(const DeviceRow* device) {
    std::map<RowId, const UsageRecord*> open;
    if (!device) return open;
    for (const auto& [id, share] : device->shares) open[share.id] = &share;
    if (device->idle) open[device->idle->id] = &*device->idle;
    return open;
}

}  // namespace

struct IntervalBook::Inside {
    explicit Inside(std::int64_t& ids) : next_id(ids) {}

    struct Mark {
        std::size_t devices = 0, waiting = 0, closed = 0;
    };

    std::int64_t& next_id;
    UndoMap<DeviceSlot, DeviceRow> devices{};
    UndoMap<RowId, UsageRecord> waiting{};
    std::vector<UsageRecord> closed{};
    std::vector<Mark> marks{};

    RowId fresh_id() { return RowId{next_id++}; }

    void close(UsageRecord row, Instant to) {
        TANDEM_ASSERT(row.from <= to, "an interval must not end before it begins");
        row.to = to;
        if (row.from < row.to) closed.push_back(std::move(row));
    }
    // A later piece of the same interval, as a row of its own.
    void close_piece(UsageRecord row, Instant from, Instant to, LedgerState state) {
        if (from == to) return;
        row.id = fresh_id();
        row.from = from;
        row.state = state;
        close(std::move(row), to);
    }
    void settle_idle(const DeviceSlot& slot, DeviceRow& device, Instant now);
};

// The idle interval is exactly what the shares leave over, in the owner's name.
void IntervalBook::Inside::settle_idle(const DeviceSlot& slot, DeviceRow& device, Instant now) {
    const std::int64_t rest = whole_device - device.occupied();
    TANDEM_ASSERT(rest >= 0, "a device must not be occupied beyond itself");
    const bool same = device.idle && device.idle->milli == rest &&
                      device.idle->pool == device.owner && device.idle->state == device.idle_state;
    if (same || (!device.idle && rest == 0)) return;
    if (device.idle) close(*device.idle, now);
    device.idle.reset();
    if (rest == 0) return;
    UsageRecord row;
    row.id = fresh_id();
    row.state = device.idle_state;
    row.from = now;
    row.milli = rest;
    row.node = slot.node;
    row.device = slot.device;
    row.flavor = device.flavor;
    row.pool = device.owner;
    device.idle = std::move(row);
}

IntervalBook::IntervalBook(std::int64_t& next_id) : inside_(std::make_unique<Inside>(next_id)) {}
IntervalBook::~IntervalBook() = default;

void IntervalBook::restore(const UsageRecord& open, RowId holder) {
    if (open.device < 0) {
        inside_->waiting.restore(holder, open);
        return;
    }
    const DeviceSlot slot{open.node, open.device};
    if (!inside_->devices.find(slot))
        inside_->devices.restore(slot, DeviceRow{.flavor = open.flavor});
    DeviceRow& device = inside_->devices.edit(slot);
    if (open.owner_kind.empty()) {
        device.owner = open.pool;
        device.idle_state = open.state;
        device.idle = open;
    } else {
        device.shares[holder] = open;
    }
    inside_->devices.forget();
}

void IntervalBook::add_device(const DeviceSlot& slot, const std::string& flavor,
                              const std::string& pool, Instant now) {
    DeviceRow& device = inside_->devices.insert(slot, DeviceRow{.flavor = flavor, .owner = pool});
    inside_->settle_idle(slot, device, now);
}

void IntervalBook::remove_device(const DeviceSlot& slot, Instant now) {
    const DeviceRow& device = inside_->devices.get(slot);
    TANDEM_ASSERT(device.shares.empty(), "a device with a holder can't go");
    if (device.idle) inside_->close(*device.idle, now);
    inside_->devices.erase(slot);
}

void IntervalBook::set_owner(const DeviceSlot& slot, const std::string& pool,
                             LedgerState idle_state, Instant now) {
    const DeviceRow& known = inside_->devices.get(slot);
    if (known.owner == pool && known.idle_state == idle_state) return;
    DeviceRow& device = inside_->devices.edit(slot);
    device.owner = pool;
    device.idle_state = idle_state;
    inside_->settle_idle(slot, device, now);
}

bool IntervalBook::has_device(const DeviceSlot& slot) const {
    return inside_->devices.find(slot) != nullptr;
}

void IntervalBook::occupy(const DeviceSlot& slot, RowId id, std::int64_t milli, LedgerState state,
                          const Attribution& who, Instant now, std::optional<Instant> since) {
    const DeviceRow& known = inside_->devices.get(slot);
    const auto share = known.shares.find(id);
    const bool same = share != known.shares.end() && share->second.state == state &&
                      share->second.milli == milli && attribution_of(share->second) == who;
    if (same) return;
    const bool turns = share != known.shares.end() && share->second.milli == milli;
    const Instant from = turns ? std::clamp(since.value_or(now), share->second.from, now) : now;
    if (share != known.shares.end()) inside_->close(share->second, from);
    DeviceRow& device = inside_->devices.edit(slot);
    UsageRecord row;
    row.id = inside_->fresh_id();
    row.state = state;
    row.from = from;
    row.milli = milli;
    row.node = slot.node;
    row.device = slot.device;
    row.flavor = device.flavor;
    attribute(row, who);
    device.shares[id] = std::move(row);
    inside_->settle_idle(slot, device, now);
}

void IntervalBook::release(const DeviceSlot& slot, RowId id, const Closing& closing, Instant now) {
    const DeviceRow& known = inside_->devices.get(slot);
    const auto found = known.shares.find(id);
    if (found == known.shares.end()) return;
    const UsageRecord share = found->second;
    const Instant ended = std::clamp(closing.ended_at.value_or(now), share.from, now);
    const bool ran_unseen = share.state == LedgerState::held && closing.ran_from.has_value();
    const Instant began =
        ran_unseen ? std::clamp(*closing.ran_from, share.from, ended) : share.from;
    const bool loses =
        (ran_unseen || share.state == LedgerState::running) && closing.safe_at.has_value();
    const Instant safe = loses ? std::clamp(*closing.safe_at, began, ended) : ended;
    inside_->close(share, ran_unseen ? began : safe);
    if (ran_unseen) inside_->close_piece(share, began, safe, LedgerState::running);
    inside_->close_piece(share, safe, ended, closing.lost);
    UsageRecord after = share;
    after.server_absent = closing.server_absent;
    inside_->close_piece(after, ended, now, LedgerState::idle_allocated);
    DeviceRow& device = inside_->devices.edit(slot);
    device.shares.erase(id);
#if !defined(TANDEM_PLANT_IDLE_INTERVALS)
    inside_->settle_idle(slot, device, now);
#endif
}

void IntervalBook::queue(RowId id, std::int64_t milli, LedgerState state, const Attribution& who,
                         Instant now) {
    TANDEM_ASSERT(model::is_waiting(state), "what waits has no device");
    const UsageRecord* known = inside_->waiting.find(id);
    if (known && known->milli == milli && known->state == state && attribution_of(*known) == who)
        return;
    if (known) inside_->close(*known, now);
    UsageRecord row;
    row.id = inside_->fresh_id();
    row.state = state;
    row.from = now;
    row.milli = milli;
    attribute(row, who);
    inside_->waiting.put(id, std::move(row));
}

void IntervalBook::dequeue(RowId id, Instant now) {
    const UsageRecord* known = inside_->waiting.find(id);
    if (!known) return;
    inside_->close(*known, now);
    inside_->waiting.erase(id);
}

BookChanges IntervalBook::drain() {
    BookChanges changes{
        .closed = std::exchange(inside_->closed, {}), .open_put = {}, .open_gone = {}};
    const auto compare = [&](const std::map<RowId, const UsageRecord*>& before,
                             const std::map<RowId, const UsageRecord*>& now) {
        for (const auto& [id, row] : now)
            if (!before.contains(id)) changes.open_put.push_back(*row);
        for (const auto& [id, row] : before)
            if (!now.contains(id)) changes.open_gone.push_back(id);
    };
    inside_->devices.each_touched(
        [&](const DeviceSlot&, const DeviceRow* before, const DeviceRow* now) {
            compare(open_of(before), open_of(now));
        });
    inside_->waiting.each_touched([&](RowId, const UsageRecord* before, const UsageRecord* now) {
        std::map<RowId, const UsageRecord*> was, is;
        if (before) was[before->id] = before;
        if (now) is[now->id] = now;
        compare(was, is);
    });
    return changes;
}

std::size_t IntervalBook::mark() {
    inside_->marks.push_back(
        {inside_->devices.mark(), inside_->waiting.mark(), inside_->closed.size()});
    return inside_->marks.size() - 1;
}

void IntervalBook::rollback(std::size_t mark) {
    const Inside::Mark& to = inside_->marks.at(mark);
    inside_->devices.rollback(to.devices);
    inside_->waiting.rollback(to.waiting);
    inside_->closed.resize(std::min(to.closed, inside_->closed.size()));
    inside_->marks.resize(mark);
}

void IntervalBook::forget() {
    inside_->devices.forget();
    inside_->waiting.forget();
    inside_->marks.clear();
}

std::uint64_t IntervalBook::digest() const {
    Digest digest;
    for (const auto& [slot, device] : inside_->devices.rows()) {
        digest.add(slot.node);
        digest.add(slot.device);
        for (const auto& [id, share] : device.shares) add_to(digest, share);
        if (device.idle) add_to(digest, *device.idle);
    }
    for (const auto& [id, row] : inside_->waiting.rows()) add_to(digest, row);
    return digest.value();
}

std::string IntervalBook::check() const {
    for (const auto& [slot, device] : inside_->devices.rows()) {
        const std::int64_t idle = device.idle ? device.idle->milli : 0;
        const std::int64_t sum = device.occupied() + idle;
        if (sum != whole_device)
            return fmt::format("device {}/{}: open intervals sum to {} milli, not {}", slot.node,
                               slot.device, sum, whole_device);
        if (device.idle && idle == 0)
            return fmt::format("device {}/{}: an empty idle interval", slot.node, slot.device);
    }
    return {};
}

}  // namespace tandem::ledger

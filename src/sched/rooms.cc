// SPDX-License-Identifier: Apache-2.0
#include "sched/rooms.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tandem::sched {
namespace {

constexpr std::size_t scores_kept = 2'000'000;
constexpr std::size_t rooms_few = 1024;

std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
    return (std::rotl(state, 23) ^ word) * 0x9e3779b97f4a7c15ULL;
}

}  // namespace

std::size_t Rooms::AskHash::operator()(const RoomAsk& ask) const noexcept {
    std::uint64_t state = mixed(static_cast<std::uint64_t>(ask.ask.cpu_milli),
                                static_cast<std::uint64_t>(ask.ask.devices));
    state = mixed(state, static_cast<std::uint64_t>(ask.project + 1));
    return mixed(state, static_cast<std::uint64_t>(ask.policy));
}

std::uint64_t Rooms::hash_of(const RoomKey& key) {
    std::uint64_t state = mixed(1, static_cast<std::uint64_t>(key.cpu_left));
    for (std::size_t i = 0; i < key.left.size(); ++i) {
        const auto project = static_cast<std::uint64_t>(key.projects[i] + 1);
        state = mixed(state, static_cast<std::uint64_t>(key.left[i]) << 32 | project);
    }
    return state ^ (state >> 29);
}

// The scores that were known of a room's place are told apart by its serial.
int Rooms::need(RoomKey& key) {
    const std::uint64_t hash = hash_of(key);
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto at = first; at != last; ++at) {
        if (rooms_[static_cast<std::size_t>(at->second)].key == key) return at->second;
    }
    if (free_.empty() && rooms_.size() >= kept_max_) purge();
    if (free_.empty()) {
        free_.push_back(static_cast<int>(rooms_.size()));
        rooms_.emplace_back();
    }
    const int index = free_.back();
    free_.pop_back();
    Room& room = rooms_[static_cast<std::size_t>(index)];
    std::swap(room.key, key);
    room.hash = hash;
    room.serial = next_serial_++;
    room.shut = std::ranges::all_of(room.key.left, [](std::int32_t milli) { return milli == 0; });
    by_hash_.emplace(hash, index);
    return index;
}

// Rooms without a node stay for their scores until there are twice as many as are in use.
void Rooms::purge() {
    std::erase_if(by_hash_, [this](const auto& entry) {
        const bool unused = rooms_[static_cast<std::size_t>(entry.second)].count == 0;
        if (unused) free_.push_back(entry.second);
        return unused;
    });
    std::ranges::sort(free_, std::ranges::greater{});
    kept_max_ = rooms_few + 2 * (live_.size() + shut_.size());
}

void Rooms::put(int position, RoomKey& key) {
    const auto at = static_cast<std::size_t>(position);
    stale_[at] = false;
    const int before = room_of_[at];
    if (before >= 0 && rooms_[static_cast<std::size_t>(before)].key == key) return;
    const int after = need(key);
    if (before >= 0) leave(before, position);
    Room& room = rooms_[static_cast<std::size_t>(after)];
    room.nodes.insert(position);
    room.count += 1;
    room_of_[at] = after;
    if (room.count > 1) return;
    std::vector<int>& list = list_of(room);
    room.listed_at = static_cast<int>(list.size());
    list.push_back(after);
}

void Rooms::drop(int position) {
    const auto at = static_cast<std::size_t>(position);
    stale_[at] = false;
    if (room_of_[at] >= 0) leave(room_of_[at], position);
    room_of_[at] = -1;
}

void Rooms::leave(int index, int position) {
    Room& room = rooms_[static_cast<std::size_t>(index)];
    room.nodes.erase(position);
    room.count -= 1;
    if (room.count > 0) return;
    std::vector<int>& list = list_of(room);
    rooms_[static_cast<std::size_t>(list.back())].listed_at = room.listed_at;
    list[static_cast<std::size_t>(room.listed_at)] = list.back();
    list.pop_back();
}

Rooms::Known Rooms::judge(const Room& room, const RoomAsk& ask, const FlavorMix& mix) {
    Known known{.serial = room.serial};
    const NodeRoom node{.cpu_left = room.key.cpu_left, .left = room.key.left};
    if (!has_room(node, ask.ask)) return known;
    std::array<bool, 64> usable{};
    const std::size_t size = std::min(room.key.left.size(), usable.size());
    if (ask.ask.is_share()) {
        for (std::size_t i = 0; i < size; ++i) {
            const bool open = room.key.left[i] == 1000 || room.key.projects[i] == ask.project;
            usable[i] = open && room.key.left[i] >= ask.ask.devices;
            known.has_room = known.has_room || usable[i];
        }
        if (!known.has_room) return known;
    }
    const auto few = ask.ask.is_share() ? std::span<const bool>(usable).first(size)
                                        : std::span<const bool>{};
    NodeRoom seen = node;
    if (ask.ask.is_share()) seen.left = node.left.first(size);
    const Scored scored = ask.policy == Policy::fgd ? fgd_score(seen, ask.ask, mix, few)
                                                    : tandem_score(seen, ask.ask, mix, few);
    known.has_room = true;
    known.score = scored.score;
    if (scored.device >= 0)
        known.device_left = room.key.left[static_cast<std::size_t>(scored.device)];
    return known;
}

RoomChoice Rooms::choose(const RoomAsk& ask, const FlavorMix& mix, const NodeBitmap* within,
                         const Fits& fits, std::int64_t& steps) {
    const bool is_new = !known_.contains(ask);
    if (is_new && (known_.size() + 1) * rooms_.size() > scores_kept) known_.clear();
    std::vector<Known>& known = known_[ask];
    if (known.size() < rooms_.size()) known.resize(rooms_.size());
    Search search{ask, mix, within, fits, steps};
    look(live_, known, search);
    if (ask.ask.devices == 0) look(shut_, known, search);
    return search.best;
}

void Rooms::look(const std::vector<int>& list, std::vector<Known>& known, Search& search) const {
    RoomChoice& best = search.best;
    search.steps += 1 + static_cast<std::int64_t>(list.size() / 64);
    for (int index : list) {
        const Room& room = rooms_[static_cast<std::size_t>(index)];
        Known& here = known[static_cast<std::size_t>(index)];
        if (here.serial != room.serial) here = judge(room, search.ask, search.mix);
        if (!here.has_room || here.score < best.score) continue;
        const int end = best.node >= 0 && here.score == best.score
                            ? best.node
                            : std::numeric_limits<int>::max();
        int node = first_in(room.nodes, search.within, 0);
        while (node >= 0 && node < end && !search.fits(node)) {
            node = first_in(room.nodes, search.within, node + 1);
            search.steps += 1;
        }
        if (node >= 0 && node < end) best = {node, here.score, here.device_left};
    }
}

}  // namespace tandem::sched

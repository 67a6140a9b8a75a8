// SPDX-License-Identifier: Apache-2.0
// Rooms: the nodes of one domain grouped by what a placement policy can tell apart (free CPU, and
// what is free on each device and for whom), so that a policy scores each distinct state once for
// each kind of request, however many nodes are in it. Follows the view `now`.
//
// Nodes that changed are noted in touch() at no cost, and looked at when somebody asks. Scores are
// kept until the mix changes. Thread rule: one owner. Inside of sched only.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>
#include <vector>

#include "sched/node_bitmap.h"
#include "sched/policy.h"

namespace tandem::sched {

// What is free in a domain on one node, largest devices first.
struct RoomKey {
    std::int64_t cpu_left = 0;
    std::vector<std::int32_t> left{};
    std::vector<int> projects{};  // of a device in use, beside `left`; no_name: free whole or shut
    bool operator==(const RoomKey&) const = default;
};

struct RoomAsk {
    Ask ask{};
    int project = no_name;  // shares alone: a device in use takes nobody else
    Policy policy = Policy::tandem;
    bool operator==(const RoomAsk&) const = default;
};

struct RoomChoice {
    int node = -1;  // position; -1: no node has room
    std::int64_t score = std::numeric_limits<std::int64_t>::min();
    std::int32_t device_left = 0;  // shares: what the chosen device has free
};

class Rooms {
  public:
    using Fits = std::function<bool(int position)>;

    void touch(int position) {
        const auto at = static_cast<std::size_t>(position);
        if (at >= stale_.size()) {
            stale_.resize(at + 1);
            room_of_.resize(at + 1, -1);
        }
        if (stale_[at]) return;
        stale_[at] = true;
        changed_.push_back(position);
    }
    // The nodes that changed since they were last taken.
    const std::vector<int>& changed() const { return changed_; }
    void put(int position, RoomKey& key);  // may swap with what it keeps
    void drop(int position);
    void settled() { changed_.clear(); }

    // Best score, then lowest position; only nodes of `within` (null: all), and `fits` judges what
    // rooms don't hold. `steps` grows with the rooms looked at.
    RoomChoice choose(const RoomAsk& ask, const FlavorMix& mix, const NodeBitmap* within,
                      const Fits& fits, std::int64_t& steps);
    void forget_scores() { known_.clear(); }

  private:
    struct Room {
        RoomKey key{};
        std::uint64_t hash = 0;
        NodeBitmap nodes{};
        int count = 0;
        bool shut = false;   // no device has anything left
        int listed_at = -1;  // in live_ or shut_
        std::int64_t serial = 0;
    };
    struct Known {
        std::int64_t serial = 0;  // of the room it is about
        std::int64_t score = 0;
        std::int32_t device_left = 0;
        bool has_room = false;
    };
    struct AskHash {
        std::size_t operator()(const RoomAsk& ask) const noexcept;
    };
    static std::uint64_t hash_of(const RoomKey& key);
    struct Search {
        const RoomAsk& ask;
        const FlavorMix& mix;
        const NodeBitmap* within;
        const Fits& fits;
        std::int64_t& steps;
        RoomChoice best{};
    };
    void look(const std::vector<int>& list, std::vector<Known>& known, Search& search) const;
    static Known judge(const Room& room, const RoomAsk& ask, const FlavorMix& mix);
    int need(RoomKey& key);
    void leave(int room, int position);
    void purge();
    std::vector<int>& list_of(const Room& room) { return room.shut ? shut_ : live_; }

    std::vector<Room> rooms_{};  // also some without a node, whose scores may be of use again
    std::vector<int> free_{};
    std::vector<int> live_{};  // rooms with a node
    std::vector<int> shut_{};  // the same, for work without devices alone
    std::size_t kept_max_ = 0;
    std::unordered_multimap<std::uint64_t, int> by_hash_{};
    std::vector<int> room_of_{};  // by position
    std::vector<bool> stale_{};
    std::vector<int> changed_{};
    std::unordered_map<RoomAsk, std::vector<Known>, AskHash> known_{};  // by place in rooms_
    std::int64_t next_serial_ = 1;
};

}  // namespace tandem::sched

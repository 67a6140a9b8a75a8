// SPDX-License-Identifier: Apache-2.0
// Dispatcher: which replica takes the next request of a service, and who waits for one. A replica
// never has more in flight than its service's concurrency; the least loaded takes the next;
// draining ones take none. Requests that find no place are held in order, at most `held_max` a
// service, and given a place as soon as one is there; those of a service that its server tells
// trouble of are not held, and who is held hears it. A replica that could not be reached is
// suspect: it gets requests only while no other has room, until it answers one. Thread rule: any
// thread; one lock, held for a few lines.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "gateway/parked.h"
#include "gateway/route_table.h"
#include "model/input.h"

namespace tandem::gateway {

enum class PlaceOutcome : std::uint8_t {
    placed,
    held,       // the request is parked and will be told
    failing,    // nothing to wait for: none is ready, and starting one came to nothing
    full,       // too many are held already
    exhausted,  // every replica there is has been tried
    gone,       // no such service any more
};

struct Place {
    PlaceOutcome outcome = PlaceOutcome::gone;
    std::shared_ptr<const ReplicaRoute> replica{};
    bool suspect = false;  // it was unreachable of late: tell judge() how it goes
    std::shared_ptr<const ServiceRoute> service{};  // of failing: what is known of it
};

// What a request brings along when it looks for a place.
struct Seeker {
    const std::vector<Uid>& tried;  // replicas that it has failed at
    bool waits_for_new = false;  // they are dead, it seems: hold the request until another comes up
    // Called only when the request has to wait; must not call back.
    std::function<std::shared_ptr<Parked>()> make_parked{};
};

class Dispatcher {
  public:
    // `wake`: called without lock when a request waits for a service that has no replica.
    Dispatcher(std::int64_t held_max, std::function<void()> wake)
        : held_max_(held_max), wake_(std::move(wake)) {}

    void update(const RouteTable& table);
    Place place(const Uid& service, const Seeker& seeker);
    void judge(const Uid& service, const Uid& replica, bool reachable);
    void withdraw(const Uid& service, const Parked& parked);
    void release(const Uid& service, const Uid& replica);

    std::vector<model::ServiceLoad> loads() const;  // of services that have any

  private:
    struct Slot {
        std::shared_ptr<const ReplicaRoute> route{};
        std::int64_t in_flight = 0;
        bool suspect = false;
        bool gone = false;  // no longer in the table; ends with its last request
    };
    struct Lane {
        std::int64_t concurrency = 1;
        std::shared_ptr<const ServiceRoute> route{};
        std::vector<Slot> slots{};
        std::deque<std::shared_ptr<Parked>> held{};
        std::uint64_t turn = 0;
        bool gone = false;
    };
    static Slot* choose(Lane& lane, const std::vector<Uid>& tried);
    static Slot* choose_among(Lane& lane, const std::vector<Uid>& tried, bool suspects_too);
    static bool all_tried(const Lane& lane, const std::vector<Uid>& tried);
    static void serve_held(Lane& lane);
    static void refresh(Lane& lane, std::shared_ptr<const ServiceRoute> service);
    static bool is_failing(const Lane& lane);

    std::int64_t held_max_;
    std::function<void()> wake_;
    mutable std::mutex mutex_;
    std::map<Uid, Lane> lanes_;
};

}  // namespace tandem::gateway

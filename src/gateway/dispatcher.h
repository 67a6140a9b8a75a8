// SPDX-License-Identifier: Apache-2.0
// Dispatcher: which replica takes the next request of a service, and who waits for one. A replica never has more in
// flight than its service's concurrency; the least loaded takes the next; draining ones take none. Requests
// that find no place are held in order, at most `held_max` a service, and given a place as soon as one is there.
// Thread rule: any thread; one lock, held for a few lines.
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
    full,       // too many are held already
    exhausted,  // every replica there is has been tried
    gone,       // no such service any more
};

struct Place {
    PlaceOutcome outcome = PlaceOutcome::gone;
    std::shared_ptr<const ReplicaRoute> replica{};
};

class Dispatcher {
  public:
    // `wake`: called without lock when a request waits for a service that has no replica.
    Dispatcher(std::int64_t held_max, std::function<void()> wake)
        : held_max_(held_max), wake_(std::move(wake)) {}

    void update(const RouteTable& table);
    // `make_parked` is called only when the request has to wait; it must not call back.
    Place place(const Uid& service, const std::vector<Uid>& tried,
                const std::function<std::shared_ptr<Parked>()>& make_parked);
    void withdraw(const Uid& service, const Parked& parked);
    void release(const Uid& service, const Uid& replica);

    std::vector<model::ServiceLoad> loads() const;   // of services that have any

  private:
    struct Slot {
        std::shared_ptr<const ReplicaRoute> route{};
        std::int64_t in_flight = 0;
        bool gone = false;   // no longer in the table; ends with its last request
    };
    struct Lane {
        std::int64_t concurrency = 1;
        std::vector<Slot> slots{};
        std::deque<std::shared_ptr<Parked>> held{};
        std::uint64_t turn = 0;
        bool gone = false;
    };
    static Slot* choose(Lane& lane, const std::vector<Uid>& tried);
    static bool all_tried(const Lane& lane, const std::vector<Uid>& tried);
    static void serve_held(Lane& lane);
    static void refresh(Lane& lane, const ServiceRoute& service);

    std::int64_t held_max_;
    std::function<void()> wake_;
    mutable std::mutex mutex_;
    std::map<Uid, Lane> lanes_;
};

}  // namespace tandem::gateway

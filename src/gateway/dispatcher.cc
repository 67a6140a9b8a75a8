// SPDX-License-Identifier: Apache-2.0
#include "gateway/dispatcher.h"

#include <algorithm>

#include "serving/scale.h"

namespace tandem::gateway {
namespace {

bool contains(const std::vector<Uid>& list, const Uid& uid) {
    return std::ranges::find(list, uid) != list.end();
}

}  // namespace

bool Dispatcher::is_failing(const Lane& lane) {
    return lane.route && lane.route->facts.trouble.code != model::ReasonCode::none &&
           std::ranges::all_of(lane.slots, [](const Slot& slot) {
               return slot.gone || slot.route->facts.draining;
           });
}

void Dispatcher::refresh(Lane& lane, std::shared_ptr<const ServiceRoute> newest) {
    const ServiceRoute& service = *newest;
    lane.route = std::move(newest);
    lane.gone = false;
    lane.concurrency = std::max<std::int64_t>(1, service.facts.concurrency);
    for (auto& slot : lane.slots) slot.gone = true;
    for (const auto& route : service.replicas) {
        const auto found = std::ranges::find_if(lane.slots, [&](const Slot& slot) {
            return slot.route->facts.uid == route->facts.uid;
        });
        if (found == lane.slots.end()) {
            lane.slots.push_back({.route = route});
        } else {
            if (found->route->facts.epoch != route->facts.epoch) found->suspect = false;
            found->route = route;
            found->gone = false;
        }
    }
    std::erase_if(lane.slots, [](const Slot& slot) { return slot.gone && slot.in_flight == 0; });
}

void Dispatcher::update(const RouteTable& table) {
    const std::lock_guard lock(mutex_);
    for (auto& [uid, lane] : lanes_) {
        if (table.services().contains(uid)) continue;
        lane.gone = true;
        for (auto& slot : lane.slots) slot.gone = true;
        for (auto& parked : lane.held) parked->tell({.what = Told::What::service_gone});
        lane.held.clear();
    }
    std::erase_if(lanes_, [](const auto& entry) {
        return entry.second.gone && std::ranges::all_of(entry.second.slots, [](const Slot& slot) {
                   return slot.in_flight == 0;
               });
    });
    for (const auto& [uid, service] : table.services()) {
        Lane& lane = lanes_[uid];
        refresh(lane, service);
        serve_held(lane);
        if (!is_failing(lane)) continue;
        for (auto& parked : lane.held)
            parked->tell({.what = Told::What::service_failing, .service = service});
        lane.held.clear();
    }
}

Dispatcher::Slot* Dispatcher::choose(Lane& lane, const std::vector<Uid>& tried) {
    if (Slot* trusted = choose_among(lane, tried, false)) return trusted;
    return choose_among(lane, tried, true);
}

Dispatcher::Slot* Dispatcher::choose_among(Lane& lane, const std::vector<Uid>& tried,
                                           bool suspects_too) {
    static thread_local std::vector<serving::ReplicaLoad>
        loads;  // scratch: no allocation a request
    loads.clear();
    for (const auto& slot : lane.slots)
        loads.push_back({.in_flight = slot.in_flight,
                         .limit = lane.concurrency,
                         .draining = slot.gone || slot.route->facts.draining ||
                                     (slot.suspect && !suspects_too) ||
                                     contains(tried, slot.route->facts.uid)});
    const auto chosen = serving::choose_replica(loads, lane.turn++);
    return chosen ? &lane.slots[*chosen] : nullptr;
}

bool Dispatcher::all_tried(const Lane& lane, const std::vector<Uid>& tried) {
    return !tried.empty() && std::ranges::all_of(lane.slots, [&](const Slot& slot) {
        return slot.gone || slot.route->facts.draining || contains(tried, slot.route->facts.uid);
    });
}

Place Dispatcher::place(const Uid& service, const Seeker& seeker) {
    bool asleep = false;
    {
        const std::lock_guard lock(mutex_);
        const auto found = lanes_.find(service);
        if (found == lanes_.end() || found->second.gone) return {.outcome = PlaceOutcome::gone};
        Lane& lane = found->second;
        if (lane.held.empty()) {
            if (Slot* slot = choose(lane, seeker.tried)) {
                ++slot->in_flight;
                return {.outcome = PlaceOutcome::placed,
                        .replica = slot->route,
                        .suspect = slot->suspect};
            }
        }
        if (!seeker.waits_for_new && all_tried(lane, seeker.tried))
            return {.outcome = PlaceOutcome::exhausted};
        if (is_failing(lane)) return {.outcome = PlaceOutcome::failing, .service = lane.route};
        if (static_cast<std::int64_t>(lane.held.size()) >= held_max_)
            return {.outcome = PlaceOutcome::full};
        asleep = lane.slots.empty();
        lane.held.push_back(seeker.make_parked());
    }
    if (asleep) wake_();
    return {.outcome = PlaceOutcome::held};
}

void Dispatcher::judge(const Uid& service, const Uid& replica, bool reachable) {
    const std::lock_guard lock(mutex_);
    const auto found = lanes_.find(service);
    if (found == lanes_.end()) return;
    for (auto& slot : found->second.slots)
        if (slot.route->facts.uid == replica) slot.suspect = !reachable;
}

void Dispatcher::withdraw(const Uid& service, const Parked& parked) {
    const std::lock_guard lock(mutex_);
    const auto found = lanes_.find(service);
    if (found == lanes_.end()) return;
    std::erase_if(found->second.held, [&](const auto& entry) { return entry.get() == &parked; });
}

void Dispatcher::release(const Uid& service, const Uid& replica) {
    const std::lock_guard lock(mutex_);
    const auto found = lanes_.find(service);
    if (found == lanes_.end()) return;
    Lane& lane = found->second;
    const auto slot = std::ranges::find_if(
        lane.slots, [&](const Slot& entry) { return entry.route->facts.uid == replica; });
    if (slot == lane.slots.end()) return;
    if (slot->in_flight > 0) --slot->in_flight;
    if (slot->gone && slot->in_flight == 0) lane.slots.erase(slot);
    if (!lane.held.empty()) serve_held(lane);
}

void Dispatcher::serve_held(Lane& lane) {
    // In order; one that has tried what is free lets the next one pass.
    for (auto it = lane.held.begin(); it != lane.held.end();) {
        Slot* slot = choose(lane, (*it)->tried());
        if (!slot) {
            if ((*it)->tried().empty()) return;
            ++it;
            continue;
        }
        ++slot->in_flight;
        (*it)->tell({.what = Told::What::replica, .replica = slot->route});
        it = lane.held.erase(it);
    }
}

std::vector<model::ServiceLoad> Dispatcher::loads() const {
    const std::lock_guard lock(mutex_);
    std::vector<model::ServiceLoad> result;
    for (const auto& [uid, lane] : lanes_) {
        model::ServiceLoad load{.service = uid,
                                .waiting = static_cast<std::int64_t>(lane.held.size())};
        for (const auto& slot : lane.slots) load.in_flight += slot.in_flight;
        if (load.waiting || load.in_flight) result.push_back(load);
    }
    return result;
}

}  // namespace tandem::gateway

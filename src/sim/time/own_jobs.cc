// SPDX-License-Identifier: Apache-2.0
#include "sim/time/own_jobs.h"

#include <iterator>
#include <set>
#include <utility>

#include "sched/order.h"
#include "sim/time/play.h"

namespace tandem::sim {
namespace {

using sched::Standing;

constexpr Micros second = 1'000'000;

struct Seat {
    std::size_t node = 0;
    std::int64_t devices = 0;
    bool operator==(const Seat&) const = default;
};

// Devices by node; who sits stays. A job inside one node takes the fullest that has room.
class Seats {
  public:
    explicit Seats(const TrainingCluster& cluster)
        : each_(cluster.devices),
          left_(cluster.total()),
          free_(static_cast<std::size_t>(cluster.nodes), cluster.devices) {}

    std::int64_t left() const { return left_; }
    bool holds() const {  // nobody sits where somebody else does
        return std::ranges::all_of(free_, [](std::int64_t free) { return free >= 0; });
    }
    std::vector<Seat> find(std::int64_t devices) const {
        std::vector<Seat> seats;
        std::int64_t rest = devices;
        for (std::size_t node = 0; node < free_.size() && rest >= each_; ++node) {
            if (free_[node] < each_) continue;
            seats.push_back({node, each_});
            rest -= each_;
        }
        if (rest >= each_) return {};
        if (rest == 0) return seats;
        const std::size_t best = find_fullest(rest, seats);
        if (best == free_.size()) return {};
        seats.push_back({best, rest});
        return seats;
    }
    void take(const std::vector<Seat>& seats) { change(seats, -1); }
    void give(const std::vector<Seat>& seats) { change(seats, 1); }

  private:
    std::size_t find_fullest(std::int64_t devices, const std::vector<Seat>& taken) const {
        std::size_t best = free_.size();
        for (std::size_t node = 0; node < free_.size(); ++node) {
            if (free_[node] < devices) continue;
            if (std::ranges::find(taken, node, &Seat::node) != taken.end()) continue;
            if (best == free_.size() || free_[node] < free_[best]) best = node;
        }
        return best;
    }
    void change(const std::vector<Seat>& seats, std::int64_t sign) {
        for (const Seat& seat : seats) {
            free_[seat.node] += sign * seat.devices;
            left_ += sign * seat.devices;
        }
    }

    std::int64_t each_;
    std::int64_t left_;
    std::vector<std::int64_t> free_{};
};

class OwnPlay {
  public:
    OwnPlay(const std::vector<TrainingJob>& jobs, const TrainingCluster& cluster, bool known)
        : play_(jobs), seats_(cluster), known_(known), seated_(jobs.size()), work_(jobs.size()) {}

    TrainingReport run() {
        while (true) {
            const Micros at =
                std::min({play_.next_arrival(), play_.next_end(), next_change_of_tier()});
            if (at == never) return play_.finish();
            play_.go_to(
                at, [this](Trainee* gone) { leave(*gone); },
                [this](Trainee* came) {
                    work_[came->index] = came;
                    waiting_.insert(standing_of(*came));
                });
            settle();
        }
    }

  private:
    Standing standing_of(const Trainee& trainee) const {
        return {.id = {static_cast<std::int64_t>(trainee.index)},
                .submitted = trainee.job->submit,
                .devices = trainee.job->devices,
                .length = known_ ? std::max<Micros>(trainee.remaining, 1) : 0,
                .attained = trainee.executed * trainee.job->devices,
                .running = trainee.running};
    }
    static std::size_t spot(const Standing& work) {
        return static_cast<std::size_t>(work.id.value);
    }
    void leave(const Trainee& trainee) {
        seats_.give(seated_[trainee.index]);
        running_.erase(trainee.index);
    }
    // Matters to those who wait alone.
    Micros next_change_of_tier() const {
        if (known_ || waiting_.empty()) return never;
        Micros first = never;
        for (std::size_t index : running_) {
            const Trainee& trainee = *work_[index];
            const Micros devices = trainee.job->devices;
            const Micros end =
                sched::tier_end(sched::tier_of(trainee.executed * devices, second), second);
            if (end == sched::no_end) continue;
            first = std::min(first, play_.now + (end + devices - 1) / devices - trainee.executed);
        }
        return first;
    }

    void settle() {
        std::vector<Standing> holders;
        for (std::size_t index : running_) holders.push_back(standing_of(*work_[index]));
        std::ranges::sort(holders, order_);
        std::set<std::int64_t> refused;  // sizes that have no place, as long as nobody leaves
        for (auto next = waiting_.begin(); next != waiting_.end();) {
            const Standing work = *next;
            const bool may_evict = !holders.empty() && order_.may_evict(work, holders.back());
            if (seats_.left() == 0 && !may_evict) break;
            if (refused.contains(work.devices) && !may_evict) {
                ++next;
                continue;
            }
            const std::vector<Standing> victims = make_room(work, holders);
            if (victims.empty() && seats_.find(work.devices).empty()) {
                if (rearrange(work, holders)) {
                    refused.clear();
                    next = waiting_.erase(next);
                    continue;
                }
                refused.insert(work.devices);
                ++next;
                continue;
            }
            for (const Standing& victim : victims) evict(victim, holders);
            if (!victims.empty()) refused.clear();
            seat(work, holders);
            next = waiting_.erase(next);
        }
    }
    // Whom to evict so that the work fits, latest in the order first; empty: nobody need be, or it
    // would not help.
    std::vector<Standing> make_room(const Standing& work, const std::vector<Standing>& holders) {
        if (!seats_.find(work.devices).empty()) return {};
        std::vector<Standing> victims;
        Seats after = seats_;
        for (auto holder = holders.rbegin(); holder != holders.rend(); ++holder) {
            if (!order_.may_evict(work, *holder)) return {};
            victims.push_back(*holder);
            after.give(seated_[spot(*holder)]);
            if (after.find(work.devices).empty()) continue;
            std::erase_if(victims, [&](const Standing& victim) {
                Seats without = after;
                without.take(seated_[spot(victim)]);
                if (!without.holds() || without.find(work.devices).empty()) return false;
                after = without;
                return true;
            });
            return victims;
        }
        return {};
    }
    // Devices enough, but in pieces: those before it in the order are seated anew together with the
    // work, the largest first, and the rest where there is room. Who moves restarts as if evicted.
    bool rearrange(const Standing& work, std::vector<Standing>& holders) {
        std::vector<Standing> first{work};
        std::vector<Standing> rest;
        for (const Standing& holder : holders)
            (order_.may_evict(work, holder) ? rest : first).push_back(holder);
        std::int64_t wanted = 0;
        for (const Standing& each : first) wanted += each.devices;
        if (wanted > empty_.left()) return false;
        std::ranges::sort(first, [](const Standing& a, const Standing& b) {
            return std::pair(-a.devices, a.id) < std::pair(-b.devices, b.id);
        });
        Seats after = empty_;
        std::vector<std::pair<std::size_t, std::vector<Seat>>> found;
        const auto place = [&](const Standing& each) {
            std::vector<Seat> seats = after.find(each.devices);
            if (seats.empty()) return false;
            after.take(seats);
            found.emplace_back(spot(each), std::move(seats));
            return true;
        };
        if (!std::ranges::all_of(first, place)) return false;
        std::vector<Standing> victims;
        std::ranges::copy_if(rest, std::back_inserter(victims),
                             [&](const Standing& each) { return !place(each); });
        for (const Standing& victim : victims) evict(victim, holders);
        for (auto& [index, seats] : found) {
            Trainee& trainee = *work_[index];
            const bool moves = seated_[index] != seats;
            seated_[index] = std::move(seats);
            if (trainee.running && !moves) continue;
            if (trainee.running) {
                play_.evict(trainee);
                play_.run(trainee);
            } else {
                start(trainee, holders);
            }
        }
        seats_ = after;
        return true;
    }
    void seat(const Standing& work, std::vector<Standing>& holders) {
        Trainee& trainee = *work_[spot(work)];
        seated_[trainee.index] = seats_.find(work.devices);
        seats_.take(seated_[trainee.index]);
        start(trainee, holders);
    }
    void start(Trainee& trainee, std::vector<Standing>& holders) {
        running_.insert(trainee.index);
        play_.run(trainee);
        const Standing holder = standing_of(trainee);
        holders.insert(std::ranges::upper_bound(holders, holder, order_), holder);
    }
    void evict(const Standing& victim, std::vector<Standing>& holders) {
        Trainee& trainee = *work_[spot(victim)];
        leave(trainee);
        play_.evict(trainee);
        std::erase_if(holders, [&](const Standing& holder) { return holder.id == victim.id; });
        waiting_.insert(standing_of(trainee));
    }

    Play play_;
    Seats seats_;
    Seats empty_ = seats_;
    bool known_;
    sched::Order order_{sched::OrderPolicy::automatic, 0, second};
    std::vector<std::vector<Seat>> seated_;
    std::vector<Trainee*> work_;
    std::set<std::size_t> running_{};
    std::set<Standing, sched::Order> waiting_{order_};
};

}  // namespace

TrainingReport play_own_jobs(const std::vector<TrainingJob>& jobs, const TrainingCluster& cluster,
                             bool durations_known) {
    return OwnPlay(jobs, cluster, durations_known).run();
}

}  // namespace tandem::sim

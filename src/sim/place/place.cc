// SPDX-License-Identifier: Apache-2.0
#include "sim/place/place.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "sim/place/cluster.h"
#include "sim/place/planned.h"

namespace tandem::sim {
namespace {

using sched::Policy;

constexpr std::int32_t does_not_fit = -1'000'000;

// Scores of one shape on all nodes, kept up to date with what changed since it was last asked.
struct ShapeScores {
    std::vector<std::int32_t> scores{};
    std::vector<std::int16_t> devices{};
    std::size_t seen = 0;  // of the log of changes
};

// One run of a policy of the published comparison.
class Packing {
  public:
    Packing(const PlaceWorkload& work, const sched::TypicalMix& mix, Policy policy,
            std::uint64_t seed)
        : work_(work),
          policy_(policy),
          random_(Random(seed_from(seed)).fork("choices")),
          cluster_(work, mix, seed),
          scores_(work.shapes.size()),
          stamps_(work.nodes.size()) {}

    const PlaceCluster& cluster() const { return cluster_; }
    // The node's rank; -1: it fits nowhere.
    int place(const PlacePod& pod) {
        const sched::MixShape& shape = work_.shapes[static_cast<std::size_t>(pod.shape)].shape;
        ShapeScores& known = scores_[static_cast<std::size_t>(pod.shape)];
        refresh(known, shape);
        const int rank = policy_ == Policy::random ? pick_any(known, pod) : pick_best(known, pod);
        if (rank < 0) return rank;
        int device = known.devices[static_cast<std::size_t>(rank)];
        if (policy_ == Policy::random && shape.ask.is_share())
            device = pick_device(cluster_.hosts()[static_cast<std::size_t>(rank)], shape.ask);
        cluster_.take(rank, shape.ask, pod.memory_mib, device);
        log_.push_back(rank);
        return rank;
    }

  private:
    void refresh(ShapeScores& known, const sched::MixShape& shape) {
        const std::size_t nodes = work_.nodes.size();
        if (known.scores.empty()) {
            known.scores.resize(nodes);
            known.devices.resize(nodes);
            for (std::size_t rank = 0; rank < nodes; ++rank) rescore(known, shape, rank);
        } else {
            round_ += 1;
            for (std::size_t i = known.seen; i < log_.size(); ++i) {
                const auto rank = static_cast<std::size_t>(log_[i]);
                if (std::exchange(stamps_[rank], round_) != round_) rescore(known, shape, rank);
            }
        }
        known.seen = log_.size();
    }

    void rescore(ShapeScores& known, const sched::MixShape& shape, std::size_t rank) {
        const Host& host = cluster_.hosts()[rank];
        const sched::NodeRoom room = host.room();
        known.scores[rank] = does_not_fit;
        const bool may =
            shape.flavors.empty() || std::ranges::binary_search(shape.flavors, host.model);
        if (!may || !sched::has_room(room, shape.ask)) return;
        const sched::Scored scored = score(room, shape.ask, cluster_.mix_of(host));
        known.scores[rank] = static_cast<std::int32_t>(scored.score);
        known.devices[rank] = static_cast<std::int16_t>(scored.device);
    }

    sched::Scored score(const sched::NodeRoom& room, const sched::Ask& ask,
                        const sched::FlavorMix& mix) const {
        if (policy_ == Policy::fgd) return sched::fgd_score(room, ask, mix);
        const int device = ask.is_share() ? sched::tightest_device(room.left, ask.devices) : -1;
        switch (policy_) {
            case Policy::dotprod:
                return {sched::dotprod_score(room, ask), device};
            case Policy::clustering:
                return {sched::clustering_score(room, ask), device};
            case Policy::packing:
                return {sched::packing_score(room, ask), device};
            case Policy::bestfit:
                return {sched::bestfit_score(room, ask), device};
            default:
                return {0, device};
        }
    }

    int pick_best(const ShapeScores& known, const PlacePod& pod) const {
        std::int32_t best = does_not_fit;
        int chosen = -1;
        const std::vector<Host>& hosts = cluster_.hosts();
        for (std::size_t rank = 0; rank < known.scores.size(); ++rank) {
            if (known.scores[rank] <= best || hosts[rank].memory_left < pod.memory_mib) continue;
            best = known.scores[rank];
            chosen = static_cast<int>(rank);
        }
        return chosen;
    }

    int pick_any(const ShapeScores& known, const PlacePod& pod) {
        fitting_.clear();
        for (std::size_t rank = 0; rank < known.scores.size(); ++rank) {
            if (known.scores[rank] != does_not_fit &&
                cluster_.hosts()[rank].memory_left >= pod.memory_mib)
                fitting_.push_back(static_cast<int>(rank));
        }
        if (fitting_.empty()) return -1;
        const std::uint64_t drawn = random_.below(fitting_.size());
        return fitting_[static_cast<std::size_t>(drawn)];
    }

    int pick_device(const Host& host, const sched::Ask& ask) {
        std::vector<int> fitting;
        for (std::size_t i = 0; i < host.left.size(); ++i) {
            if (host.left[i] >= ask.devices) fitting.push_back(static_cast<int>(i));
        }
        const std::uint64_t drawn = random_.below(fitting.size());
        return fitting[static_cast<std::size_t>(drawn)];
    }

    const PlaceWorkload& work_;
    Policy policy_;
    Random random_;
    PlaceCluster cluster_;
    std::vector<ShapeScores> scores_;
    std::vector<int> log_{};  // ranks of nodes that changed
    std::vector<std::uint64_t> stamps_;
    std::uint64_t round_ = 0;
    std::vector<int> fitting_{};
};

}  // namespace

PlaceRun run_place(const PlaceWorkload& work, const PlaceOptions& options, std::uint64_t seed) {
    if (options.policy == Policy::tandem) return run_planned(work, options, seed);
    const sched::TypicalMix mix(work.shapes, capacity_of(work));
    Packing packing(work, mix, options.policy, seed);
    CurveBook book(work.total_milli, options.load);
    PlaceRun run;
    std::int64_t arrived = 0;
    for (int which : arrivals_of(work, seed, options.load)) {
        const PlacePod& pod = work.pods[static_cast<std::size_t>(which)];
        arrived += work.shapes[static_cast<std::size_t>(pod.shape)].shape.ask.devices;
        const int rank = packing.place(pod);
        run.placed.push_back(
            rank < 0 ? -1 : packing.cluster().hosts()[static_cast<std::size_t>(rank)].place);
        book.note(arrived, packing.cluster());
    }
    run.curves = book.close();
    return run;
}

}  // namespace tandem::sim

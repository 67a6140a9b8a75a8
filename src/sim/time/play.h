// SPDX-License-Identifier: Apache-2.0
// Play: what all policies for training jobs share: the trace in order of arrival, who is there, and
// time that goes from one happening to the next. Inside of sim/time only.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/time/training.h"

namespace tandem::sim {

inline constexpr Micros never = std::numeric_limits<Micros>::max();

class Play {
  public:
    explicit Play(const std::vector<TrainingJob>& jobs) : outcomes_(jobs.size()) {
        trainees_.resize(jobs.size());
        order_.resize(jobs.size());
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            trainees_[i] = {.job = &jobs[i], .index = i, .remaining = jobs[i].service};
            outcomes_[i] = {.id = jobs[i].id, .submit = jobs[i].submit};
        }
        std::ranges::sort(order_, {}, [&](std::size_t i) { return std::pair(jobs[i].submit, i); });
    }

    Micros now = 0;
    std::vector<Trainee*> active{};

    Micros next_arrival() const {
        return arrived_ < order_.size() ? trainees_[order_[arrived_]].job->submit : never;
    }
    Micros next_end() const {
        Micros first = never;
        for (const Trainee* trainee : active) {
            if (trainee->running) first = std::min(first, trainee->end_at(now));
        }
        return first;
    }
    // Time goes to `at`: those whose end it is leave, the others make progress, new ones enter.
    // Those who left are told to `gone` before.
    template <class Gone, class Came>
    void go_to(Micros at, Gone gone, Came came) {
        std::erase_if(active, [&](Trainee* trainee) {
            if (!trainee->running || trainee->end_at(now) != at) return false;
            outcomes_[trainee->index].end = at;
            gone(trainee);
            return true;
        });
        for (Trainee* trainee : active) advance(*trainee, at);
        now = at;
        for (; next_arrival() == at; ++arrived_) {
            Trainee& trainee = trainees_[order_[arrived_]];
            trainee.checked = at;
            active.push_back(&trainee);
            came(&trainee);
        }
    }
    void run(Trainee& trainee) {
        if (!trainee.running && outcomes_[trainee.index].start < 0)
            outcomes_[trainee.index].start = now;
        trainee.running = true;
    }
    void evict(Trainee& trainee) {
        if (trainee.running) outcomes_[trainee.index].evictions += 1;
        trainee.running = false;
    }
    TrainingReport finish() { return summarise(std::move(outcomes_)); }

  private:
    std::vector<Trainee> trainees_{};
    std::vector<TrainingOutcome> outcomes_{};
    std::vector<std::size_t> order_{};
    std::size_t arrived_ = 0;
};

}  // namespace tandem::sim

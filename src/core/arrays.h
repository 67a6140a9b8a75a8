// SPDX-License-Identifier: Apache-2.0
// Job arrays. An array is a job that never holds capacity itself: it makes its elements, jobs named
// NAME-INDEX, a bounded number in one batch, once what it depends on is met; counts them by phase,
// and is over when they are. What is asked of the array is asked of every element: they look at the
// array's row. What all share, the command and its environment, stands in the array's row alone and
// is read there when an element starts.
#pragma once

#include "core/turn.h"

namespace tandem::core {

inline bool is_array(const model::Job& job) {
    return job.spec.array.has_value();
}
// The array that a job is an element of; null when of none.
const model::Job* array_of(const State& state, const model::Job& job);
// The job itself, or the array that its command stands in.
const model::Job& sharer_of(const State& state, const model::Job& job);

// What holds for a job, by itself or through its array.
std::int64_t priority_of(const State& state, const model::Job& job);
bool is_suspended(const State& state, const model::Job& job);
bool is_forced(const State& state, const model::Job& job);
std::string holder_of_job(const State& state, const model::Job& job);

// A new job: its name is not that of an element, nor are its elements' names taken.
Status check_element_names(const State& state, const model::Job& wanted);
// What elements were made from stays; what they look at in the array's row may change.
Status check_array_change(const model::Job& wanted, const model::Job& old);
// Elements made so far, by index.
std::vector<RowId> elements_of(const State& state, const model::Job& array);
void touch_elements(Turn& turn, const model::Job& array);

void reconcile_array(Turn& turn, RowId id);
// The element's phase is another than its array counts it as.
void count_element(Turn& turn, RowId id);

}  // namespace tandem::core

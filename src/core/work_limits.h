// SPDX-License-Identifier: Apache-2.0
// Counted work and licenses: what a job counts in while it holds capacity (the planner keeps those
// counters, beside quotas), and how much unfinished work somebody may have submitted. Only limits
// that somebody stated are counted; when one comes, changes or goes, all that is known of work is
// told to the planner anew.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// Of all entries and of the demand of a job. A job that an operator has forced is counted, but
// waits for licenses alone.
std::vector<sched::Permit> permits_of(const State& state, const model::Job& job);
// The same without how far the counters may go: what holds capacity has started.
// A member beyond what the job needs counts in its devices alone, and apart from the others.
std::vector<sched::Permit> held_permits_of(const State& state, const model::Job& job,
                                           const model::Replica& replica);

// Licenses that a job asks for exist and are open to its project.
Status check_licenses(const State& state, const model::Job& wanted);
// Error when `more` jobs of this submitter would be too many.
Status check_submitted(const State& state, const std::string& subject, const model::Job& wanted,
                       std::int64_t more);
// `more` unfinished jobs come, or go where negative.
void count_submitted(State& state, const model::Job& job, std::int64_t more);
// Of stored rows, at a start.
void rebuild_submitted(State& state);
// As how many jobs a new one would count.
std::int64_t elements_in(const model::Job& wanted);
// As how many unfinished jobs a stored job counts by itself: of an array, the elements not made
// yet.
std::int64_t unfinished_in(const model::Job& job);

// A limit or a number of licenses is another now.
void permits_changed(Turn& turn);

}  // namespace tandem::core

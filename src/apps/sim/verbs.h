// SPDX-License-Identifier: Apache-2.0
// The verbs of tandem-sim, one file each. A verb gets the words after its own and gives the exit
// code: 0 all is well, 1 a rule broke, 2 the question or its input is wrong (said on standard
// error).
#pragma once

#include <string>
#include <vector>

namespace tandem::apps {

// Every verb with what it does, a line each.
std::string sim_verbs();

int sim_seeds(const std::vector<std::string>& words);  // options without a verb: many seeds
int sim_run(const std::vector<std::string>& words);    // a workload of tests/scenarios' language
int sim_jobs(const std::vector<std::string>& words);
int sim_backfill(const std::vector<std::string>& words);
int sim_deadlines(const std::vector<std::string>& words);
int sim_kueue(const std::vector<std::string>& words);
int sim_what_if(const std::vector<std::string>& words);
int sim_place(const std::vector<std::string>& words);

}  // namespace tandem::apps

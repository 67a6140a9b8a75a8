// SPDX-License-Identifier: Apache-2.0
// The verbs of tandem-sim, one file each. A verb gets the words after its own and gives the exit
// code: 0 all is well, 1 a rule broke, 2 the question or its input is wrong (said on standard
// error).
#pragma once

#include <string>
#include <vector>

namespace tandem::apps {

inline constexpr const char* sim_usage =
    "usage: tandem-sim [--seeds N] [--from S | --seed S] [--digests] [--probes]\n"
    "       tandem-sim VERB --help\n"
    "verbs: backfill  run a batch workload with backfilling\n"
    "       deadlines run a trace of jobs with deadlines\n"
    "       jobs      run a trace of training jobs under a queueing policy\n"
    "       place     pack pods on nodes under a placement policy\n";

int sim_run(const std::vector<std::string>& words);    // a workload of tests/scenarios' language
int sim_seeds(const std::vector<std::string>& words);  // without a verb: a campaign of seeds
int sim_jobs(const std::vector<std::string>& words);
int sim_backfill(const std::vector<std::string>& words);
int sim_deadlines(const std::vector<std::string>& words);
int sim_place(const std::vector<std::string>& words);

}  // namespace tandem::apps

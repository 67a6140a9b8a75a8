// SPDX-License-Identifier: Apache-2.0
// Readers of the public traces that have a time in them. Rows must be sorted by submission;
// whatever is wrong is said with file, line and column.
//   training  CSV of Muri: job_id, num_gpu, submit_time and iteration_time (ms), iterations,
//   model_name batsim    CSV of Batsim's jobs: job_id, submission_time,
//   requested_number_of_resources,
//             requested_time, execution_time (s); columns of results are not looked at
//   swf       Standard Workload Format, 18 fields; allocated processors stand in for requested ones
//             that are -1, the run time for a requested time that is -1; rows without processors or
//             run time (never started) are left out
//   deadlines CSV of ElasticFlow, three spellings: submission_time | submit_time, ef_num_iteration
//   |
//             iteration, ef_model_name | model_name, ef_deadline | ddl, ef_batch_size | batch_size
//             (s, deadlines absolute). The curves of a model are a CSV of its own:
//             global_batch_size, then a column for each number of devices with iterations per
//             second; blank, 0 and nan mean that this size is not allowed
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/time/batch.h"
#include "sim/time/elastic_jobs.h"
#include "sim/time/training.h"
#include "sim/trace/text.h"

namespace tandem::sim {

Result<std::vector<TrainingJob>> read_training_jobs(const TraceText& trace,
                                                    const TrainingCluster& cluster);
Result<std::vector<BatchJob>> read_batsim_jobs(const TraceText& trace, std::int64_t machines);
Result<std::vector<BatchJob>> read_swf(const TraceText& trace, std::int64_t machines);

// `curves_of` gives the text of a model's curves; asked for once for each model.
using CurvesOf = std::function<Result<TraceText>(const std::string& model)>;
Result<std::vector<ElasticJob>> read_elastic_jobs(const TraceText& trace, const CurvesOf& curves_of,
                                                  std::int64_t devices);

}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
// tandem sim backfill: batch jobs of a public trace on equal machines, by one policy.
#include <fmt/format.h>

#include "apps/sim/input.h"
#include "apps/sim/verbs.h"
#include "apps/sim/words.h"
#include "sim/time/batch_policies.h"
#include "sim/time/traces.h"

namespace tandem::apps {
namespace {

constexpr const char* usage =
    "usage: tandem sim backfill --trace FILE --format batsim-jobs|swf --nodes N\n"
    "         --policy easy|conservative|tandem [--per-job OUT.csv] [--json]\n"
    "FILE: Batsim's CSV of jobs or the Standard Workload Format; plain or gzip; - is standard "
    "input.\n";

std::string per_job(const std::vector<sim::BatchJob>& jobs, const sim::BatchReport& report) {
    std::string text = "job_id,submit_s,start_s,end_s,evictions\n";
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        text += fmt::format("{},{},{},{},0\n", jobs[i].id,
                            render_fraction(jobs[i].submit, 1'000'000, 6),
                            render_fraction(report.starts[i], 1'000'000, 6),
                            render_fraction(report.starts[i] + jobs[i].length(), 1'000'000, 6));
    }
    return text;
}

const std::vector<std::string> formats{"batsim-jobs", "swf"};
const std::vector<std::string> policies{"easy", "conservative", "tandem"};

Status run(const std::vector<std::string>& given) {
    TANDEM_LET(words, Words::read(given, {"--json"}));
    TANDEM_LET(path, words.need("--trace"));
    TANDEM_LET(format, words.choice("--format", formats, ""));
    TANDEM_TRY(words.need("--nodes"));
    TANDEM_LET(nodes, words.integer("--nodes", 1, 1'000'000, 1));
    TANDEM_LET(policy, words.choice("--policy", policies, "tandem"));
    const std::string out = words.or_else("--per-job", "");
    const bool as_json = words.has("--json");
    TANDEM_TRY(words.finish());
    TANDEM_LET(trace, read_trace(path));
    TANDEM_LET(jobs,
               format == "swf" ? sim::read_swf(trace, nodes) : sim::read_batsim_jobs(trace, nodes));
    const sim::BatchReport report = policy == "easy"           ? sim::play_easy(jobs, nodes)
                                    : policy == "conservative" ? sim::play_conservative(jobs, nodes)
                                                               : sim::play_own_batch(jobs, nodes);
    if (!out.empty()) TANDEM_TRY(write_text(out, per_job(jobs, report)));
    const auto count = static_cast<std::int64_t>(jobs.size());
    print_figures({{"policy", policy, true},
                   {"mean_wait_s", render_fraction(report.total_wait, count * 1'000'000, 6)},
                   {"max_wait_s", render_fraction(report.max_wait, 1'000'000, 6)},
                   {"mean_slowdown", render_fraction(report.slowdown_micro, count * 1'000'000, 6)},
                   {"makespan_s", render_fraction(report.makespan, 1'000'000, 6)},
                   {"utilisation", render_fraction(report.used_micro, 1'000'000, 6)},
                   {"jobs", std::to_string(count)}},
                  as_json);
    return {};
}

}  // namespace

int sim_backfill(const std::vector<std::string>& words) {
    return answer_verb("backfill", usage, run, words);
}

}  // namespace tandem::apps

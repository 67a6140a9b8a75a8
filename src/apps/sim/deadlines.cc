// SPDX-License-Identifier: Apache-2.0
// tandem sim deadlines: elastic jobs with deadlines of a public trace, by one policy.
#include <fmt/format.h>

#include "apps/sim/input.h"
#include "apps/sim/verbs.h"
#include "apps/sim/words.h"
#include "sim/time/traces.h"

namespace tandem::apps {
namespace {

constexpr const char* usage =
    "usage: tandem sim deadlines --trace FILE --curves DIR --nodes N [--devices 8]\n"
    "         --policy edf|elastic|tandem [--resize-cost 20] [--per-job OUT.csv] [--json]\n"
    "FILE: CSV of ElasticFlow's jobs; DIR: MODEL.csv for each model, iterations per second by "
    "batch\n"
    "size and number of devices. --resize-cost: seconds a job stands still when its size "
    "changes.\n";

const std::vector<std::string> policies{"edf", "elastic", "tandem"};

bool is_file_name(const std::string& model) {
    return !model.empty() && model.front() != '.' && model.find('/') == std::string::npos;
}

std::string per_job(const std::vector<sim::ElasticJob>& jobs, const sim::ElasticReport& report) {
    std::string text = "job_id,submit_s,end_s,deadline_s,refused,met\n";
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const bool refused = report.ends[i] < 0;
        text +=
            fmt::format("{},{},{},{},{},{}\n", jobs[i].id, render_fraction(jobs[i].submit, 1000, 3),
                        refused ? "" : render_fraction(report.ends[i], 1000, 3),
                        render_fraction(jobs[i].deadline, 1000, 3), refused ? 1 : 0,
                        !refused && report.ends[i] <= jobs[i].deadline ? 1 : 0);
    }
    return text;
}

Status run(const std::vector<std::string>& given) {
    TANDEM_LET(words, Words::read(given, {"--json"}));
    TANDEM_LET(path, words.need("--trace"));
    TANDEM_LET(folder, words.need("--curves"));
    TANDEM_TRY(words.need("--nodes"));
    TANDEM_LET(nodes, words.integer("--nodes", 1, 100'000, 1));
    TANDEM_LET(each, words.integer("--devices", 1, 1024, 8));
    TANDEM_LET(policy, words.choice("--policy", policies, "tandem"));
    TANDEM_LET(cost, words.integer("--resize-cost", 0, 86'400, 20));
    const std::string out = words.or_else("--per-job", "");
    const bool as_json = words.has("--json");
    TANDEM_TRY(words.finish());
    TANDEM_LET(trace, read_trace(path));
    const std::int64_t devices = nodes * each;
    const auto curves_of = [&folder](const std::string& model) -> Result<sim::TraceText> {
        if (!is_file_name(model)) return fail(ErrorCode::invalid, "the name is no file's");
        return read_trace(folder + "/" + model + ".csv");
    };
    TANDEM_LET(jobs, sim::read_elastic_jobs(trace, curves_of, devices));
    const sim::ElasticReport report = policy == "edf" ? sim::play_edf(jobs, devices)
                                      : policy == "elastic"
                                          ? sim::play_elasticflow(jobs, devices, cost * 1000)
                                          : sim::play_own_elastic(jobs, devices, cost * 1000);
    if (!out.empty()) TANDEM_TRY(write_text(out, per_job(jobs, report)));
    const auto count = static_cast<std::int64_t>(jobs.size());
    print_figures({{"policy", policy, true},
                   {"met_ratio", render_fraction(report.met, count, 6)},
                   {"jobs", std::to_string(count)},
                   {"refused", std::to_string(report.refused)},
                   {"late", std::to_string(count - report.refused - report.met)},
                   {"resizes", std::to_string(report.resizes)}},
                  as_json);
    return {};
}

}  // namespace

int sim_deadlines(const std::vector<std::string>& words) {
    return answer_verb("deadlines", usage, run, words);
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
// tandem sim deadlines: elastic jobs with deadlines of a public trace, by one policy.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "apps/read_words.h"
#include "apps/sim/figures.h"
#include "apps/sim/input.h"
#include "apps/sim/verbs.h"
#include "sim/time/traces.h"

namespace tandem::apps {
namespace {

struct Question {
    std::string trace{};
    std::string curves{};
    std::int64_t nodes = 0;
    std::int64_t devices = 8;
    std::string policy = "tandem";
    std::int64_t resize_cost = 20;
    std::string per_job{};
    bool json = false;
};

void describe(CLI::App& app, Question& question) {
    app.add_option("--trace", question.trace, "CSV of ElasticFlow's jobs; - is standard input")
        ->required();
    app.add_option("--curves", question.curves,
                   "folder with MODEL.csv for each model: iterations per second by batch size and "
                   "number of devices")
        ->required();
    app.add_option("--nodes", question.nodes, "machines")
        ->required()
        ->check(CLI::Range(1, 100'000));
    app.add_option("--devices", question.devices, "devices of each")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--policy", question.policy, "who gets how many")
        ->check(CLI::IsMember({"edf", "elastic", "tandem"}))
        ->capture_default_str();
    app.add_option("--resize-cost", question.resize_cost,
                   "seconds a job stands still when its size changes")
        ->check(CLI::Range(0, 86'400))
        ->capture_default_str();
    app.add_option("--per-job", question.per_job, "CSV file to write, a row a job");
    app.add_flag("--json", question.json, "one JSON object instead of a table");
}

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

sim::ElasticReport play(const std::vector<sim::ElasticJob>& jobs, const Question& question) {
    const std::int64_t devices = question.nodes * question.devices;
    if (question.policy == "edf") return sim::play_edf(jobs, devices);
    if (question.policy == "elastic")
        return sim::play_elasticflow(jobs, devices, question.resize_cost * 1000);
    return sim::play_own_elastic(jobs, devices, question.resize_cost * 1000);
}

Status answer(const Question& question) {
    TANDEM_LET(trace, read_trace(question.trace));
    const auto curves_of = [&question](const std::string& model) -> Result<sim::TraceText> {
        if (!is_file_name(model)) return fail(ErrorCode::invalid, "the name is no file's");
        return read_trace(question.curves + "/" + model + ".csv");
    };
    TANDEM_LET(jobs, sim::read_elastic_jobs(trace, curves_of, question.nodes * question.devices));
    const sim::ElasticReport report = play(jobs, question);
    if (!question.per_job.empty()) TANDEM_TRY(write_text(question.per_job, per_job(jobs, report)));
    const auto count = static_cast<std::int64_t>(jobs.size());
    print_figures({{"policy", question.policy, true},
                   {"met_ratio", render_fraction(report.met, count, 6)},
                   {"jobs", std::to_string(count)},
                   {"refused", std::to_string(report.refused)},
                   {"late", std::to_string(count - report.refused - report.met)},
                   {"resizes", std::to_string(report.resizes)}},
                  question.json);
    return {};
}

}  // namespace

int sim_deadlines(const std::vector<std::string>& words) {
    CLI::App app("Elastic jobs with deadlines of a public trace, by one policy",
                 "tandem sim deadlines");
    Question question;
    describe(app, question);
    if (const auto code = read_words(app, words)) return *code;
    const Status done = answer(question);
    return done ? 0 : refuse("deadlines", done.error());
}

}  // namespace tandem::apps

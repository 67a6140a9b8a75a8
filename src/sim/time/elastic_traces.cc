// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <utility>

#include "base/quantity.h"
#include "sim/time/row_place.h"
#include "sim/time/traces.h"
#include "sim/trace/csv.h"

namespace tandem::sim {
namespace {

constexpr std::int64_t time_max = 1'000'000'000'000;    // ms: 31 years
constexpr std::int64_t iterations_max = 1'000'000'000;  // in billionths: 10^18

using Curves = std::map<std::int64_t, sched::SpeedCurve>;  // by batch size

bool is_absent(std::string_view text) {
    return text.empty() || text == "nan" || text == "NaN" || text == "NAN";
}

Result<Curves> read_curves(const TraceText& text) {
    TANDEM_LET(csv, CsvReader::open(text));
    TANDEM_LET(batch, csv.column("global_batch_size"));
    std::vector<std::pair<std::int64_t, CsvColumn>> sizes;
    for (const std::string& name : csv.header()) {
        if (const auto size = parse_integer(name); size && *size > 0)
            sizes.emplace_back(*size, *csv.find(name));
    }
    if (sizes.empty())
        return trace_error(text, 1, "", "needs columns named by numbers of devices: 1, 2, 4");
    Curves curves;
    while (true) {
        TANDEM_LET(more, csv.next());
        if (!more) return curves;
        TANDEM_LET(key, csv.integer(batch, 1));
        sched::SpeedCurve& curve = curves[key];
        for (const auto& [size, column] : sizes) {
            if (is_absent(csv.text(column))) continue;
            TANDEM_LET(speed, csv.decimal(column, 9, 0, std::int64_t{1} << 53));
            if (speed > 0) curve.push_back({size, speed});
        }
    }
}

}  // namespace

Result<std::vector<ElasticJob>> read_elastic_jobs(const TraceText& trace, const CurvesOf& curves_of,
                                                  std::int64_t devices) {
    TANDEM_LET(csv, CsvReader::open(trace));
    TANDEM_LET(submit, csv.any_of({"submission_time", "submit_time"}));
    TANDEM_LET(iterations, csv.any_of({"ef_num_iteration", "iteration"}));
    TANDEM_LET(model, csv.any_of({"ef_model_name", "model_name"}));
    TANDEM_LET(deadline, csv.any_of({"ef_deadline", "ddl"}));
    TANDEM_LET(batch, csv.any_of({"ef_batch_size", "batch_size"}));
    const auto id = csv.find("job_id") ? csv.find("job_id") : csv.find("job");
    std::map<std::string, Curves, std::less<>> models;
    std::vector<ElasticJob> jobs;
    while (true) {
        TANDEM_LET(more, csv.next());
        if (!more) return jobs;
        TANDEM_LET(at, csv.decimal(submit, 3, 0, time_max));
        TANDEM_LET(end, csv.decimal(deadline, 3, 0, time_max));
        TANDEM_LET(count, csv.integer(iterations, 1, iterations_max));
        TANDEM_LET(size, csv.integer(batch, 1));
        if (const auto wrong = wrong_place(jobs, at); !wrong.empty())
            return csv.error(submit, wrong);
        const std::string name(csv.text(model));
        if (!models.contains(name)) {
            const auto text = curves_of(name);
            if (!text) return csv.error(model, "has no curves: " + text.error().message);
            TANDEM_LET(curves, read_curves(*text));
            models.emplace(name, std::move(curves));
        }
        const auto curve = models.at(name).find(size);
        if (curve == models.at(name).end())
            return csv.error(batch, "the curves of " + name + " have no such batch size");
        jobs.push_back({.id = id ? std::string(csv.text(*id)) : std::to_string(jobs.size()),
                        .submit = at,
                        .deadline = end,
                        .work = count * 1'000'000'000,
                        .batch = size,
                        .all = curve->second,
                        .useful = sched::useful_curve(curve->second, devices)});
    }
}

}  // namespace tandem::sim

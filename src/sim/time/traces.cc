// SPDX-License-Identifier: Apache-2.0
#include "sim/time/traces.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/wide.h"
#include "sim/time/row_place.h"
#include "sim/trace/csv.h"

namespace tandem::sim {
namespace {

constexpr Micros time_max = 1'000'000'000'000'000;  // 31 years: sums over a trace stay exact
constexpr std::size_t swf_fields = 18;

// Measured start overheads in seconds, for 1, 2, 4, 8, 16 and 32 devices (Muri, SIGCOMM 2022).
const std::map<std::string_view, std::array<std::int64_t, 6>>& start_overheads() {
    static const std::map<std::string_view, std::array<std::int64_t, 6>> table{
        {"vgg16", {7, 7, 8, 9, 9, 10}},     {"vgg19", {7, 7, 8, 9, 10, 10}},
        {"resnet18", {4, 5, 5, 7, 7, 7}},   {"shufflenet_v2_x1_0", {4, 4, 5, 5, 7, 8}},
        {"bert", {10, 10, 10, 10, 10, 10}}, {"gpt2", {10, 10, 10, 10, 10, 10}},
        {"a2c", {38, 39, 39, 46, 46, 46}},  {"dqn", {5, 5, 6, 6, 8, 8}},
    };
    return table;
}

Micros overhead_of(std::string_view model, std::int64_t devices) {
    constexpr std::int64_t otherwise = 10;
    const auto found = start_overheads().find(model);
    std::size_t size = 0;
    while (size < 5 && (std::int64_t{1} << size) < devices) size += 1;
    return (found == start_overheads().end() ? otherwise : found->second[size]) * 1'000'000;
}

}  // namespace

Result<std::vector<TrainingJob>> read_training_jobs(const TraceText& trace,
                                                    const TrainingCluster& cluster) {
    TANDEM_LET(csv, CsvReader::open(trace));
    TANDEM_LET(id, csv.column("job_id"));
    TANDEM_LET(gpus, csv.column("num_gpu"));
    TANDEM_LET(submit, csv.column("submit_time"));
    TANDEM_LET(iterations, csv.column("iterations"));
    TANDEM_LET(each, csv.column("iteration_time"));
    TANDEM_LET(model, csv.column("model_name"));
    std::vector<TrainingJob> jobs;
    while (true) {
        TANDEM_LET(more, csv.next());
        if (!more) return jobs;
        TrainingJob job{.id = std::string(csv.text(id))};
        TANDEM_LET(devices, csv.integer(gpus, 1, cluster.total()));
        TANDEM_LET(at, csv.decimal(submit, 3, 0, time_max));
        TANDEM_LET(count, csv.integer(iterations, 1));
        TANDEM_LET(time, csv.decimal(each, 3, 1, time_max));
        if (const auto wrong = wrong_place(jobs, at); !wrong.empty())
            return csv.error(submit, wrong);
        const Wide service = static_cast<Wide>(count) * time * 1015 / 1000;
        if (service > time_max)
            return csv.error(iterations, "times iteration_time is more than 31 years");
        job.devices = devices;
        job.submit = at;
        job.service = std::max<Micros>(static_cast<Micros>(service), 1);
        job.overhead = overhead_of(csv.text(model), devices);
        jobs.push_back(std::move(job));
    }
}

Result<std::vector<BatchJob>> read_batsim_jobs(const TraceText& trace, std::int64_t machines) {
    TANDEM_LET(csv, CsvReader::open(trace));
    TANDEM_LET(id, csv.column("job_id"));
    TANDEM_LET(submit, csv.column("submission_time"));
    TANDEM_LET(count, csv.column("requested_number_of_resources"));
    TANDEM_LET(request, csv.column("requested_time"));
    TANDEM_LET(run, csv.column("execution_time"));
    std::vector<BatchJob> jobs;
    while (true) {
        TANDEM_LET(more, csv.next());
        if (!more) return jobs;
        TANDEM_LET(at, csv.decimal(submit, 6, 0, time_max));
        TANDEM_LET(wanted, csv.integer(count, 1, machines));
        TANDEM_LET(length, csv.decimal(run, 6, 0, time_max));
        TANDEM_LET(limit, csv.decimal(request, 6, -1'000'000, time_max));
        if (const auto wrong = wrong_place(jobs, at); !wrong.empty())
            return csv.error(submit, wrong);
        jobs.push_back({.id = std::string(csv.text(id)),
                        .submit = at,
                        .machines = wanted,
                        .request = std::max<Micros>(limit < 0 ? length : limit, 1),
                        .run = length});
    }
}

namespace {

constexpr std::array<std::string_view, swf_fields> swf_names{
    "job", "submit",    "wait",     "run",       "procs_alloc", "avg_cpu",
    "mem", "procs_req", "time_req", "mem_req",   "status",      "uid",
    "gid", "app",       "queue",    "partition", "prev",        "think"};

std::vector<std::string_view> split_blanks(std::string_view line) {
    std::vector<std::string_view> fields;
    while (true) {
        const std::size_t from = line.find_first_not_of(" \t");
        if (from == std::string_view::npos) return fields;
        const std::size_t to = std::min(line.find_first_of(" \t", from), line.size());
        fields.push_back(line.substr(from, to - from));
        line.remove_prefix(to);
    }
}

// The fields of one row that matter, in millionths.
struct SwfRow {
    std::array<Micros, swf_fields> fields{};
    Micros of(std::size_t field) const { return fields[field]; }
};

Result<SwfRow> read_row(const TraceLines& lines, const std::vector<std::string_view>& texts) {
    if (texts.size() != swf_fields)
        return lines.error("", "a row has 18 fields, this one " + std::to_string(texts.size()));
    SwfRow row;
    for (std::size_t i = 0; i < swf_fields; ++i) {
        const bool counts = i == 1 || i == 3 || i == 4 || i == 7 || i == 8;
        if (!counts) continue;
        auto value = parse_decimal(texts[i], 6);
        if (!value) return lines.error(swf_names[i], value.error().message);
        if (*value > time_max || *value < -1'000'000)
            return lines.error(swf_names[i], "must be from -1 (unknown) to 1000000000");
        row.fields[i] = *value;
    }
    return row;
}

}  // namespace

Result<std::vector<BatchJob>> read_swf(const TraceText& trace, std::int64_t machines) {
    TraceLines lines(trace);
    std::vector<BatchJob> jobs;
    std::string_view line;
    while (lines.next(line)) {
        const std::vector<std::string_view> texts = split_blanks(line);
        if (texts.empty() || texts.front().starts_with(';')) continue;
        TANDEM_LET(row, read_row(lines, texts));
        const Micros submit = row.of(1);
        const Micros run = row.of(3);
        const std::int64_t wanted = (row.of(7) > 0 ? row.of(7) : row.of(4)) / 1'000'000;
        if (submit < 0) return lines.error(swf_names[1], "must be known");
        if (const auto wrong = wrong_place(jobs, submit); !wrong.empty())
            return lines.error(swf_names[1], wrong);
        if (wanted > machines)
            return lines.error(swf_names[row.of(7) > 0 ? 7 : 4],
                               "asks for more processors than there are nodes");
        if (run < 0 || wanted < 1) continue;
        jobs.push_back({.id = std::string(texts[0]),
                        .submit = submit,
                        .machines = wanted,
                        .request = std::max<Micros>(row.of(8) > 0 ? row.of(8) : run, 1),
                        .run = run});
    }
    return jobs;
}

}  // namespace tandem::sim

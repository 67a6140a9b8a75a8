// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "sim/time/batch_policies.h"
#include "sim/time/own_jobs.h"
#include "sim/time/paper_policies.h"
#include "sim/time/traces.h"

namespace tandem::sim {
namespace {

constexpr Micros s = 1'000'000;

std::vector<BatchJob> draw_batch(std::uint64_t seed, std::int64_t machines) {
    Random random(seed_from(seed));
    std::vector<BatchJob> jobs;
    Micros at = 0;
    for (int i = 0; i < 300; ++i) {
        at += static_cast<Micros>(random.below(40)) * s;
        const auto wanted =
            1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(machines)));
        const auto request = 1 + static_cast<Micros>(random.below(100));
        const auto run = 1 + static_cast<Micros>(random.below(120));
        jobs.push_back({.id = std::to_string(i),
                        .submit = at,
                        .machines = random.below(3) == 0 ? wanted : 1 + wanted / 4,
                        .request = request * s,
                        .run = run * s});
    }
    return jobs;
}

void expect_never_over(const std::vector<BatchJob>& jobs, const BatchReport& report,
                       std::int64_t machines) {
    std::vector<std::pair<Micros, std::int64_t>> changes;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        ASSERT_GE(report.starts[i], jobs[i].submit);
        changes.emplace_back(report.starts[i], jobs[i].machines);
        changes.emplace_back(report.starts[i] + jobs[i].length(), -jobs[i].machines);
    }
    std::ranges::sort(changes);
    std::int64_t used = 0;
    for (const auto& [at, change] : changes) {
        used += change;
        ASSERT_LE(used, machines);
    }
}

TEST(Batch, any_policy_never_uses_more_machines_than_there_are) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const std::vector<BatchJob> jobs = draw_batch(seed, 16);
        expect_never_over(jobs, play_easy(jobs, 16), 16);
        expect_never_over(jobs, play_conservative(jobs, 16), 16);
        expect_never_over(jobs, play_own_batch(jobs, 16), 16);
    }
}

// Machine 0 until 100 by its request; the head wants both from then on.
TEST(Easy, job_that_outlives_the_heads_start_stays_off_its_machines) {
    const std::vector<BatchJob> jobs{{"a", 0, 1, 100 * s, 100 * s},
                                     {"head", 1 * s, 2, 50 * s, 50 * s},
                                     {"long", 2 * s, 1, 200 * s, 10 * s},
                                     {"short", 3 * s, 1, 90 * s, 90 * s}};
    const BatchReport report = play_easy(jobs, 3);
    EXPECT_EQ(report.starts[1], 1 * s);  // two of three are free
    const BatchReport two = play_easy(jobs, 2);
    EXPECT_EQ(two.starts[1], 100 * s);
    EXPECT_EQ(two.starts[2], 150 * s);
    EXPECT_EQ(two.starts[3], 3 * s);
}

TEST(Conservative, start_is_never_later_than_promised_at_submission) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        const std::vector<BatchJob> jobs = draw_batch(seed, 12);
        const BatchReport report = play_conservative(jobs, 12);
        std::size_t earlier = 0;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            EXPECT_LE(report.starts[i], report.promised[i]) << "seed " << seed << " job " << i;
            earlier += report.starts[i] < report.promised[i] ? 1 : 0;
        }
        EXPECT_GT(earlier, 0u);
    }
}

TEST(OwnBatch, short_work_passes_and_the_first_in_line_is_not_delayed) {
    const std::vector<BatchJob> jobs{{"a", 0, 3, 100 * s, 100 * s},
                                     {"wide", 1 * s, 4, 50 * s, 50 * s},
                                     {"short", 2 * s, 1, 20 * s, 20 * s},
                                     {"long", 2 * s, 1, 500 * s, 500 * s}};
    const BatchReport report = play_own_batch(jobs, 4);
    EXPECT_EQ(report.starts[2], 2 * s);
    EXPECT_EQ(report.starts[1], 100 * s);
    EXPECT_EQ(report.starts[3], 150 * s);
}

std::vector<TrainingJob> draw_training(std::uint64_t seed, int count) {
    Random random(seed_from(seed));
    std::vector<TrainingJob> jobs;
    Micros at = 0;
    for (int i = 0; i < count; ++i) {
        at += static_cast<Micros>(random.below(2'000)) * s;
        const auto size = random.below(6);
        const auto magnitude = random.below(12);
        const auto rest = random.below(100);
        jobs.push_back({.id = std::to_string(i),
                        .devices = std::int64_t{1} << size,
                        .submit = at,
                        .service = (static_cast<Micros>(rest + 1) << magnitude) * s,
                        .overhead = 10 * s});
    }
    return jobs;
}

TEST(Training, shortest_of_two_runs_first_and_the_other_is_evicted) {
    const std::vector<TrainingJob> jobs{{"long", 8, 0, 1000 * s, 0},
                                        {"short", 8, 100 * s, 50 * s, 0}};
    const TrainingReport report = play_shortest(jobs, {.nodes = 1}, true);
    EXPECT_EQ(report.jobs[1].end, 150 * s);
    EXPECT_EQ(report.jobs[0].end, 1050 * s);
    EXPECT_EQ(report.jobs[0].evictions, 1);
    const TrainingReport fifo = play_fifo(jobs, {.nodes = 1});
    EXPECT_EQ(fifo.jobs[0].end, 1000 * s);
    EXPECT_EQ(fifo.evictions, 0);
}

// A happening takes `overhead` of progress from whoever runs.
TEST(Training, each_happening_costs_those_who_run_their_overhead) {
    const std::vector<TrainingJob> jobs{{"a", 1, 0, 100 * s, 10 * s}, {"b", 1, 50 * s, 100 * s, 0}};
    const TrainingReport report = play_shortest(jobs, {.nodes = 1}, false);
    EXPECT_EQ(report.jobs[0].end, 110 * s);
}

TEST(Training, tiresias_lets_fresh_work_pass_what_has_used_a_tier) {
    const std::vector<TrainingJob> jobs{{"old", 8, 0, 10'000 * s, 0},
                                        {"fresh", 8, 3'000 * s, 100 * s, 0}};
    const TrainingReport report = play_tiresias(jobs, {.nodes = 1});
    EXPECT_EQ(report.jobs[1].start, 3'000 * s);  // 8 x 407 s is a tier
    EXPECT_EQ(report.jobs[0].evictions, 1);
}

TEST(OwnJobs, all_end_and_known_durations_stay_near_the_shortest_first) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const std::vector<TrainingJob> jobs = draw_training(seed, 400);
        const TrainingReport best = play_shortest(jobs, {}, true);
        const TrainingReport known = play_own_jobs(jobs, {}, true);
        const TrainingReport unknown = play_own_jobs(jobs, {}, false);
        for (const TrainingOutcome& job : unknown.jobs) ASSERT_GT(job.end, job.submit);
        EXPECT_LE(known.total_jct, best.total_jct * 105 / 100) << "seed " << seed;
        EXPECT_GE(unknown.total_jct, known.total_jct) << "seed " << seed;
    }
}

Result<std::vector<TrainingJob>> training(const std::string& rows) {
    const TraceText trace{
        .name = "jobs.csv",
        .text = "job_id,num_gpu,submit_time,iterations,model_name,iteration_time\n" + rows};
    return read_training_jobs(trace, {});
}

TEST(Traces, training_jobs_are_read_in_exact_microseconds) {
    const auto jobs = training("7,4,1500,1000,vgg16,200\n8,64,1500,10,other,0.5\n");
    ASSERT_TRUE(jobs);
    EXPECT_EQ((*jobs)[0].submit, 1'500'000);
    EXPECT_EQ((*jobs)[0].service, 203'000'000);
    EXPECT_EQ((*jobs)[0].overhead, 8 * s);
    EXPECT_EQ((*jobs)[1].service, 5'075);
    EXPECT_EQ((*jobs)[1].overhead, 10 * s);
}

TEST(Traces, bad_rows_are_refused_by_file_line_and_column) {
    const auto expect = [](const std::string& rows, const std::string& place) {
        const auto jobs = training(rows);
        ASSERT_FALSE(jobs) << rows;
        EXPECT_NE(jobs.error().message.find(place), std::string::npos) << jobs.error().message;
    };
    expect("1,4,1500,1000,vgg16,200\n2,4,1000,1000,vgg16,200\n", "jobs.csv:3: column submit_time");
    expect("1,65,1500,1000,vgg16,200\n", "jobs.csv:2: column num_gpu");
    expect("1,4,x,1000,vgg16,200\n", "jobs.csv:2: column submit_time");
    expect("1,4,0,1000000000000000,vgg16,9000000\n", "jobs.csv:2: column iterations");
    EXPECT_FALSE(read_training_jobs({.name = "x.csv", .text = "job_id,num_gpu\n"}, {}));
}

TEST(Traces, swf_takes_what_was_allocated_and_run_for_what_is_unknown) {
    const TraceText trace{.name = "x.swf",
                          .text =
                              "; a comment\n1 5 -1 30 4 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1\n"
                              "2 6 -1 30 4 -1 -1 2 60 -1 1 -1 -1 -1 0 -1 -1 -1\n"
                              "3 7 -1 -1 0 -1 -1 -1 -1 -1 5 -1 -1 -1 0 -1 -1 -1\n"};
    const auto jobs = read_swf(trace, 4);
    ASSERT_TRUE(jobs);
    ASSERT_EQ(jobs->size(), 2u);
    EXPECT_EQ((*jobs)[0].machines, 4);
    EXPECT_EQ((*jobs)[0].request, 30 * s);
    EXPECT_EQ((*jobs)[1].machines, 2);
    EXPECT_EQ((*jobs)[1].request, 60 * s);
    EXPECT_NE(read_swf(trace, 3).error().message.find("x.swf:2: column procs_alloc"),
              std::string::npos);
}

const char* const curves = "global_batch_size,1,2,4\n64,1,1.8,nan\n128,0.5,,0\n";

Result<std::vector<ElasticJob>> elastic(const std::string& rows, std::int64_t devices = 4) {
    const TraceText trace{.name = "d.csv",
                          .text = "submit_time,iteration,model_name,ddl,batch_size\n" + rows};
    return read_elastic_jobs(
        trace,
        [](const std::string& model) -> Result<TraceText> {
            if (model != "bert") return fail(ErrorCode::invalid, model + ".csv: no such file");
            return TraceText{.name = "bert.csv", .text = curves};
        },
        devices);
}

TEST(Traces, elastic_jobs_take_the_sizes_that_their_curve_allows) {
    const auto jobs = elastic("0,100,bert,200,64\n5,10,bert,50,128\n");
    ASSERT_TRUE(jobs) << jobs.error().message;
    EXPECT_EQ((*jobs)[0].useful.size(), 2u);
    EXPECT_EQ((*jobs)[1].useful.size(), 1u);
    EXPECT_NE(elastic("0,100,bert,200,32\n").error().message.find("d.csv:2: column batch_size"),
              std::string::npos);
    EXPECT_NE(elastic("0,100,gpt,200,64\n").error().message.find("d.csv:2: column model_name"),
              std::string::npos);
}

TEST(Deadlines, who_can_not_be_in_time_is_refused_and_the_others_are) {
    // Two devices: one job alone needs both, a second of the same kind does not fit beside it.
    const auto jobs = elastic("0,180,bert,101,64\n0,180,bert,101,64\n0,50,bert,1000,64\n", 2);
    ASSERT_TRUE(jobs);
    const ElasticReport own = play_own_elastic(*jobs, 2, 20'000);
    EXPECT_EQ(own.met, 2);
    EXPECT_EQ(own.refused, 1);
    EXPECT_EQ(play_edf(*jobs, 2).met, 2);
    EXPECT_EQ(play_elasticflow(*jobs, 2, 20'000).refused, 1);
}

TEST(Deadlines, sizes_never_exceed_the_cluster_and_promises_hold_on_drawn_work) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Random random(seed_from(seed));
        std::string rows;
        std::int64_t at = 0;
        for (int i = 0; i < 200; ++i) {
            at += static_cast<std::int64_t>(random.below(60));
            const auto count = 10 + static_cast<std::int64_t>(random.below(400));
            const auto slack = static_cast<std::int64_t>(random.below(600));
            rows += std::to_string(at) + "," + std::to_string(count) + ",bert," +
                    std::to_string(at + count + slack) + ",64\n";
        }
        const auto jobs = elastic(rows);
        ASSERT_TRUE(jobs);
        const ElasticReport own = play_own_elastic(*jobs, 4, 20'000);
        EXPECT_GE(own.met, play_edf(*jobs, 4).met) << "seed " << seed;
        EXPECT_LE(200 - own.met - own.refused, 4) << "seed " << seed;
    }
}

}  // namespace
}  // namespace tandem::sim

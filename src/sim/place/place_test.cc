// SPDX-License-Identifier: Apache-2.0
#include "sim/place/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "sim/place/answer.h"
#include "sim/place/test_trace.h"

namespace tandem::sim {
namespace {

PlaceWorkload workload(const std::string& nodes, const std::string& pods) {
    const TraceText node_text{"nodes.csv", nodes};
    const TraceText pod_text{"pods.csv", pods};
    return read_place_workload(node_text, pod_text).value();
}

std::string error_of(const std::string& nodes, const std::string& pods) {
    const auto work = read_place_workload({"nodes.csv", nodes}, {"pods.csv", pods});
    return work ? "" : work.error().message;
}

TEST(PlaceWorkload, bad_input_names_file_line_and_column) {
    const std::string nodes = small_nodes();
    const std::string pods = small_pods();
    EXPECT_EQ(error_of("sn,cpu_milli,memory_mib,gpu\na,1,1,1\n", pods),
              "nodes.csv:1: column model: is missing; the header has sn,cpu_milli,memory_mib,gpu");
    EXPECT_EQ(error_of(nodes + "n8,x,1,1,g2\n", pods),
              "nodes.csv:10: column cpu_milli: must be a whole number, is \"x\"");
    EXPECT_EQ(error_of(nodes + "n0,1,1,1,g2\n", pods),
              "nodes.csv:10: column sn: stands twice: \"n0\"");
    EXPECT_EQ(error_of("sn,cpu_milli,memory_mib,gpu,model\na,1,1,0,\n", pods),
              "nodes.csv: column gpu: no node has a device");
    EXPECT_EQ(error_of(nodes, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,2,500\n"),
              "pods.csv:2: column gpu_milli: must be 1000 where num_gpu is above 1");
    EXPECT_EQ(error_of(nodes, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,1,1001\n"),
              "pods.csv:2: column gpu_milli: is out of range: \"1001\"");
    EXPECT_EQ(error_of(nodes, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"),
              "pods.csv: has no pods");
}

TEST(PlaceWorkload, arrivals_reach_the_load_whether_pods_are_drawn_or_removed) {
    const PlaceWorkload work = workload(small_nodes(), small_pods());
    for (const std::int64_t load : {50, 130, 300, 900}) {
        std::int64_t demand = 0;
        for (int pod : arrivals_of(work, 7, load)) {
            const auto shape =
                static_cast<std::size_t>(work.pods[static_cast<std::size_t>(pod)].shape);
            demand += work.shapes[shape].shape.ask.devices;
        }
        const std::int64_t wanted = work.total_milli * load / 100;
        EXPECT_LE(std::abs(demand - wanted), 8000) << load;
    }
    EXPECT_NE(arrivals_of(work, 7, 130), arrivals_of(work, 8, 130));
    EXPECT_EQ(arrivals_of(work, 7, 130), arrivals_of(work, 7, 130));
}

TEST(PlaceWorkload, the_order_of_rows_changes_nothing) {
    std::string pods = small_pods();
    const std::size_t header = pods.find('\n') + 1;
    std::string turned;
    for (std::size_t end = pods.size(); end > header;) {
        const std::size_t begin = pods.rfind('\n', end - 2) + 1;
        turned += pods.substr(begin, end - begin);
        end = begin;
    }
    const PlaceWorkload a = workload(small_nodes(), pods);
    const PlaceWorkload b = workload(small_nodes(), pods.substr(0, header) + turned);
    for (const auto policy : {sched::Policy::bestfit, sched::Policy::fgd})
        EXPECT_EQ(run_place(a, {.policy = policy}, 42).curves.allocation,
                  run_place(b, {.policy = policy}, 42).curves.allocation);
}

// What was placed never exceeds a node, its model, or what was free.
TEST(Place, every_policy_keeps_within_the_nodes_and_repeats_itself) {
    const PlaceWorkload work = workload(small_nodes(), small_pods());
    for (std::size_t p = 0; p < sched::policy_names.size(); ++p) {
        const PlaceOptions options{.policy = static_cast<sched::Policy>(p), .load = 130};
        const PlaceRun run = run_place(work, options, 42);
        EXPECT_EQ(run_place(work, options, 42).placed, run.placed);
        const std::vector<int> arrivals = arrivals_of(work, 42, 130);
        ASSERT_EQ(run.placed.size(), arrivals.size());
        std::vector<std::int64_t> cpu(work.nodes.size());
        std::vector<std::int64_t> memory(work.nodes.size());
        std::vector<std::int64_t> devices(work.nodes.size());
        for (std::size_t i = 0; i < arrivals.size(); ++i) {
            if (run.placed[i] < 0) continue;
            const auto node = static_cast<std::size_t>(run.placed[i]);
            const PlacePod& pod = work.pods[static_cast<std::size_t>(arrivals[i])];
            const sched::MixShape& shape = work.shapes[static_cast<std::size_t>(pod.shape)].shape;
            cpu[node] += shape.ask.cpu_milli;
            memory[node] += pod.memory_mib;
            devices[node] += shape.ask.devices;
            EXPECT_TRUE(shape.flavors.empty() ||
                        std::ranges::find(shape.flavors, work.nodes[node].model) !=
                            shape.flavors.end());
        }
        for (std::size_t n = 0; n < work.nodes.size(); ++n) {
            EXPECT_LE(cpu[n], work.nodes[n].cpu_milli);
            EXPECT_LE(memory[n], work.nodes[n].memory_mib);
            EXPECT_LE(devices[n], work.nodes[n].devices * 1000);
        }
        EXPECT_GT(run.curves.allocation.at(130), 60 * percent_scale) << sched::policy_names[p];
    }
}

TEST(Place, answer_has_the_keys_that_were_promised) {
    const PlaceWorkload work = workload(small_nodes(), small_pods());
    PlaceAnswer answer{.policy = sched::Policy::fgd, .seeds = {42, 43}};
    for (std::uint64_t seed : answer.seeds)
        answer.runs.push_back(run_place(work, {.policy = answer.policy, .load = 82}, seed).curves);
    const std::string json = render_json(answer);
    EXPECT_TRUE(
        json.starts_with("{\"policy\": \"fgd\", \"seeds\": [42, 43], \"shuffle\": "
                         "\"chacha20-fisher-yates\", \"allocation\": {\"mean\": {\"80\": "))
        << json;
    EXPECT_NE(json.find("\"per_seed\": {\"42\": {\"80\": "), std::string::npos);
    EXPECT_NE(json.find("\"fragmented\": {\"mean\": {\"80\": "), std::string::npos);
    EXPECT_EQ(json.find("\"83\""), std::string::npos);
}

}  // namespace
}  // namespace tandem::sim

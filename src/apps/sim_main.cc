// SPDX-License-Identifier: Apache-2.0
// tandem-sim: runs seeds of the simulator and says which rule broke.
//   tandem-sim [--seeds N] [--from S] [--digests] [--probes]     exit 0: all rules held
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "base/assert.h"
#include "base/digest.h"
#include "sim/probes.h"
#include "sim/world.h"

namespace {

struct Options {
    std::uint64_t seeds = 2000;
    std::uint64_t from = 1;
    bool verbose = false;
    bool probes = false;
};

std::map<std::string, std::int64_t, std::less<>>& probe_counts() {
    static std::map<std::string, std::int64_t, std::less<>> counts;
    return counts;
}

void count_probe(std::string_view probe) {
    const auto it = probe_counts().find(probe);
    if (it == probe_counts().end())
        probe_counts().emplace(probe, 1);
    else
        ++it->second;
}

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--verbose" || word == "--digests") options.verbose = true;
        else if (word == "--probes") options.probes = true;
        else if (word == "--seeds" && i + 1 < argc) options.seeds = std::strtoull(argv[++i], nullptr, 10);
        else if ((word == "--from" || word == "--seed") && i + 1 < argc) {
            options.from = std::strtoull(argv[++i], nullptr, 10);
            if (word == "--seed") options.seeds = 1;
        } else {
            std::fprintf(stderr, "usage: tandem-sim [--seeds N] [--from S | --seed S] [--digests] [--probes]\n");
            return false;
        }
    }
    return true;
}

void print_seed(const tandem::sim::SeedResult& result) {
    std::string faults;
    for (const auto& [fault, count] : result.faults) faults += fmt::format(" {}={}", tandem::sim::name_of(fault), count);
    fmt::print("seed {}: digest {:016x}, {} inputs, {} batches, {} jobs, {} starts, {} crashes, {} virtual;{}\n",
               result.seed, result.digest, result.inputs, result.batches, result.jobs, result.starts, result.crashes,
               tandem::render_duration({result.virtual_ms}), faults);
}

// A run of many seeds that never takes a rare path proves nothing about it.
std::int64_t missing_probes() {
    std::int64_t missing = 0;
    for (std::string_view probe : tandem::sim::rare_paths)
        if (!probe_counts().contains(probe)) {
            fmt::print("rare path never taken: {}\n", probe);
            ++missing;
        }
    return missing;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!parse(argc, argv, options)) return 2;
    tandem::set_reached_sink(count_probe);
    const auto begin = std::chrono::steady_clock::now();
    tandem::Digest all;
    std::int64_t failed = 0, inputs = 0, crashes = 0, virtual_ms = 0;
    for (std::uint64_t seed = options.from; seed < options.from + options.seeds; ++seed) {
        const tandem::sim::SeedResult result = tandem::sim::World(seed).run();
        all.add(static_cast<std::int64_t>(result.digest));
        inputs += result.inputs;
        crashes += result.crashes;
        virtual_ms += result.virtual_ms;
        if (options.verbose) print_seed(result);
        if (result.violation.empty()) continue;
        ++failed;
        fmt::print("seed {} broke a rule: {}\n  again: ./dev sim --seed {}\n", seed, result.violation, seed);
    }
    constexpr std::uint64_t enough_seeds = 500;
    const std::int64_t missing = options.seeds >= enough_seeds ? missing_probes() : 0;
    if (options.probes)
        for (const auto& [probe, count] : probe_counts()) fmt::print("{:>10}  {}\n", count, probe);
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    // Digests are compared between compilers: nothing else may differ in what is said.
    if (!options.verbose) 
        fmt::print("{} seeds in {:.1f} s: {} inputs, {} crashes, {} virtual, digest of all {:016x}\n", options.seeds, wall, inputs,
               crashes, tandem::render_duration({virtual_ms}), all.value());
    fmt::print("{} passed, {} failed\n", static_cast<std::int64_t>(options.seeds) - failed, failed + missing);
    return failed + missing == 0 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "apps/sim/verbs.h"
#include "base/assert.h"
#include "base/digest.h"
#include "sim/probes.h"
#include "sim/world.h"

namespace tandem::apps {
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

bool parse(const std::vector<std::string>& words, Options& options) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        const bool has_value = i + 1 < words.size();
        if (word == "--verbose" || word == "--digests") options.verbose = true;
        else if (word == "--probes") options.probes = true;
        else if (word == "--seeds" && has_value) options.seeds = std::strtoull(words[++i].c_str(), nullptr, 10);
        else if ((word == "--from" || word == "--seed") && has_value) {
            options.from = std::strtoull(words[++i].c_str(), nullptr, 10);
            if (word == "--seed") options.seeds = 1;
        } else {
            std::fputs(sim_usage, stderr);
            return false;
        }
    }
    return true;
}

void print_seed(const sim::SeedResult& result) {
    std::string faults;
    for (const auto& [fault, count] : result.faults) faults += fmt::format(" {}={}", sim::name_of(fault), count);
    fmt::print("seed {}: digest {:016x}, {} inputs, {} batches, {} jobs, {} starts, {} crashes, {} virtual;{}\n",
               result.seed, result.digest, result.inputs, result.batches, result.jobs, result.starts, result.crashes,
               render_duration({result.virtual_ms}), faults);
}

// A run of many seeds that never takes a rare path proves nothing about it.
std::int64_t missing_probes() {
    std::int64_t missing = 0;
    for (std::string_view probe : sim::rare_paths)
        if (!probe_counts().contains(probe)) {
            fmt::print("rare path never taken: {}\n", probe);
            ++missing;
        }
    return missing;
}

}  // namespace

int sim_seeds(const std::vector<std::string>& words) {
    Options options;
    if (!parse(words, options)) return 2;
    set_reached_sink(count_probe);
    const auto begin = std::chrono::steady_clock::now();
    Digest all;
    std::int64_t failed = 0, inputs = 0, crashes = 0, virtual_ms = 0;
    for (std::uint64_t seed = options.from; seed < options.from + options.seeds; ++seed) {
        const sim::SeedResult result = sim::World(seed).run();
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
               crashes, render_duration({virtual_ms}), all.value());
    fmt::print("{} passed, {} failed\n", static_cast<std::int64_t>(options.seeds) - failed, failed + missing);
    return failed + missing == 0 ? 0 : 1;
}

}  // namespace tandem::apps

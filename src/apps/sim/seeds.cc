// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "apps/read_words.h"
#include "apps/sim/figures.h"
#include "apps/sim/input.h"
#include "apps/sim/verbs.h"
#include "base/assert.h"
#include "base/digest.h"
#include "sim/probes.h"
#include "sim/shrink.h"
#include "sim/world.h"

namespace tandem::apps {
namespace {

constexpr std::int64_t seed_max = std::numeric_limits<std::int64_t>::max() / 2;

struct Options {
    std::int64_t seeds = 2000;
    std::int64_t from = 1;
    std::int64_t seed = 0;
    bool verbose = false;
    bool probes = false;
    std::string shrink{};
    std::string replay{};
};

void describe(CLI::App& app, Options& options) {
    auto* seeds = app.add_option("--seeds", options.seeds, "how many seeds to run")
                      ->check(CLI::Range(1, 100'000'000))
                      ->capture_default_str();
    auto* from = app.add_option("--from", options.from, "the first of them")
                     ->check(CLI::Range(std::int64_t{0}, seed_max))
                     ->capture_default_str();
    app.add_option("--seed", options.seed, "this one alone")
        ->check(CLI::Range(std::int64_t{0}, seed_max))
        ->excludes(seeds)
        ->excludes(from);
    app.add_flag("--digests,--verbose", options.verbose,
                 "a line a seed, the same on every compiler");
    app.add_flag("--probes", options.probes, "how often each rare path was taken");
    app.add_option("--shrink", options.shrink,
                   "make the first seed that breaks a rule smaller, and keep what is left here");
    app.add_option("--replay", options.replay, "run what --shrink kept")
        ->excludes(seeds)
        ->excludes(from)
        ->excludes("--seed")
        ->excludes("--shrink");
    app.footer(sim_verbs());
}

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

void print_seed(const sim::SeedResult& result) {
    std::string faults;
    for (const auto& [fault, count] : result.faults)
        faults += fmt::format(" {}={}", sim::name_of(fault), count);
    fmt::print(
        "seed {}: digest {:016x}, {} inputs, {} batches, {} jobs, {} starts, {} crashes, {} "
        "virtual;{}\n",
        result.seed, result.digest, result.inputs, result.batches, result.jobs, result.starts,
        result.crashes, render_duration({result.virtual_ms}), faults);
}

std::string size_of(const sim::SeedResult& result) {
    return fmt::format("{} operations, {} faults, {} inputs, {} batches",
                       result.happened.operations.size(), result.happened.strikes.size(),
                       result.inputs, result.batches);
}

// What is left of a seed that broke a rule, as a file.
void keep_smaller(std::uint64_t seed, const std::string& path) {
    const auto shrunk = sim::shrink_seed(seed);
    TANDEM_ASSERT(shrunk.has_value(), "a seed is the same whenever it runs");
    fmt::print("  made smaller in {} runs: from {} to {}\n  now: {}\n", shrunk->runs,
               size_of(shrunk->whole), size_of(shrunk->least), shrunk->least.violation);
    const Status written = write_text(path, sim::render_case(shrunk->least.happened));
    fmt::print("  {}\n", written ? "again: ./dev sim --replay " + path : written.error().message);
}

int replay_case(const std::string& path) {
    const auto played = [&]() -> Result<sim::SeedResult> {
        TANDEM_LET(text, read_trace(path));
        TANDEM_LET(kept, sim::parse_case(text.text));
        return sim::play_case(kept);
    }();
    if (!played) {
        const Error& error = played.error();
        return refuse("--replay", {error.code,
                                   error.field.empty() ? error.message
                                                       : fmt::format("{}: {}: {}", path,
                                                                     error.field, error.message),
                                   {}});
    }
    fmt::print("seed {}, {}\n", played->seed, size_of(*played));
    if (!played->violation.empty()) fmt::print("broke a rule: {}\n", played->violation);
    fmt::print("{} passed, {} failed\n", played->violation.empty() ? 1 : 0,
               played->violation.empty() ? 0 : 1);
    return played->violation.empty() ? 0 : 1;
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
    CLI::App app("Seeds of a faulty world around the server's own core; says which rule broke",
                 "tandem sim");
    Options options;
    describe(app, options);
    if (const auto code = read_words(app, words)) return *code;
    if (!options.replay.empty()) return replay_case(options.replay);
    const bool one = app.count("--seed") > 0;
    const auto from = static_cast<std::uint64_t>(one ? options.seed : options.from);
    const auto seeds = static_cast<std::uint64_t>(one ? 1 : options.seeds);
    set_reached_sink(count_probe);
    const auto begin = std::chrono::steady_clock::now();
    Digest all;
    std::int64_t failed = 0, inputs = 0, crashes = 0, virtual_ms = 0;
    for (std::uint64_t seed = from; seed < from + seeds; ++seed) {
        const sim::SeedResult result = sim::World(seed).run();
        all.add(static_cast<std::int64_t>(result.digest));
        inputs += result.inputs;
        crashes += result.crashes;
        virtual_ms += result.virtual_ms;
        if (options.verbose) print_seed(result);
        if (result.violation.empty()) continue;
        ++failed;
        fmt::print("seed {} broke a rule: {}\n  again: ./dev sim --seed {}\n", seed,
                   result.violation, seed);
        if (failed > 1) continue;
        if (!options.shrink.empty())
            keep_smaller(seed, options.shrink);
        else
            fmt::print("  smaller: ./dev sim --seed {} --shrink FILE\n", seed);
    }
    constexpr std::uint64_t enough_seeds = 500;
    const std::int64_t missing = seeds >= enough_seeds ? missing_probes() : 0;
    if (options.probes)
        for (const auto& [probe, count] : probe_counts()) fmt::print("{:>10}  {}\n", count, probe);
    const double wall =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    // Digests are compared between compilers: nothing else may differ in what is said.
    if (!options.verbose)
        fmt::print(
            "{} seeds in {:.1f} s: {} inputs, {} crashes, {} virtual, digest of all {:016x}\n",
            seeds, wall, inputs, crashes, render_duration({virtual_ms}), all.value());
    fmt::print("{} passed, {} failed\n", static_cast<std::int64_t>(seeds) - failed,
               failed + missing);
    return failed + missing == 0 ? 0 : 1;
}

}  // namespace tandem::apps

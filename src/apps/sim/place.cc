// SPDX-License-Identifier: Apache-2.0
// tandem sim place: what part of the devices a placement policy gets allocated on a public trace.
#include "sim/place/place.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <thread>

#include "apps/read_words.h"
#include "apps/sim/input.h"
#include "apps/sim/verbs.h"
#include "sim/place/answer.h"

namespace tandem::apps {
namespace {

struct Question {
    std::string nodes{};
    std::string pods{};
    std::string policy = "tandem";
    std::string seeds = "42..51";
    std::int64_t load = 130;
    bool json = false;
};

void describe(CLI::App& app, Question& question) {
    app.add_option("--nodes", question.nodes, "CSV: sn,cpu_milli,memory_mib,gpu,model")->required();
    app.add_option("--pods", question.pods,
                   "CSV: name,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec]")
        ->required();
    app.add_option("--policy", question.policy,
                   "random, dotprod, clustering, packing, bestfit, fgd or tandem");
    app.add_option("--seeds", question.seeds, "A, A..B or a list of these");
    app.add_option("--load", question.load, "demand to arrive, percent of all devices");
    app.add_flag("--json", question.json, "one JSON object instead of a table");
}

// Seeds are independent: a few threads share them, and the order of the results is that of the
// seeds.
std::vector<sim::PlaceCurves> run_seeds(const sim::PlaceWorkload& work,
                                        const sim::PlaceOptions& options,
                                        const std::vector<std::uint64_t>& seeds) {
    std::vector<sim::PlaceCurves> runs(seeds.size());
    std::atomic<std::size_t> next = 0;
    const auto work_on = [&] {
        for (std::size_t i = next++; i < seeds.size(); i = next++)
            runs[i] = sim::run_place(work, options, seeds[i]).curves;
    };
    std::jthread other(work_on);
    work_on();
    other.join();
    return runs;
}

Result<sim::PlaceAnswer> answer(const Question& question) {
    const auto policy = sched::policy_of(question.policy);
    if (!policy)
        return invalid_field("--policy",
                             "--policy: must be random, dotprod, clustering, packing, "
                             "bestfit, fgd or tandem, is \"" +
                                 question.policy + "\"");
    if (question.load < 1 || question.load > 1000)
        return invalid_field("--load", "--load: must be 1 to 1000 percent");
    if (question.nodes == "-" && question.pods == "-")
        return invalid_field("--pods", "--nodes and --pods: only one can be standard input");
    TANDEM_LET(seeds, parse_seeds(question.seeds));
    TANDEM_LET(nodes, read_trace(question.nodes));
    TANDEM_LET(pods, read_trace(question.pods));
    TANDEM_LET(work, sim::read_place_workload(nodes, pods));
    sim::PlaceOptions options{.policy = *policy, .load = question.load};
    sim::PlaceAnswer found{.policy = *policy, .seeds = seeds};
    found.runs = run_seeds(work, options, seeds);
    if (*policy == sched::Policy::tandem) {
        options.mix = sim::MixSource::learned;
        found.learned = run_seeds(work, options, seeds);
    }
    return found;
}

}  // namespace

int sim_place(const std::vector<std::string>& words) {
    CLI::App app("Packs pods on nodes under a placement policy, and says what gets allocated",
                 "tandem sim place");
    Question question;
    describe(app, question);
    if (const auto code = read_words(app, words)) return *code;
    const Result<sim::PlaceAnswer> found = answer(question);
    if (!found) return refuse("place", found.error());
    std::fputs((question.json ? sim::render_json(*found) : sim::render_table(*found)).c_str(),
               stdout);
    return 0;
}

}  // namespace tandem::apps

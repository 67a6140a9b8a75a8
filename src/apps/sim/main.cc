// SPDX-License-Identifier: Apache-2.0
// tandem-sim: the simulator. Options alone run seeds and say which rule broke; each verb answers
// one question about a workload or a public trace.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/sim/verbs.h"

namespace tandem::apps {
namespace {

struct Verb {
    std::string_view name;
    std::string_view summary;
    int (*act)(const std::vector<std::string>& words);
};
constexpr Verb verbs[] = {
    {"backfill", "batch jobs of a trace, by backfilling policies", sim_backfill},
    {"deadlines", "elastic jobs with deadlines of a trace", sim_deadlines},
    {"jobs", "training jobs of a trace, by queueing policies", sim_jobs},
    {"kueue", "a load of Kueue's generator, by the server's core", sim_kueue},
    {"place", "pods of a trace on nodes, by placement policies", sim_place},
    {"run", "a workload file, with what it expects", sim_run},
    {"what-if", "a server's exported history, as it was and under a change", sim_what_if},
};

int act(const std::vector<std::string>& words) {
    if (words.empty()) {
        fmt::print(stderr, "Say what to simulate: tandem sim --seeds N, or a verb.\n{}",
                   sim_verbs());
        return 2;
    }
    if (words.front().starts_with("-")) return sim_seeds(words);
    const auto* verb = std::ranges::find(verbs, words.front(), &Verb::name);
    if (verb != std::end(verbs)) return verb->act({words.begin() + 1, words.end()});
    fmt::print(stderr, "tandem sim: \"{}\" is no verb\n{}", words.front().substr(0, 40),
               sim_verbs());
    return 2;
}

}  // namespace

std::string sim_verbs() {
    std::string text = "Verbs (tandem sim VERB --help):\n";
    for (const Verb& verb : verbs) text += fmt::format("  {:<10} {}\n", verb.name, verb.summary);
    return text;
}

}  // namespace tandem::apps

int main(int argc, char** argv) {
    return tandem::apps::act({argv + 1, argv + argc});
}

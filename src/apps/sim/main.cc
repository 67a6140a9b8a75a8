// SPDX-License-Identifier: Apache-2.0
// tandem-sim: the simulator. Without a verb it runs seeds and says which rule broke; each verb
// answers one question about a public trace.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "apps/sim/verbs.h"

namespace {

using Verb = int (*)(const std::vector<std::string>& words);

const std::map<std::string, Verb>& verbs() {
    static const std::map<std::string, Verb> table{
        {"backfill", tandem::apps::sim_backfill},
        {"deadlines", tandem::apps::sim_deadlines},
        {"jobs", tandem::apps::sim_jobs},
        {"place", tandem::apps::sim_place},
        {"run", tandem::apps::sim_run},
    };
    return table;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty() || words.front().starts_with("--")) {
        if (!words.empty() && words.front() == "--help") {
            std::fputs(tandem::apps::sim_usage, stdout);
            return 0;
        }
        return tandem::apps::sim_seeds(words);
    }
    if (const auto verb = verbs().find(words.front()); verb != verbs().end())
        return verb->second({words.begin() + 1, words.end()});
    std::fprintf(stderr, "tandem-sim: unknown verb \"%s\"\n%s", words.front().c_str(),
                 tandem::apps::sim_usage);
    return 2;
}

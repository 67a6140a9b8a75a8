// SPDX-License-Identifier: Apache-2.0
#include "apps/host_verbs.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/control.h"
#include "cli/suggest.h"

namespace tandem::apps {
namespace {

using Act = int (*)(const std::vector<std::string>& arguments);

struct Plain {
    const char* name;
    const char* summary;
    Act act;
    std::vector<std::string> words{};         // that it takes, as they are
    std::vector<std::string> option_lines{};  // for its help
    std::vector<std::string> examples{};
};

std::string help_of(const Plain& verb) {
    std::string text = fmt::format("{}\nUsage: tandem {} [OPTIONS]\n", verb.summary, verb.name);
    text += "\nOptions:\n  -h, --help  this help\n";
    for (const std::string& line : verb.option_lines) text += "  " + line + "\n";
    text += "\nExamples:\n";
    for (const std::string& line : verb.examples) text += "  " + line + "\n";
    return text;
}

const std::vector<std::string> output_words{
    "-o",      "--output",      "json",          "yaml",          "table",
    "-o=json", "-o=yaml",       "-o=table",      "-ojson",        "-oyaml",
    "-otable", "--output=json", "--output=yaml", "--output=table"};
constexpr const char* output_line = "-o, --output table|json|yaml";

bool is_help(const std::string& word) {
    return word == "-h" || word == "--help";
}

cli::HostVerb plain(Plain verb) {
    return {verb.name, verb.summary, [verb](const std::vector<std::string>& arguments) {
                if (std::ranges::any_of(arguments, is_help)) {
                    fmt::print("{}", help_of(verb));
                    return 0;
                }
                for (const std::string& word : arguments) {
                    if (std::ranges::find(verb.words, word) != verb.words.end()) continue;
                    fmt::print(stderr,
                               "tandem {}: \"{}\" is not known here{}\nTry: tandem {} --help\n",
                               verb.name, word.substr(0, 40), cli::did_you_mean(word, verb.words),
                               verb.name);
                    return 2;
                }
                return verb.act(arguments);
            }};
}

}  // namespace

std::vector<cli::HostVerb> host_verbs() {
    return {
        {"up", "Start server and gateway on this machine", up},
        plain({.name = "down",
               .summary = "Stop them; --all ends the tasks too",
               .act = down,
               .words = {"--all"},
               .option_lines = {"--all       cancel jobs and end every task first"},
               .examples = {"tandem down", "tandem down --all"}}),
        plain({.name = "status",
               .summary = "What runs on this machine",
               .act = status,
               .words = output_words,
               .option_lines = {output_line},
               .examples = {"tandem status", "tandem status -o json"}}),
        {"admin", "Backup, restore, check, history, old tasks, lost keys: see tandem admin --help",
         admin},
        {"sim", "Run the simulator (tandem-sim)", sim},
        plain({.name = "doctor",
               .summary = "Check this machine and its installation",
               .act = doctor,
               .words = output_words,
               .option_lines = {output_line},
               .examples = {"tandem doctor", "tandem doctor -o json"}}),
    };
}

}  // namespace tandem::apps

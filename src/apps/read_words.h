// SPDX-License-Identifier: Apache-2.0
// How the programs of apps read a verb's words: options are declared to CLI11, and what is wrong is
// said alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tandem::apps {

// Reads the words after a verb into what `app` declares. The exit code when there is nothing to do:
// help was asked for (0), or the words are wrong (2, said on standard error).
std::optional<int> read_words(CLI::App& app, const std::vector<std::string>& words);

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
#include "apps/read_words.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace tandem::apps {

std::optional<int> read_words(CLI::App& app, const std::vector<std::string>& words) {
    try {
        app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 wants them
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", app.help());
        return 0;
    } catch (const CLI::ParseError& error) {
        fmt::print(stderr, "{}: {}\nTry: {} --help\n", app.get_name(), error.what(),
                   app.get_name());
        return 2;
    }
    return std::nullopt;
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
#include "cli/suggest.h"

#include <algorithm>

namespace tandem::cli {
namespace {

constexpr std::size_t word_max = 64;

// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1,
                                               std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, changed});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    return cost[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
    if (word.empty() || word.size() > word_max) return std::nullopt;
    std::size_t best = word.size() <= 4 ? 2 : 3;  // must be below it
    std::optional<std::string> found;
    for (const std::string& candidate : known) {
        const std::size_t edits = distance(word, candidate);
        if (edits >= best) continue;
        best = edits;
        found = candidate;
    }
    return found;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
    const auto found = nearest(word, known);
    return found ? "; did you mean \"" + *found + "\"?" : std::string();
}

}  // namespace tandem::cli

// SPDX-License-Identifier: Apache-2.0
// FlavorChoice: which flavors a replica may have. "a|b,c": either of a and b, whichever suits
// better, else c. Empty: any. Inside of sched only.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "sched/names.h"

namespace tandem::sched {

struct FlavorChoice {
    std::vector<std::vector<int>> tiers{};  // in order of preference; empty: any

    bool is_any() const { return tiers.empty(); }
    // The only one; no_name when there are several.
    int single() const {
        return tiers.size() == 1 && tiers.front().size() == 1 ? tiers.front().front() : no_name;
    }
    bool admits(int flavor) const {
        return is_any() || std::ranges::any_of(tiers, [flavor](const std::vector<int>& tier) {
                   return std::ranges::find(tier, flavor) != tier.end();
               });
    }
    std::vector<int> all() const {
        std::vector<int> sorted;
        for (const std::vector<int>& tier : tiers)
            sorted.insert(sorted.end(), tier.begin(), tier.end());
        std::ranges::sort(sorted);
        return sorted;
    }
};

inline FlavorChoice parse_choice(Names& names, std::string_view text) {
    FlavorChoice choice;
    while (!text.empty()) {
        const std::string_view tier = text.substr(0, text.find(','));
        text.remove_prefix(std::min(tier.size() + 1, text.size()));
        std::vector<int> flavors;
        for (std::string_view rest = tier; !rest.empty();) {
            const std::string_view word = rest.substr(0, rest.find('|'));
            rest.remove_prefix(std::min(word.size() + 1, rest.size()));
            if (!word.empty()) flavors.push_back(names.intern(word));
        }
        if (!flavors.empty()) choice.tiers.push_back(std::move(flavors));
    }
    return choice;
}

}  // namespace tandem::sched

// SPDX-License-Identifier: Apache-2.0
// Delta debugging: of a list for which a test fails, a short one for which it fails still. Used by
// tests of properties and by the simulator, whose worlds and sequences are lists of steps.
// Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 2002
// (ddmin, by removal). Nothing can be removed alone from the result, unless `runs` was used up.
// Thread rule: pure; `fails` is called up to `runs` times, first with parts, never with the whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tandem {

template <class T, class Fails>
std::vector<T> shrink_list(std::vector<T> items, const Fails& fails, std::int64_t& runs) {
    std::size_t parts = 2;
    while (!items.empty()) {
        parts = std::min(parts, items.size());
        bool smaller = false;
        for (std::size_t part = 0; part < parts && !smaller; ++part) {
            if (runs == 0) return items;
            const std::size_t begin = items.size() * part / parts;
            const std::size_t end = items.size() * (part + 1) / parts;
            std::vector<T> rest(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(begin));
            rest.insert(rest.end(), items.begin() + static_cast<std::ptrdiff_t>(end), items.end());
            runs -= 1;
            if (!fails(rest)) continue;
            items = std::move(rest);
            smaller = true;
        }
        if (smaller)
            parts = std::max<std::size_t>(parts - 1, 2);
        else if (parts == items.size())
            return items;
        else
            parts *= 2;
    }
    return items;
}

}  // namespace tandem

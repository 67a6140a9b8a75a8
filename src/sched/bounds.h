// SPDX-License-Identifier: Apache-2.0
// Every limit on the way to the root that a need meets (QuotaTree::find_bound names the first): what is
// missing at each, as if those below had been raised. All of them raised, the need fits. Works on any holder
// of quota rows. Inside of sched only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "sched/quota.h"

namespace tandem::sched {

enum class LimitKind : std::uint8_t { nominal, borrow_limit, max };
constexpr std::string_view name_of(LimitKind kind) {
    return kind == LimitKind::nominal ? "nominal" : kind == LimitKind::max ? "max" : "borrowLimit";
}

struct Limit {
    int node = -1;
    LimitKind kind = LimitKind::nominal;
    std::int64_t used = 0;
    std::int64_t limit = 0;
    std::int64_t missing = 0;
};

// row_of(node) -> const QuotaRow&; parent_of(node) -> int; f(Limit). `empty`: as if nothing was used.
template <class RowOf, class ParentOf, class F>
void each_limit(int node, std::int64_t need, View view, bool empty, RowOf row_of,
                ParentOf parent_of, F f) {
    const auto over = [](std::int64_t amount, std::int64_t limit) {
        return std::max<std::int64_t>(0, amount - limit);
    };
    if (need == 0 || !row_of(node).limited) return;
    std::int64_t rest = need;
    for (; node >= 0; node = parent_of(node)) {
        const QuotaRow& here = row_of(node);
        const std::int64_t used = empty ? 0 : here.used[at(view)];
        const std::int64_t spill = empty ? 0 : here.spill[at(view)];
        if (here.max != model::unlimited && used + need > here.max)
            f(Limit{node, LimitKind::max, used, here.max, used + need - here.max});
        if (rest == 0) continue;
        if (parent_of(node) < 0) {
            if (here.quota - spill < rest)
                f(Limit{node, LimitKind::nominal, spill, here.quota, rest - (here.quota - spill)});
            continue;
        }
        rest -= std::min(rest, over(here.kept, spill));
        if (here.borrow_limit == model::unlimited) continue;
        const std::int64_t room =
            here.quota - here.kept - over(spill, here.kept) + here.borrow_limit;
        if (rest > room)
            f(Limit{node, LimitKind::borrow_limit, used, here.quota + here.borrow_limit,
                    rest - room});
    }
}

}  // namespace tandem::sched

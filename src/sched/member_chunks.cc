// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sched/inside.h"

namespace tandem::sched {

void change_members(std::vector<Card<MemberChunk>>& chunks, MemberChanges& changes) {
    std::ranges::sort(changes.gone);
    std::ranges::sort(changes.come);
    std::vector<Card<MemberChunk>> after;
    after.reserve(chunks.size() + changes.come.size() / chunk_max + 1);
    auto gone = changes.gone.cbegin();
    auto come = changes.come.cbegin();
    const auto emit = [&after](MemberChunk& all) {
        for (std::size_t from = 0; from < all.size(); from += chunk_max) {
            const std::size_t to = std::min(all.size(), from + chunk_max);
            after.push_back(std::make_shared<const MemberChunk>(
                all.begin() + static_cast<std::ptrdiff_t>(from),
                all.begin() + static_cast<std::ptrdiff_t>(to)));
        }
    };
    if (chunks.empty()) {
        MemberChunk all(changes.come);
        emit(all);
        chunks = std::move(after);
        return;
    }
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        const bool last = i + 1 == chunks.size();
        const auto belongs = [&](const Member& member) {
            return last || member < chunks[i + 1]->front();
        };
        const bool untouched = (gone == changes.gone.cend() || !belongs(*gone)) &&
                               (come == changes.come.cend() || !belongs(*come));
        if (untouched) {
            after.push_back(chunks[i]);
            continue;
        }
        MemberChunk kept;
        for (const Member& member : *chunks[i]) {
            if (gone != changes.gone.cend() && gone->id == member.id)
                ++gone;
            else
                kept.push_back(member);
        }
        const auto first = come;
        while (come != changes.come.cend() && belongs(*come)) ++come;
        MemberChunk all;
        std::merge(kept.begin(), kept.end(), first, come, std::back_inserter(all));
        emit(all);
    }
    chunks = std::move(after);
}

}  // namespace tandem::sched

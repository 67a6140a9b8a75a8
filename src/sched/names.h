// SPDX-License-Identifier: Apache-2.0
// Names: dense numbers for the names that the planner's hot loops compare (nodes, flavors, pools,
// queues, projects). A name keeps its number for good; no decision depends on which number it has.
// Thread rule: one owner.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/digest.h"

namespace tandem::sched {

inline constexpr int no_name = -1;

class Names {
  public:
    int intern(std::string_view text) {
        if (text.empty()) return no_name;
        if (const auto at = index_.find(text); at != index_.end()) return at->second;
        Digest digest;
        digest.add(text);
        texts_.emplace_back(text);
        fingerprints_.push_back(digest.value());
        const int number = static_cast<int>(texts_.size()) - 1;
        index_.emplace(texts_.back(), number);
        return number;
    }
    int find(std::string_view text) const {
        const auto at = index_.find(text);
        return at == index_.end() ? no_name : at->second;
    }
    int size() const { return static_cast<int>(texts_.size()); }
    const std::string& text(int number) const { return number < 0 ? empty_ : texts_[at(number)]; }
    // Of the text, so that digests are the same whatever the numbers are.
    std::uint64_t fingerprint(int number) const {
        return number < 0 ? 0 : fingerprints_[at(number)];
    }

  private:
    static std::size_t at(int number) { return static_cast<std::size_t>(number); }

    std::deque<std::string> texts_{};  // keeps its elements in place: the index points into it
    std::vector<std::uint64_t> fingerprints_{};
    std::unordered_map<std::string_view, int> index_{};
    std::string empty_{};
};

}  // namespace tandem::sched

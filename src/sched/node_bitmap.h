// SPDX-License-Identifier: Apache-2.0
// NodeBitmap: a set of node positions that finds its first member from a position on in a few word
// reads. Always in order of position, whatever the order of the changes was. Thread rule: one
// owner.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::sched {

class NodeBitmap {
  public:
    void insert(int position) {
        const std::size_t word = static_cast<std::size_t>(position) / 64;
        if (word >= words_.size()) {
            words_.resize(word + 1);
            summary_.resize(word / 64 + 1);
        }
        words_[word] |= bit(static_cast<std::size_t>(position));
        summary_[word / 64] |= bit(word);
    }
    void erase(int position) {
        const std::size_t word = static_cast<std::size_t>(position) / 64;
        if (word >= words_.size()) return;
        words_[word] &= ~bit(static_cast<std::size_t>(position));
        if (words_[word] == 0) summary_[word / 64] &= ~bit(word);
    }
    bool contains(int position) const {
        const std::size_t word = static_cast<std::size_t>(position) / 64;
        return word < words_.size() &&
               (words_[word] & bit(static_cast<std::size_t>(position))) != 0;
    }
    // First member at or after `from`; -1 when there is none.
    int first(int from = 0) const {
        const std::size_t start = static_cast<std::size_t>(from);
        std::size_t word = start / 64;
        if (word >= words_.size()) return -1;
        if (const std::uint64_t rest = words_[word] & (~0ULL << (start % 64)); rest != 0)
            return found(word, rest);
        ++word;
        for (std::size_t block = word / 64; block < summary_.size(); ++block) {
            const std::uint64_t mask = block == word / 64 ? ~0ULL << (word % 64) : ~0ULL;
            if (const std::uint64_t rest = summary_[block] & mask; rest != 0) {
                const std::size_t at =
                    block * 64 + static_cast<std::size_t>(std::countr_zero(rest));
                return found(at, words_[at]);
            }
        }
        return -1;
    }
    // First member of both at or after `from`; -1 when there is none.
    int first_common(const NodeBitmap& other, int from = 0) const {
        const std::size_t start = static_cast<std::size_t>(from);
        const std::size_t end = std::min(words_.size(), other.words_.size());
        std::size_t word = start / 64;
        if (word >= end) return -1;
        const std::uint64_t here = words_[word] & other.words_[word] & (~0ULL << (start % 64));
        if (here != 0) return found(word, here);
        ++word;
        for (std::size_t block = word / 64; block * 64 < end; ++block) {
            std::uint64_t rest = summary_[block] & other.summary_[block];
            if (block == word / 64) rest &= ~0ULL << (word % 64);
            for (; rest != 0; rest &= rest - 1) {
                const std::size_t at =
                    block * 64 + static_cast<std::size_t>(std::countr_zero(rest));
                if (const std::uint64_t both = words_[at] & other.words_[at]; both != 0)
                    return found(at, both);
            }
        }
        return -1;
    }

  private:
    static std::uint64_t bit(std::size_t position) { return 1ULL << (position % 64); }
    static int found(std::size_t word, std::uint64_t bits) {
        return static_cast<int>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
    }

    std::vector<std::uint64_t> words_{};
    std::vector<std::uint64_t> summary_{};  // one bit a word that is not zero
};

// Of a set, or of what it has in common with `within`, where that is not null.
inline int first_in(const NodeBitmap& nodes, const NodeBitmap* within, int from) {
    return within == nullptr ? nodes.first(from) : nodes.first_common(*within, from);
}

}  // namespace tandem::sched

// SPDX-License-Identifier: Apache-2.0
// UndoMap: an ordered map that remembers how it was. The log serves three masters: undoing a batch whose
// commit failed, undoing one command of an all-or-none request, and telling which rows a batch has touched.
//
// edit() and erase() keep a copy of the value before the first write since the last mark. `Index` is told of
// every value that appears or goes, also when undone, and may keep its address until told that it goes; what it
// indexes must not change by edit(). forget() also gives back what a large batch has taken.
// Thread rule: one owner.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace tandem {

template <class V>
struct NoIndex {
    void added(const V&) {}
    void removed(const V&) {}
};

template <class K, class V, class Index = NoIndex<V>>
class UndoMap {
  public:
    const V* find(const K& key) const {
        const auto it = rows_.find(key);
        return it == rows_.end() ? nullptr : &it->second;
    }
    const V& get(const K& key) const {
        const V* value = find(key);
        TANDEM_ASSERT(value, "row must exist");
        return *value;
    }
    V& edit(const K& key) {
        const auto it = rows_.find(key);
        TANDEM_ASSERT(it != rows_.end(), "edited row must exist");
        remember(key, &it->second);
        return it->second;
    }
    // edit() of a row that each_touched() shows, without a further copy: a rollback to the mark before its first
    // touch takes this back too, one to a later mark does not. It moves nothing that each_touched() has shown.
    V& edit_touched(const K& key) {
        const auto it = rows_.find(key);
        TANDEM_ASSERT(it != rows_.end(), "edited row must exist");
        return it->second;
    }
    V& insert(const K& key, V value) {
        remember(key, nullptr);
        const auto [it, fresh] = rows_.try_emplace(key, std::move(value));
        TANDEM_ASSERT(fresh, "inserted row must be new");
        index_.added(it->second);
        return it->second;
    }
    V& put(const K& key, V value) {
        if (!find(key)) return insert(key, std::move(value));
        return edit(key) = std::move(value);
    }
    void erase(const K& key) {
        const auto it = rows_.find(key);
        if (it == rows_.end()) return;
        remember(key, &it->second);
        index_.removed(it->second);
        graves_.insert_or_assign(key, std::move(it->second));
        rows_.erase(it);
    }
    // How a row that was erased since the last forget() was at its end; null when none was.
    const V* find_erased(const K& key) const {
        const auto it = graves_.find(key);
        return it == graves_.end() ? nullptr : &it->second;
    }
    // Puts a stored row back without a trace; only while starting.
    void restore(const K& key, V value) {
        const auto [it, fresh] = rows_.try_emplace(key, std::move(value));
        TANDEM_ASSERT(fresh, "restored row must be new");
        index_.added(it->second);
    }

    const std::map<K, V>& rows() const { return rows_; }
    const Index& index() const { return index_; }
    std::size_t size() const { return rows_.size(); }

    std::size_t mark() {
        floor_ = log_.size();
        return floor_;
    }
    void rollback(std::size_t mark) {
        while (log_.size() > mark) {
            take_back(log_.back());
            log_.pop_back();
        }
        last_.clear();
        floor_ = mark;
    }
    void forget() {
        if (log_.capacity() > log_kept_max) std::vector<Logged>().swap(log_);
        log_.clear();
        last_.clear();
        graves_.clear();
        floor_ = 0;
    }
    // Calls f(key, before or null, now or null) once for each touched row, in key order.
    template <class F>
    void each_touched(F&& f) const {
        std::map<K, const V*> first;
        for (const Logged& entry : log_) first.try_emplace(entry.key, entry.before ? &*entry.before : nullptr);
        for (const auto& [key, before] : first) f(key, before, find(key));
    }

  private:
    struct Logged {
        K key;
        std::optional<V> before;
    };
    static constexpr std::size_t log_kept_max = 64;
    void remember(const K& key, const V* now) {
        const auto it = last_.find(key);
        if (it != last_.end() && it->second >= floor_) return;
        last_[key] = log_.size();
        log_.push_back({key, now ? std::optional<V>(*now) : std::nullopt});
    }
    void take_back(Logged& entry) {
        graves_.erase(entry.key);
        const auto it = rows_.find(entry.key);
        if (!entry.before) {
            if (it == rows_.end()) return;
            index_.removed(it->second);
            rows_.erase(it);
        } else if (it == rows_.end()) {
            index_.added(rows_.try_emplace(entry.key, std::move(*entry.before)).first->second);
        } else {
            // It may have gone and come again as another one, so the index has to hear of both.
            index_.removed(it->second);
            it->second = std::move(*entry.before);
            index_.added(it->second);
        }
    }

    std::map<K, V> rows_;
    std::map<K, V> graves_;
    std::vector<Logged> log_;
    std::map<K, std::size_t> last_;  // newest log entry of a key
    std::size_t floor_ = 0;          // entries below belong to an outer mark
    Index index_;
};

}  // namespace tandem

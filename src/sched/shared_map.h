// SPDX-License-Identifier: Apache-2.0
// SharedMap<V>: a map from int64 keys of which a copy costs nothing: copies share their leaves, and a change
// copies the leaf it is in and the two nodes above, once per stamp. Keys that follow each other share a leaf.
//
//   root (64) --> middle (64) --> leaf: (key, value) in order of keys
//
// The owner changes one copy under a stamp that grows with each handing out of copies; those that were handed
// out never change. Order of each(): by leaf, then key; the same for the same keys. Thread rule: a copy that
// was handed out may be read from any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tandem::sched {

template <class V>
class SharedMap {
  public:
    using Item = std::pair<std::int64_t, V>;

    const V* find(std::int64_t key) const {
        const Leaf* leaf = leaf_of(key);
        if (leaf == nullptr) return nullptr;
        const auto at = std::ranges::lower_bound(leaf->items, key, {}, &Item::first);
        return at == leaf->items.end() || at->first != key ? nullptr : &at->second;
    }
    bool contains(std::int64_t key) const { return find(key) != nullptr; }
    std::size_t size() const { return size_; }

    // f(key, value); one that answers false ends the walk.
    template <class F>
    void each(F&& f) const {
        if (!root_) return;
        for (const auto& middle : root_->below) {
            if (!middle) continue;
            for (const auto& leaf : middle->below) {
                if (!leaf) continue;
                for (const Item& item : leaf->items) {
                    if constexpr (std::is_same_v<decltype(f(item.first, item.second)), bool>) {
                        if (!f(item.first, item.second)) return;
                    } else {
                        f(item.first, item.second);
                    }
                }
            }
        }
    }

    void put(std::int64_t key, V value, std::uint64_t stamp) {
        Leaf& leaf = own_leaf(key, stamp);
        const auto at = std::ranges::lower_bound(leaf.items, key, {}, &Item::first);
        if (at != leaf.items.end() && at->first == key) {
            at->second = std::move(value);
            return;
        }
        leaf.items.insert(at, {key, std::move(value)});
        size_ += 1;
    }
    void erase(std::int64_t key, std::uint64_t stamp) {
        if (!contains(key)) return;
        Leaf& leaf = own_leaf(key, stamp);
        leaf.items.erase(std::ranges::lower_bound(leaf.items, key, {}, &Item::first));
        size_ -= 1;
    }
    // Identity of the leaf that a key is in: equal in two copies exactly when they share it.
    const void* leaf_at(std::int64_t key) const { return leaf_of(key); }

  private:
    static constexpr std::size_t fan = 64;
    struct Leaf {
        std::uint64_t stamp = 0;
        std::vector<Item> items{};
    };
    struct Middle {
        std::uint64_t stamp = 0;
        std::array<std::shared_ptr<Leaf>, fan> below{};
    };
    struct Root {
        std::uint64_t stamp = 0;
        std::array<std::shared_ptr<Middle>, fan> below{};
    };
    static std::size_t upper(std::int64_t key) {
        return (static_cast<std::uint64_t>(key) >> 11) % fan;
    }
    static std::size_t lower(std::int64_t key) {
        return (static_cast<std::uint64_t>(key) >> 5) % fan;
    }

    const Leaf* leaf_of(std::int64_t key) const {
        if (!root_ || !root_->below[upper(key)]) return nullptr;
        return root_->below[upper(key)]->below[lower(key)].get();
    }
    template <class Node>
    static Node& own(std::shared_ptr<Node>& node, std::uint64_t stamp) {
        if (!node)
            node = std::make_shared<Node>();
        else if (node->stamp != stamp)
            node = std::make_shared<Node>(*node);
        node->stamp = stamp;
        return *node;
    }
    Leaf& own_leaf(std::int64_t key, std::uint64_t stamp) {
        Middle& middle = own(own(root_, stamp).below[upper(key)], stamp);
        return own(middle.below[lower(key)], stamp);
    }

    std::shared_ptr<Root> root_{};
    std::size_t size_ = 0;
};

}  // namespace tandem::sched

// SPDX-License-Identifier: Apache-2.0
// Table<T>: the objects of one kind, by row id, with the look-ups that every kind needs: by name, by uid, and
// for replicas by owner. Look-ups never decide an order; iteration is by row id.
//
// The index holds pointers to the rows, which stay where they are in their map, and no copy of a name: an object
// costs it two small nodes, three with an owner. Hashes stand in the nodes (the functions are not noexcept).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/undo_map.h"
#include "model/object.h"

namespace tandem::core {

struct RowName {
    std::string_view project;
    std::string_view name_space;
    std::string_view name;
    bool operator==(const RowName&) const = default;
};

// Both sides of a look-up: a stored row, or what is asked for.
struct ByName {
    using is_transparent = void;
    static RowName of(const RowName& asked) { return asked; }
    template <class T>
    static RowName of(const T* row) { return {row->meta.project, row->meta.name_space, row->meta.name}; }
    std::size_t operator()(const auto& one) const {
        const RowName name = of(one);
        const std::hash<std::string_view> hash;
        return (hash(name.project) * 31 + hash(name.name_space)) * 31 + hash(name.name);
    }
    bool operator()(const auto& a, const auto& b) const { return of(a) == of(b); }
};
struct ByUid {
    using is_transparent = void;
    static const Uid& of(const Uid& asked) { return asked; }
    template <class T>
    static const Uid& of(const T* row) { return row->meta.uid; }
    std::size_t operator()(const auto& one) const {
        std::size_t value = 0;
        for (std::uint8_t byte : of(one).bytes) value = value * 257 + byte;
        return value;
    }
    bool operator()(const auto& a, const auto& b) const { return of(a) == of(b); }
};

template <class T>
class ObjectIndex {
  public:
    void added(const T& object) {
        by_name_.insert(&object);
        by_uid_.insert(&object);
        if constexpr (requires { object.spec.owner_id; }) by_owner_.insert({object.spec.owner_id, object.meta.id});
    }
    void removed(const T& object) {
        by_name_.erase(&object);
        by_uid_.erase(&object);
        if constexpr (requires { object.spec.owner_id; }) by_owner_.erase({object.spec.owner_id, object.meta.id});
    }
    const T* find_named(const RowName& name) const {
        const auto it = by_name_.find(name);
        return it == by_name_.end() ? nullptr : *it;
    }
    const T* find_uid(const Uid& uid) const {
        const auto it = by_uid_.find(uid);
        return it == by_uid_.end() ? nullptr : *it;
    }
    std::vector<RowId> owned_by(RowId owner) const {  // in order of ids
        std::vector<RowId> ids;
        for (auto it = by_owner_.lower_bound({owner, RowId{}}); it != by_owner_.end() && it->first == owner; ++it)
            ids.push_back(it->second);
        return ids;
    }

  private:
    std::unordered_set<const T*, ByName, ByName> by_name_;
    std::unordered_set<const T*, ByUid, ByUid> by_uid_;
    std::set<std::pair<RowId, RowId>> by_owner_;
};

template <class T>
class Table : public UndoMap<RowId, T, ObjectIndex<T>> {
  public:
    const T* find_named(std::string_view project, std::string_view name_space, std::string_view name) const {
        return this->index().find_named({project, name_space, name});
    }
    const T* find_named(std::string_view name) const { return find_named("", "", name); }
    const T* find_uid(const Uid& uid) const { return this->index().find_uid(uid); }
};

}  // namespace tandem::core

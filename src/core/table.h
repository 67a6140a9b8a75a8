// SPDX-License-Identifier: Apache-2.0
// Table<T>: the objects of one kind, by row id, with the look-ups that every kind needs: by name, by uid, and
// for replicas by owner. Look-ups never decide an order; iteration is by row id.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "base/undo_map.h"
#include "model/object.h"

namespace tandem::core {

struct UidHash {
    std::size_t operator()(const Uid& uid) const noexcept {
        std::size_t value = 0;
        for (std::uint8_t byte : uid.bytes) value = value * 257 + byte;
        return value;
    }
};

template <class T>
class ObjectIndex {
  public:
    void added(const T& object) {
        by_name_[name_key(object.meta.project, object.meta.name_space, object.meta.name)] = object.meta.id;
        by_uid_[object.meta.uid] = object.meta.id;
        if constexpr (requires { object.spec.owner_id; }) by_owner_[object.spec.owner_id].insert(object.meta.id);
    }
    void removed(const T& object) {
        by_name_.erase(name_key(object.meta.project, object.meta.name_space, object.meta.name));
        by_uid_.erase(object.meta.uid);
        if constexpr (requires { object.spec.owner_id; }) {
            const auto it = by_owner_.find(object.spec.owner_id);
            it->second.erase(object.meta.id);
            if (it->second.empty()) by_owner_.erase(it);
        }
    }
    RowId by_name(const std::string& project, const std::string& name_space, const std::string& name) const {
        const auto it = by_name_.find(name_key(project, name_space, name));
        return it == by_name_.end() ? RowId{} : it->second;
    }
    RowId by_uid(const Uid& uid) const {
        const auto it = by_uid_.find(uid);
        return it == by_uid_.end() ? RowId{} : it->second;
    }
    std::set<RowId> owned_by(RowId owner) const {
        const auto it = by_owner_.find(owner);
        return it == by_owner_.end() ? std::set<RowId>{} : it->second;
    }

  private:
    static std::string name_key(const std::string& project, const std::string& name_space, const std::string& name) {
        std::string key;
        key.reserve(project.size() + name_space.size() + name.size() + 2);
        return key.append(project).append(1, '/').append(name_space).append(1, '/').append(name);
    }
    std::unordered_map<std::string, RowId> by_name_;
    std::unordered_map<Uid, RowId, UidHash> by_uid_;
    std::map<RowId, std::set<RowId>> by_owner_;
};

template <class T>
class Table : public UndoMap<RowId, T, ObjectIndex<T>> {
  public:
    const T* find_named(const std::string& project, const std::string& name_space, const std::string& name) const {
        return this->find(this->index().by_name(project, name_space, name));
    }
    const T* find_named(const std::string& name) const { return find_named("", "", name); }
    const T* find_uid(const Uid& uid) const { return this->find(this->index().by_uid(uid)); }
};

}  // namespace tandem::core

// SPDX-License-Identifier: Apache-2.0
// Tables: one Table of objects for each kind, in the order of Kind. What they are made of is compiled in
// tables.cc alone: every file of core uses some of them, and each would compile the maps and indexes anew.
#pragma once

#include <tuple>

#include "core/table.h"

// Calls what(Type) for each kind's type.
#define TANDEM_EACH_OBJECT_TYPE(what)                                                            \
    what(Project)                                                                                \
    what(Namespace)                                                                              \
    what(User)                                                                                   \
    what(ServiceAccount)                                                                         \
    what(RoleBinding)                                                                            \
    what(ApiKey)                                                                                 \
    what(Node)                                                                                   \
    what(Pool)                                                                                   \
    what(Queue)                                                                                  \
    what(Runtime)                                                                                \
    what(Job)                                                                                    \
    what(Service)                                                                                \
    what(Replica)                                                                                \
    what(Model)                                                                                  \
    what(ModelVersion)                                                                           \
    what(License)

namespace tandem {

#define TANDEM_TABLE_ELSEWHERE(T)                           \
    extern template class core::ObjectIndex<model::T>;      \
    extern template class UndoMap<RowId, model::T, core::ObjectIndex<model::T>>;
TANDEM_EACH_OBJECT_TYPE(TANDEM_TABLE_ELSEWHERE)
#undef TANDEM_TABLE_ELSEWHERE

}  // namespace tandem

namespace tandem::core {

using Tables =
    std::tuple<Table<model::Project>, Table<model::Namespace>, Table<model::User>,
               Table<model::ServiceAccount>, Table<model::RoleBinding>, Table<model::ApiKey>,
               Table<model::Node>, Table<model::Pool>, Table<model::Queue>, Table<model::Runtime>,
               Table<model::Job>, Table<model::Service>, Table<model::Replica>, Table<model::Model>,
               Table<model::ModelVersion>, Table<model::License>>;

}  // namespace tandem::core

// SPDX-License-Identifier: Apache-2.0
// Object: any declarative object; the alternatives stand in the order of Kind.
#pragma once

#include <variant>

#include "model/capacity.h"
#include "model/identity.h"
#include "model/job.h"
#include "model/license.h"
#include "model/queue.h"
#include "model/reservation.h"
#include "model/service.h"
#include "model/work.h"

namespace tandem::model {

using Object =
    std::variant<Project, Namespace, User, ServiceAccount, RoleBinding, ApiKey, Node, Pool, Queue,
                 Runtime, Job, Service, Replica, Model, ModelVersion, License,
                 Reservation, Maintenance>;
static_assert(std::variant_size_v<Object> == kind_count);

inline Kind kind_of(const Object& object) { return static_cast<Kind>(object.index()); }
inline const Meta& meta_of(const Object& object) {
    return std::visit([](const auto& body) -> const Meta& { return body.meta; }, object);
}
inline Meta& meta_of(Object& object) {
    return std::visit([](auto& body) -> Meta& { return body.meta; }, object);
}
ObjectKey key_of(const Object& object);

// An empty object of a kind, for parsers.
Object make_object(Kind kind);

// Everything that can be judged by looking at one object alone: names, ranges, combinations. Errors name
// the field ("spec.roles[0].replicas") and say what would be right. References are core's to check.
Status check_object(const Object& object);

}  // namespace tandem::model

// SPDX-License-Identifier: Apache-2.0
// What each kind asks of a change, beyond what one object alone can tell (model::check_object): references to
// others, which changes of a stored object are allowed, whether it may go, and what follows from it.
// One overload a kind; kinds without a rule of their own take the general one.
#pragma once

#include "core/turn.h"

namespace tandem::core {

// `old` is null when the object is new.
Status check_references(const State& state, const model::Project& wanted, const model::Project* old);
Status check_references(const State& state, const model::Namespace& wanted, const model::Namespace* old);
Status check_references(const State& state, const model::User& wanted, const model::User* old);
Status check_references(const State& state, const model::ServiceAccount& wanted, const model::ServiceAccount* old);
Status check_references(const State& state, const model::RoleBinding& wanted, const model::RoleBinding* old);
Status check_references(const State& state, const model::ApiKey& wanted, const model::ApiKey* old);
Status check_references(const State& state, const model::Node& wanted, const model::Node* old);
Status check_references(const State& state, const model::Pool& wanted, const model::Pool* old);
Status check_references(const State& state, const model::Queue& wanted, const model::Queue* old);
Status check_references(const State& state, const model::Runtime& wanted, const model::Runtime* old);
Status check_references(const State& state, const model::Job& wanted, const model::Job* old);
Status check_references(const State& state, const model::Service& wanted, const model::Service* old);
Status check_references(const State& state, const model::Replica& wanted, const model::Replica* old);
Status check_references(const State& state, const model::Model& wanted, const model::Model* old);
Status check_references(const State& state, const model::ModelVersion& wanted, const model::ModelVersion* old);
Status check_references(const State& state, const model::License& wanted,
                        const model::License* old);

Status check_references(const State& state, const model::Reservation& wanted,
                        const model::Reservation* old);
Status check_references(const State& state, const model::Maintenance& wanted,
                        const model::Maintenance* old);

bool subject_exists(const State& state, const std::string& subject);

// Error when something still needs it.
Status check_removal(const State& state, const model::Object& object);

// The row is stored; tell planner, book and reconcilers. Work is not told of here but touched (core/turn.h).
void after_apply(Turn& turn, const model::Object& object);
// The row is about to be erased (or, for work, marked as going).
void before_removal(Turn& turn, const model::Object& object);

}  // namespace tandem::core

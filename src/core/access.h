// SPDX-License-Identifier: Apache-2.0
// Who a caller is and what core's rows say of it. The platform's own acts come as `platform_subject`, a name
// that no user can have and the API never lets in.
#pragma once

#include <string_view>

#include "auth/policy.h"
#include "core/turn.h"

namespace tandem::core {

inline constexpr std::string_view platform_subject = "system:platform";

const model::ApiKey* find_key(const State& state, std::string_view key_id);
auth::SubjectFacts facts_of(const State& state, const model::Caller& caller, Instant now);

// May it do this to that object? `wanted` is what the object would become (or is, for other actions).
auth::Decision decide_action(const State& state, const model::Caller& caller, const model::Action& action,
                             const model::Object& wanted, bool exists, Instant now);
// Somebody can still act as platform-admin on everything: an enabled subject, a binding for the whole installation, and
// a key of it that is valid and not narrowed.
bool has_admin(const State& state, Instant now);
// May it do this somewhere (project empty: installation-wide)?
bool may(const State& state, const model::Caller& caller, auth::Permission permission,
         std::string_view project, Instant now);
// May it even see the object? Not yours is not there.
bool may_see(const State& state, const model::Caller& caller, const model::Object& object, Instant now);

}  // namespace tandem::core

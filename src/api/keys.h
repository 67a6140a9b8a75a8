// SPDX-License-Identifier: Apache-2.0
// API keys. The server draws the secret, shows it once in the answer, and keeps only its digest.
// Everybody sees their own keys; those of others are for who may read all keys.
#pragma once

#include "api/router.h"

namespace tandem::api {

// May the caller see every key? Otherwise only its own.
bool sees_all_keys(const Call& call);
// A key that may be seen: own, or readable by a role.
bool may_see_key(const Call& call, const std::string& json);
// One page: as many as a subject has keys.
void list_own_keys(const Parts& parts, Call call, const core::ListQuery& query);

void add_key_routes(Router& router, const Parts& parts);

}  // namespace tandem::api

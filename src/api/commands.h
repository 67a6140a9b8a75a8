// SPDX-License-Identifier: Apache-2.0
// Sends actions to core for a call and renders the answer: idempotency key, dry run, errors,
// resulting object.
#pragma once

#include "api/call.h"

namespace tandem::api {

enum class Show : std::uint8_t {
    object,
    last_object,
    outcomes,
    preview
};  // of the first, the last action; of all; what a preview found

// `created_status`: 201 for POST of one object.
void send_command(const Parts& parts, Call call, std::vector<model::Action> actions, Show show,
                  int created_status = 201);

// From the call's header, with the digest of its method, target and body; an error when it is too long.
Status take_idempotency_key(const Call& call, model::Command& command);

// For a handler that finds out by itself that a request can't be done: refused with `error`, unless
// this very request was answered before under its Idempotency-Key; then it is answered so again.
void refuse_unless_answered(const Parts& parts, Call call, Error error, Show show);

std::string render_outcomes(const std::vector<model::Outcome>& outcomes);

}  // namespace tandem::api

// SPDX-License-Identifier: Apache-2.0
// Words for what is foreseen: starts and why there is none, as `what-if` and `why` say them.
// Internal to cli. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "codec/document.h"
#include "codec/reasons.h"

namespace tandem::cli {

// "now", "2026-11-30T20:00:00.000Z (in 35m)", or why there is none ("horizon", "noEnd", ...).
std::string start_words(const codec::Value* start, std::string_view no_start, Instant from,
                        codec::Language language);
std::string basis_words(const codec::Value* start, codec::Language language);

}  // namespace tandem::cli

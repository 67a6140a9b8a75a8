// SPDX-License-Identifier: Apache-2.0
// Ends tasks that live on after their server was stopped, through their shims.
#pragma once

#include <cstdint>

#include "apps/home.h"
#include "base/time.h"

namespace tandem::apps {

// TERM with the grace each shim was given at most `deadline`, then waits. Returns how many still
// live.
std::int64_t end_leftover_tasks(const Home& home, Duration deadline);

}  // namespace tandem::apps

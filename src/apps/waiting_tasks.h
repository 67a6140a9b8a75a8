// SPDX-License-Identifier: Apache-2.0
// Tasks that a restore has left to an operator, as up and doctor tell of them.
#pragma once

#include <string>

#include "apps/home.h"

namespace tandem::apps {

// "2 tasks of before a restore wait for a decision"; empty: none does, or no server runs that
// knows.
std::string waiting_tasks(const Home& home);

}  // namespace tandem::apps

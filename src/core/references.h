// SPDX-License-Identifier: Apache-2.0
// Which blobs do rows refer to? Model versions, outputs of jobs, and tasks that are still to be started.
#pragma once

#include <set>
#include <string>

#include "core/state.h"

namespace tandem::core {

std::set<std::string> referenced_blobs(const State& state);

}  // namespace tandem::core

// SPDX-License-Identifier: Apache-2.0
// The verbs that work on this host, as the command line is handed them: each with its help, and
// with words that it does not know refused before it does anything.
#pragma once

#include <vector>

#include "cli/cli.h"

namespace tandem::apps {

std::vector<cli::HostVerb> host_verbs();

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
// The server process: wires store, core, executor, prober and API together, runs until TERM.
#pragma once

#include <string>
#include <vector>

namespace tandem::apps {

int server_main(const std::vector<std::string>& arguments);

}  // namespace tandem::apps

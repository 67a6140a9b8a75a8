// SPDX-License-Identifier: Apache-2.0
// The gateway process: the data plane, fed by the server over its unix socket; runs until TERM.
#pragma once

#include <string>
#include <vector>

namespace tandem::apps {

int gateway_main(const std::vector<std::string>& arguments);

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
// The verbs of this host: up, down, status, doctor. Each returns the process's exit code.
#pragma once

#include <string>
#include <vector>

#include "base/secret.h"
#include "cli/cli.h"

namespace tandem::apps {

int up(const std::vector<std::string>& arguments);
int down(const std::vector<std::string>& arguments);
int status(const std::vector<std::string>& arguments);
int doctor(const std::vector<std::string>& arguments);
int sim(const std::vector<std::string>& arguments);  // becomes tandem-sim, beside this program
int admin(const std::vector<std::string>&
              arguments);  // backup FILE, restore FILE, check, export-history FILE

// For the command line: where this host's server is and the admin key it wrote.
std::optional<cli::LocalInstallation> find_local();

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
// What a new installation begins with: project and namespace "default", the shared pool and queue "default",
// the user "admin" with the role platform-admin, and one key for it whose text is given to nobody else.
#pragma once

#include <string>
#include <vector>

#include "base/secret.h"
#include "model/command.h"

namespace tandem::server {

struct Bootstrap {
    model::Command command{};
    Secret admin_key{};
};
Bootstrap make_bootstrap();

// Makes the key with this id and digest an admin's: whoever owns the home drew it while no server ran. `revoked` are
// keys that are of no use from then on. Doing it twice changes nothing.
model::Command make_recovery(const std::string& key_id, const std::string& digest,
                             const std::vector<model::ApiKey>& revoked = {});

}  // namespace tandem::server

// SPDX-License-Identifier: Apache-2.0
// What a gateway is started with. Defaults are the product's; docs and /limits show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/relay/server.h"
#include "net/relay/upstream.h"

namespace tandem::gateway {

struct GatewayOptions {
    std::string name = "gateway";  // its identity towards the server; the same over restarts
    relay::Endpoint listen{};
    std::vector<relay::Endpoint> also_listen{};  // port 0: that of `listen`
    std::optional<relay::TlsFiles> tls{};        // of what callers see; none: plain HTTP
    int threads = 1;                             // loops
    std::string home{};     // own folder: routes, leases, journal; made with mode 0700
    std::string server{};   // "unix:/path", "http://host:port"; empty: lives by what is in home
    std::string ca_file{};  // for https
    std::string certificate_file{};
    std::string key_file{};
    Duration staleness_max =
        hours(1);  // keys are believed this long without the server (auth.stalenessMax)
    Duration hold_max = seconds(120);  // a request waits this long for a replica
    Duration lease_wait_max = seconds(2);
    Duration commit_hold =
        seconds(15);  // a stream without content yet is answered then, and no more retried
    std::int64_t held_per_service_max = 1'024;
    std::int64_t body_bytes_max = 4 * 1024 * 1024;
    std::int64_t buffered_bytes_max = 256 * 1024 * 1024;  // request bodies of all requests together
    std::int64_t journal_bytes_max = std::int64_t{1} << 30;
    std::int64_t choices_max = 4;  // n
    int attempts_max = 3;
    relay::CallTimeouts upstream{};
    relay::ServerLimits limits{};
};

}  // namespace tandem::gateway

// SPDX-License-Identifier: Apache-2.0
// Gateway: the data plane as one object: start() opens the home folder, begins with the routes of
// an earlier life if there are some, listens, and keeps to its server; stop() lets running answers
// end within `grace`, then makes sure that every usage row is on disk. Wired by apps. Errors of
// start() name what can't be had (address, folder, URL). Thread rule: start and stop by one owner;
// the observers from any thread.
#pragma once

#include <memory>

#include "base/result.h"
#include "gateway/options.h"
#include "net/relay/socket.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace tandem::gateway {

class Gateway {
  public:
    static Result<std::unique_ptr<Gateway>> start(GatewayOptions options, telemetry::Log log,
                                                  telemetry::Metrics& metrics);
    ~Gateway();  // stop without grace
    Gateway(const Gateway&) = delete;
    Gateway& operator=(const Gateway&) = delete;

    relay::Endpoint endpoint() const;
    bool connected() const;  // the server's feed is being heard
    std::int64_t unshipped_rows() const;
    void stop(Duration grace);

  private:
    struct Parts;
    explicit Gateway(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace tandem::gateway

// SPDX-License-Identifier: Apache-2.0
// Meters: the gateway's metrics, with their handles kept by service so that counting is one
// addition. One per loop; all share one registry. Thread rule: one owner.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "telemetry/metrics.h"

namespace tandem::gateway {

struct RequestMarks {
    int status = 200;
    double ttft_seconds = -1;  // < 0: no content came
    double total_seconds = 0;
    std::int64_t prompt_tokens = 0;
    std::int64_t cached_tokens = 0;
    std::int64_t completion_tokens = 0;
};

class Meters {
  public:
    explicit Meters(telemetry::Metrics& registry) : registry_(registry) {}

    void count(std::string_view service, const RequestMarks& marks);
    void count_refused(int status);  // before a service was known: 401, 404, 400 ...

  private:
    struct Service {
        std::map<int, telemetry::Counter> requests{};
        telemetry::Histogram ttft{};
        telemetry::Histogram total{};
        telemetry::Counter prompt{};
        telemetry::Counter cached{};
        telemetry::Counter completion{};
    };
    Service& service(std::string_view name);
    telemetry::Counter requests(std::string_view service, int status);

    telemetry::Metrics& registry_;
    std::map<std::string, Service, std::less<>> services_;
    std::map<int, telemetry::Counter> refused_;
};

}  // namespace tandem::gateway

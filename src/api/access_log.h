// SPDX-License-Identifier: Apache-2.0
// AccessLog: one line per request, refused and failed ones too, and the counts behind the request
// metrics.
//
//   {"msg":"request","requestId":...,"method":"POST","path":"/api/v1/...","status":201,
//    "subject":"user:ann","keyId":"...","durationUs":812,"uid":"...","version":4711}
//
// A path stands there without its query, cut at 256 characters; keys and bodies never do. At most
// plain_per_second lines of reads that went well, and other_per_second of all else; what is left
// out is counted and told once a second at most. Every mutation and denial is in the audit trail
// all the same.
// Thread rule: any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace tandem::api {

// Count and latency of one route; handles are made when first needed, since most routes see few
// statuses.
class RouteMeter {
  public:
    RouteMeter(telemetry::Metrics& metrics, std::string method, std::string route)
        : metrics_(metrics), method_(std::move(method)), route_(std::move(route)) {}
    void count(int status, std::chrono::microseconds duration);

  private:
    telemetry::Metrics& metrics_;
    const std::string method_;
    const std::string route_;
    std::mutex mutex_;
    std::vector<std::pair<int, telemetry::Counter>> by_status_;
    telemetry::Histogram duration_;
    bool has_duration_ = false;
};

// An object that a request changed.
struct TouchedObject {
    std::string uid{};
    std::int64_t version = 0;
};

// What is known of a request when it is answered.
struct AccessFacts {
    std::string request_id{};
    std::string method{};
    std::string path{};
    std::string peer{};
    std::string subject{};  // empty: nobody was asked for
    std::string key_id{};
    std::vector<TouchedObject> objects{};
    RouteMeter* meter = nullptr;  // outlives the request; absent: no route
};

class AccessLog {
  public:
    AccessLog(telemetry::Log log, telemetry::Metrics& metrics);

    void record(const AccessFacts& facts, int status, bool stream,
                std::chrono::microseconds duration);

    static constexpr int plain_per_second = 50;
    static constexpr int other_per_second = 200;

  private:
    using Clock = std::chrono::steady_clock;
    struct Window {  // of one second
        Clock::time_point since{};
        int lines = 0;
        std::int64_t skipped = 0;
    };
    bool admit(bool plain);

    telemetry::Log log_;
    RouteMeter no_route_;
    telemetry::Counter skipped_;
    std::mutex mutex_;
    Window plain_;
    Window other_;
};

}  // namespace tandem::api

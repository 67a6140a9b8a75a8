// SPDX-License-Identifier: Apache-2.0
#include "api/access_log.h"

#include <algorithm>

namespace tandem::api {
namespace {

constexpr std::size_t path_max = 256;
constexpr std::size_t uids_max = 8;  // named of a batch

std::string list_uids(const std::vector<TouchedObject>& objects) {
    std::string text;
    for (std::size_t i = 0; i < std::min(objects.size(), uids_max); ++i)
        text += (text.empty() ? "" : ",") + objects[i].uid;
    return text;
}

std::int64_t newest_version(const std::vector<TouchedObject>& objects) {
    std::int64_t newest = 0;
    for (const TouchedObject& object : objects) newest = std::max(newest, object.version);
    return newest;
}

}  // namespace

void RouteMeter::count(int status, std::chrono::microseconds duration) {
    const std::scoped_lock lock(mutex_);
    auto found = std::ranges::find(by_status_, status, &std::pair<int, telemetry::Counter>::first);
    if (found == by_status_.end()) {
        by_status_.emplace_back(
            status,
            metrics_.counter(
                "tandem_api_requests_total", "Requests to the API, by route and status.",
                {{"route", route_}, {"method", method_}, {"status", std::to_string(status)}}));
        found = by_status_.end() - 1;
    }
    found->second.add();
    if (!std::exchange(has_duration_, true))
        duration_ = metrics_.histogram(
            "tandem_api_request_seconds", "Time to the answer, of streams to their beginning.",
            telemetry::latency_buckets(), {{"route", route_}, {"method", method_}});
    duration_.observe(std::chrono::duration<double>(duration).count());
}

AccessLog::AccessLog(telemetry::Log log, telemetry::Metrics& metrics)
    : log_(std::move(log)),
      no_route_(metrics, "other", "none"),
      skipped_(metrics.counter("tandem_access_log_skipped_total",
                               "Lines that the cap of the access log left out.")) {}

bool AccessLog::admit(bool plain) {
    std::int64_t skipped = 0;
    {
        const std::scoped_lock lock(mutex_);
        Window& window = plain ? plain_ : other_;
        const Clock::time_point now = Clock::now();
        if (now - window.since >= std::chrono::seconds(1)) {
            skipped = window.skipped;
            window = {.since = now};
        }
        if (++window.lines > (plain ? plain_per_second : other_per_second)) {
            ++window.skipped;
            skipped_.add();
            return false;
        }
    }
    if (skipped > 0)
        log_.info("requests left out of this log", {{"count", skipped}, {"reads", plain}});
    return true;
}

void AccessLog::record(const AccessFacts& facts, int status, bool stream,
                       std::chrono::microseconds duration) {
    (facts.meter ? *facts.meter : no_route_).count(status, duration);
    const bool plain = status < 400 && (facts.method == "GET" || facts.method == "HEAD");
    if (!admit(plain)) return;
    const telemetry::Level level = status >= 500 ? telemetry::Level::warn : telemetry::Level::info;
    const std::string_view path = std::string_view(facts.path).substr(0, path_max);
    telemetry::Log line = log_;
    if (!facts.key_id.empty()) line = line.with({{"keyId", facts.key_id}});
    if (stream) line = line.with({{"stream", true}});
    if (facts.objects.size() == 1)
        line = line.with(
            {{"uid", facts.objects.front().uid}, {"version", facts.objects.front().version}});
    else if (!facts.objects.empty())
        line = line.with({{"objects", facts.objects.size()},
                          {"uids", list_uids(facts.objects)},
                          {"version", newest_version(facts.objects)}});
    line.write(level, "request",
               {{"requestId", facts.request_id},
                {"method", facts.method.substr(0, 16)},
                {"path", path},
                {"status", status},
                {"subject", facts.subject.empty() ? std::string("-") : facts.subject},
                {"peer", facts.peer},
                {"durationUs", static_cast<std::int64_t>(duration.count())}});
}

}  // namespace tandem::api

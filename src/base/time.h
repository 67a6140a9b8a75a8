// SPDX-License-Identifier: Apache-2.0
// Instant and Duration: int64 milliseconds. An Instant counts from 1970-01-01T00:00:00Z; there is no clock
// here: time is handed in. Text of a duration: "250ms", "30s", "5m", "2h", "3d", and sums ("1h30m").
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tandem {

struct Duration {
    std::int64_t ms = 0;
    auto operator<=>(const Duration&) const = default;
};
struct Instant {
    std::int64_t ms = 0;
    auto operator<=>(const Instant&) const = default;
};

constexpr Duration milliseconds(std::int64_t n) { return {n}; }
constexpr Duration seconds(std::int64_t n) { return {n * 1000}; }
constexpr Duration minutes(std::int64_t n) { return {n * 60'000}; }
constexpr Duration hours(std::int64_t n) { return {n * 3'600'000}; }

constexpr Instant operator+(Instant at, Duration by) { return {at.ms + by.ms}; }
constexpr Instant operator-(Instant at, Duration by) { return {at.ms - by.ms}; }
constexpr Duration operator-(Instant later, Instant earlier) { return {later.ms - earlier.ms}; }
constexpr Duration operator+(Duration a, Duration b) { return {a.ms + b.ms}; }

// Largest duration that text may express: 100 years.
inline constexpr Duration duration_max{100LL * 365 * 24 * 3'600'000};

Result<Duration> parse_duration(std::string_view text);
std::string render_duration(Duration duration);  // shortest exact text: "1h30m", "250ms", "0s"

// RFC 3339 with milliseconds, UTC: "2026-11-30T14:28:59.123Z".
std::string render_instant(Instant at);
Result<Instant> parse_instant(std::string_view text);

}  // namespace tandem

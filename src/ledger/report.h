// SPDX-License-Identifier: Apache-2.0
// Reports over usage rows: sums by group within a window of time, and the explanation of one
// object, interval by interval. PURE; called by api with rows it has read (closed ones, and open
// ones with `to` set to now). Units: device-milliseconds with their thousandths, so that shares of
// devices add up exactly.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/usage.h"

namespace tandem::ledger {

// Whole device-milliseconds and the milli that remain: 1500 milli x ms = {1, 500}.
struct DeviceTime {
    std::int64_t device_ms = 0;
    std::int64_t rest_milli = 0;  // 0..999
    auto operator<=>(const DeviceTime&) const = default;
};
DeviceTime operator+(DeviceTime a, DeviceTime b);
// milli x ms of a row, exact for any milli and time.
DeviceTime time_of(const model::UsageRecord& row);

// [from, to); rows that reach beyond it count with what lies inside.
struct Window {
    Instant from{};
    Instant to{INT64_MAX};
};

// Which fields a line keeps apart; the others are empty in it.
struct Grouping {
    bool project = true;
    bool name_space = false;
    bool owner = true;
    bool state = true;
    bool pool = false;
    bool queue = false;
    bool flavor = false;
    bool device = false;
};

struct UsageKey {
    std::string project{};
    std::string name_space{};
    std::string owner_kind{};
    std::string owner_name{};
    std::string pool{};
    std::string queue{};
    std::string flavor{};
    std::string node{};
    std::int64_t device = -1;
    model::LedgerState state = model::LedgerState::idle;  // of all when states are not kept apart
    auto operator<=>(const UsageKey&) const = default;
};
struct UsageLine {
    UsageKey key{};
    DeviceTime time{};
};

class UsageSums {
  public:
    UsageSums(const Grouping& grouping, const Window& window)
        : grouping_(grouping), window_(window) {}
    void add(const model::UsageRecord& row);
    std::vector<UsageLine> lines() const;  // in order of their keys

  private:
    Grouping grouping_;
    Window window_;
    std::map<UsageKey, DeviceTime> sums_{};
};

// Tokens by key, project, service and version.
struct TokenKey {
    std::string project{};
    std::string name_space{};
    std::string service{};
    std::string model_version{};
    std::string key_id{};
    std::string subject{};
    auto operator<=>(const TokenKey&) const = default;
};
struct TokenLine {
    TokenKey key{};
    std::int64_t requests = 0;
    std::int64_t failed = 0;     // status 400 and above
    std::int64_t aborted = 0;    // the caller went away, or the answer broke
    std::int64_t estimated = 0;  // requests of which the engine did not tell all tokens
    std::int64_t gateway_lost = 0;  // requests whose gateway died over them
    std::int64_t estimated_prompt_tokens = 0;      // part of prompt_tokens: reckoned from bytes
    std::int64_t estimated_completion_tokens = 0;  // part of completion_tokens: pieces counted
    std::int64_t prompt_tokens = 0;
    std::int64_t cached_tokens = 0;
    std::int64_t completion_tokens = 0;
};

class TokenSums {
  public:
    explicit TokenSums(const Window& window) : window_(window) {}
    void add(const model::RequestUsage& row);
    std::vector<TokenLine> lines() const;

  private:
    Window window_;
    std::map<TokenKey, TokenLine> sums_{};
};

// Why an interval was what it was.
enum class Cause : std::uint8_t {
    waiting,   // asked for devices, had none
    starting,  // had them, did not work yet (claimed, starting, in doubt)
    working,
    ended_not_released,  // its process had ended; its devices were not yet proved free
    server_absent,       // the same while no server lived to see it
    lost_by_failure,     // work after the last checkpoint of a failed attempt
    lost_by_preemption,
    kept_idle,  // of a pool that keeps its devices
    idle,
    suspended,        // its owner kept it from starting
    lost_by_request,  // work after the last checkpoint of an attempt that was suspended or queued
                      // again by request
};
std::string_view name_of(Cause cause);  // "endedNotReleased"
Cause cause_of(const model::UsageRecord& row);

struct ExplainedLine {
    model::UsageRecord row{};
    Cause cause = Cause::idle;
    DeviceTime time{};
};
// One object's intervals in order of time, replica, device. It adds up when the intervals of each
// stay (of a replica's epoch on a device) touch each other from its beginning to its end: accounted
// equals span.
struct Explanation {
    std::vector<ExplainedLine> lines{};
    std::map<model::LedgerState, DeviceTime> by_state{};
    DeviceTime accounted{};           // sum over lines, waiting left out
    DeviceTime span{};                // sum over stays of (end - begin) x share
    std::vector<std::string> gaps{};  // "train-worker-0, device 1 of n1: nothing from ... to ..."
    bool adds_up() const { return gaps.empty() && accounted == span; }
};
Explanation explain(std::vector<model::UsageRecord> rows);

}  // namespace tandem::ledger

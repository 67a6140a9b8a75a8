// SPDX-License-Identifier: Apache-2.0
// Bounds of what one object may ask for. check_object() holds objects to them, codec/ shows them in
// the API's reference. Amounts in milli-units, bytes and counts as the names say.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace tandem::model::limits {

inline constexpr std::int64_t replicas_max = 10'000;  // of one role, and of all roles of a job
inline constexpr std::int64_t roles_max = 16;
inline constexpr std::int64_t priority_max = 1000;                       // and -1000
inline constexpr std::int64_t devices_milli_max = 1024 * 1000;           // of one replica
inline constexpr std::int64_t cpu_milli_max = 4096 * 1000;               // of one replica
inline constexpr std::int64_t memory_bytes_max = std::int64_t{1} << 46;  // 64 TiB, of one replica
inline constexpr std::int64_t arguments_max = 1024;
inline constexpr std::int64_t argument_bytes_max = 128 * 1024;  // Linux' MAX_ARG_STRLEN
inline constexpr std::int64_t command_bytes_max = 512 * 1024;
inline constexpr std::int64_t env_max = 512;
inline constexpr std::int64_t env_name_max = 128;
inline constexpr std::int64_t env_bytes_max = 256 * 1024;  // names and values together
inline constexpr std::int64_t path_max = 1024;
inline constexpr std::int64_t outputs_max = 64;
inline constexpr std::int64_t dependencies_max = 64;  // of one job
inline constexpr std::int64_t array_elements_max = 10'000;
inline constexpr std::int64_t array_index_max = 999'999;
inline constexpr std::int64_t licenses_max = 16;  // of one job
inline constexpr std::int64_t license_count_max = 1'000'000'000;
inline constexpr std::int64_t work_limit_max = 1'000'000'000;  // jobs of a user, project, queue
inline constexpr std::int64_t retries_max = 1000;
inline constexpr Duration grace_max = hours(24);
inline constexpr Duration window_max = hours(24 * 31);  // of a reservation or a maintenance
inline constexpr std::int64_t windows_max = 1000;       // of one reservation
inline constexpr std::int64_t reservations_max = 256;
inline constexpr Duration run_time_max = hours(24 * 366);
inline constexpr std::int64_t scale_max = 1000;  // replicas of a service
inline constexpr std::int64_t concurrency_max = 100'000;
inline constexpr std::int64_t context_length_max = 16 * 1024 * 1024;
inline constexpr std::int64_t threads_max = 1024;
inline constexpr std::int64_t quotas_max = 64;
inline constexpr std::int64_t quota_milli_max = 10'000'000LL * 1000;
inline constexpr std::int64_t weight_max = 1'000'000;
inline constexpr std::int64_t evictions_max = 1'000'000;  // a minute, and at once
inline constexpr Duration min_run_time_max = hours(24 * 30);
inline constexpr Duration half_life_max = hours(24 * 366);
inline constexpr std::int64_t listed_names_max =
    1000;  // projects of a pool, services of a key, ...
inline constexpr std::int64_t topology_levels_max = 8;
inline constexpr std::int64_t expressions_max = 32;  // of one list of an affinity
inline constexpr std::int64_t expression_values_max = 256;
inline constexpr std::int64_t selectors_max = 16;  // near, and apart
inline constexpr std::int64_t pool_devices_max = 1'000'000;
inline constexpr std::int64_t rate_max = 10'000'000;  // requests a minute
inline constexpr std::int64_t title_bytes_max = 1024;
inline constexpr std::int64_t annotation_bytes_max = 256 * 1024;  // names and values together

}  // namespace tandem::model::limits

// SPDX-License-Identifier: Apache-2.0
#include "model/reservation.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/check.h"
#include "model/limits.h"

namespace tandem::model {
namespace {

Status check_time(Instant start, Duration duration) {
    if (start.ms <= 0)
        return invalid_field("spec.start",
                             "must say when it begins, such as \"2027-01-31T08:00:00Z\"");
    return check_duration(duration, minutes(1), limits::window_max, "spec.duration");
}

Status check_repeat(const ReservationSpec& spec) {
    if (!spec.repeat) return {};
    const Recurrence& repeat = *spec.repeat;
    TANDEM_TRY(check_duration(repeat.every, spec.duration, limits::run_time_max,
                              "spec.repeat.every"));
    if (repeat.count.has_value() == repeat.until.has_value())
        return invalid_field("spec.repeat", "must have count or until, one of them");
    if (repeat.count)
        return check_range(*repeat.count, 1, limits::windows_max, "spec.repeat.count");
    if (*repeat.until <= spec.start)
        return invalid_field("spec.repeat.until", "must be after spec.start");
    if (window_count(spec) <= limits::windows_max) return {};
    return invalid_field("spec.repeat.until", fmt::format("must allow at most {} windows, has {}",
                                                          limits::windows_max, window_count(spec)));
}

}  // namespace

std::int64_t window_count(const ReservationSpec& spec) {
    if (!spec.repeat) return 1;
    if (spec.repeat->count) return *spec.repeat->count;
    const std::int64_t span = (*spec.repeat->until - spec.start).ms;
    return (span + spec.repeat->every.ms - 1) / spec.repeat->every.ms;
}

Instant window_start(const ReservationSpec& spec, std::int64_t number) {
    if (!spec.repeat) return spec.start;
    return spec.start + Duration{spec.repeat->every.ms * (number - 1)};
}

std::int64_t window_at(const ReservationSpec& spec, Instant now) {
    std::int64_t number = 1;
    if (spec.repeat && now >= spec.start + spec.duration)
        number = (now - (spec.start + spec.duration)).ms / spec.repeat->every.ms + 2;
    const bool over = now >= window_start(spec, number) + spec.duration;
    return over || number > window_count(spec) ? 0 : number;
}

std::int64_t devices_in(const ReservationSpec& spec) {
    return spec.devices * std::max<std::int64_t>(1, spec.replicas);
}

Status check_spec(const Reservation& reservation) {
    const ReservationSpec& spec = reservation.spec;
    TANDEM_TRY(check_title(spec.title, "spec.title"));
    TANDEM_TRY(check_name(spec.queue, "spec.queue"));
    if (spec.flavor.empty())
        return invalid_field("spec.flavor", "must name the kind of device; nodes list theirs");
    TANDEM_TRY(check_flavor(spec.flavor, "spec.flavor"));
    TANDEM_TRY(check_range(spec.devices, 1,
                           spec.replicas == 0 ? limits::pool_devices_max
                                              : limits::devices_milli_max / 1000,
                           "spec.devices"));
    TANDEM_TRY(check_range(spec.replicas, 0, limits::replicas_max, "spec.replicas"));
    TANDEM_TRY(check_time(spec.start, spec.duration));
    TANDEM_TRY(check_repeat(spec));
    TANDEM_TRY(check_name_list(spec.projects, "spec.projects"));
    for (std::size_t i = 0; i < spec.users.size(); ++i)
        TANDEM_TRY(check_subject(spec.users[i], fmt::format("spec.users[{}]", i)));
    return {};
}

Status check_spec(const Maintenance& maintenance) {
    const MaintenanceSpec& spec = maintenance.spec;
    TANDEM_TRY(check_name_list(spec.nodes, "spec.nodes"));
    if (spec.nodes.empty() && spec.node_selector.empty())
        return invalid_field("spec.nodes", "must name nodes, or spec.nodeSelector select them");
    TANDEM_TRY(check_time(spec.start, spec.duration));
    return check_title(spec.reason, "spec.reason");
}

}  // namespace tandem::model

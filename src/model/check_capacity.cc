// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <set>

#include "base/quantity.h"
#include "model/check.h"
#include "model/limits.h"

namespace tandem::model {
namespace {

Status check_limit(std::int64_t value, const std::string& field) {
    if (value == unlimited || (value >= 0 && value <= limits::quota_milli_max)) return {};
    return invalid_field(field,
                         fmt::format("must be unlimited or 0..{}, is {}",
                                     render_milli(limits::quota_milli_max), render_milli(value)));
}

Status check_quota(const FlavorQuota& quota, const std::string& field) {
    if (quota.flavor.empty())
        return invalid_field(field + ".flavor", "must name a flavor, or \"*\" for all others");
    if (quota.flavor != "*") TANDEM_TRY(check_flavor(quota.flavor, field + ".flavor"));
    if (quota.nominal < 0 || quota.nominal > limits::quota_milli_max)
        return invalid_field(
            field + ".nominal",
            fmt::format("must be 0..{}, is {}", render_milli(limits::quota_milli_max),
                        quota.nominal == unlimited ? "unlimited" : render_milli(quota.nominal)));
    TANDEM_TRY(check_limit(quota.borrow_limit, field + ".borrowLimit"));
    TANDEM_TRY(check_limit(quota.lend_limit, field + ".lendLimit"));
    TANDEM_TRY(check_limit(quota.max, field + ".max"));
    if (quota.max != unlimited && quota.max < quota.nominal)
        return invalid_field(field + ".max",
                             fmt::format("must be at least nominal ({}), is {}",
                                         render_milli(quota.nominal), render_milli(quota.max)));
    return check_range(quota.weight, 0, limits::weight_max, field + ".weight");
}

Status check_preemption(const QueuePreemption& rules) {
    TANDEM_TRY(
        check_range(rules.per_minute, 0, limits::evictions_max, "spec.preemption.perMinute"));
    return check_range(rules.burst, 1, limits::evictions_max, "spec.preemption.burst");
}

Status check_reserved(const Pool& pool) {
    const PoolSpec& spec = pool.spec;
    if (spec.from.empty())
        return invalid_field("spec.from",
                             "must name the shared pool that the reserved devices come from, such "
                             "as \"default\"");
    TANDEM_TRY(check_name(spec.from, "spec.from"));
    if (spec.from == pool.meta.name) return invalid_field("spec.from", "must be another pool");
    if (spec.flavor.empty())
        return invalid_field("spec.flavor",
                             "must name the kind of device that is reserved; nodes list theirs");
    TANDEM_TRY(check_name(spec.flavor, "spec.flavor"));
    return check_range(spec.devices, 1, limits::pool_devices_max, "spec.devices");
}

Status check_shared(const PoolSpec& spec) {
    const auto needless = [](const char* field) {
        return invalid_field(
            field, "is for pools of form reserved; a shared pool owns what no other pool holds");
    };
    if (!spec.from.empty()) return needless("spec.from");
    if (!spec.flavor.empty()) return needless("spec.flavor");
    if (spec.devices != 0) return needless("spec.devices");
    return {};
}

}  // namespace

Status check_work_limits(const WorkLimits& limits, const std::string& field) {
    for (const auto& [value, name] :
         {std::pair{limits.submitted, ".submitted"}, std::pair{limits.running, ".running"}})
        if (value) TANDEM_TRY(check_range(*value, 0, limits::work_limit_max, field + name));
    return check_limit(limits.devices, field + ".devices");
}

Status check_spec(const License& license) {
    TANDEM_TRY(check_title(license.spec.title, "spec.title"));
    TANDEM_TRY(check_range(license.spec.count, 0, limits::license_count_max, "spec.count"));
    return check_name_list(license.spec.projects, "spec.projects");
}

Status check_spec(const Node& node) {
    return check_taints(node.spec.taints, "spec.taints");
}

Status check_spec(const Pool& pool) {
    TANDEM_TRY(check_name_list(pool.spec.projects, "spec.projects"));
    TANDEM_TRY(check_levels(pool.spec.topology, "spec.topology"));
    if (pool.spec.form == Form::reserved) return check_reserved(pool);
    if (pool.spec.form == Form::shared) return check_shared(pool.spec);
    return invalid_field(
        "spec.form",
        fmt::format("must be shared or reserved in this release, is {}", name_of(pool.spec.form)));
}

Status check_spec(const Queue& queue) {
    const QueueSpec& spec = queue.spec;
    if (!spec.parent.empty()) TANDEM_TRY(check_name(spec.parent, "spec.parent"));
    if (spec.parent == queue.meta.name)
        return invalid_field("spec.parent", "must be another queue");
    if (!spec.pool.empty()) TANDEM_TRY(check_name(spec.pool, "spec.pool"));
    TANDEM_TRY(check_name_list(spec.projects, "spec.projects"));
    if (static_cast<std::int64_t>(spec.quotas.size()) > limits::quotas_max)
        return invalid_field("spec.quotas", fmt::format("must have at most {} entries, has {}",
                                                        limits::quotas_max, spec.quotas.size()));
    std::set<std::string_view> flavors;
    for (std::size_t i = 0; i < spec.quotas.size(); ++i) {
        const std::string field = fmt::format("spec.quotas[{}]", i);
        TANDEM_TRY(check_quota(spec.quotas[i], field));
        if (!flavors.insert(spec.quotas[i].flavor).second)
            return invalid_field(field + ".flavor",
                                 fmt::format("\"{}\" stands twice", spec.quotas[i].flavor));
    }
    TANDEM_TRY(check_preemption(spec.preemption));
    TANDEM_TRY(check_work_limits(spec.limits, "spec.limits"));
    TANDEM_TRY(check_work_limits(spec.per_user, "spec.perUser"));
    TANDEM_TRY(
        check_duration(spec.min_run_time, Duration{}, limits::min_run_time_max, "spec.minRunTime"));
    if (spec.usage_half_life)
        TANDEM_TRY(check_duration(*spec.usage_half_life, seconds(1), limits::half_life_max,
                                  "spec.usageHalfLife"));
    return {};
}

}  // namespace tandem::model

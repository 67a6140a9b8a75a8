// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/quantity.h"
#include "model/check.h"
#include "model/limits.h"

namespace tandem::model {
namespace {

std::unexpected<Error> bad(const std::string& field, std::string message) {
    return invalid_field(field, std::move(message));
}

Status check_label_key(const std::string& label, const std::string& field) {
    if (label.empty()) return bad(field, "must name a label of nodes, such as tandem.dev/rack");
    return check_labels({{label, ""}}, field);
}

bool is_whole_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

Status check_expression(const NodeExpression& expression, const std::string& field) {
    TANDEM_TRY(check_label_key(expression.label, field + ".label"));
    const auto count = static_cast<std::int64_t>(expression.values.size());
    const std::string values = field + ".values";
    switch (expression.op) {
        case LabelOp::exists:
        case LabelOp::does_not_exist:
            if (count > 0)
                return bad(values,
                           fmt::format("must be left out with op {}", name_of(expression.op)));
            return {};
        case LabelOp::gt:
        case LabelOp::lt:
            if (count != 1 || !is_whole_number(expression.values.front()))
                return bad(values, fmt::format("must be one whole number with op {}",
                                               name_of(expression.op)));
            return {};
        case LabelOp::in:
        case LabelOp::not_in:
            break;
    }
    if (count < 1 || count > limits::expression_values_max)
        return bad(values,
                   fmt::format("must have 1..{} entries with op {}, has {}",
                               limits::expression_values_max, name_of(expression.op), count));
    for (std::size_t i = 0; i < expression.values.size(); ++i)
        TANDEM_TRY(
            check_labels({{"value", expression.values[i]}}, fmt::format("{}[{}]", values, i)));
    return {};
}

Status check_expressions(const std::vector<NodeExpression>& list, const std::string& field) {
    if (static_cast<std::int64_t>(list.size()) > limits::expressions_max)
        return bad(field, fmt::format("must have at most {} entries, has {}",
                                      limits::expressions_max, list.size()));
    for (std::size_t i = 0; i < list.size(); ++i)
        TANDEM_TRY(check_expression(list[i], fmt::format("{}[{}]", field, i)));
    return {};
}

// A level is named by what follows the last "/" of its label.
Status check_level(const std::string& level, const std::string& field) {
    return check_name(level, field);
}

Status check_topology(const Job& job, const JobTopology& topology, const std::string& field) {
    if (!topology.required.empty() && !topology.preferred.empty())
        return bad(field, "must have either required or preferred");
    if (!topology.required.empty()) TANDEM_TRY(check_level(topology.required, field + ".required"));
    if (!topology.preferred.empty())
        TANDEM_TRY(check_level(topology.preferred, field + ".preferred"));
    if (topology.balanced && topology.preferred.empty())
        return bad(field + ".balanced",
                   "needs preferred: a level over whose domains it is balanced");
    const TopologySlice& slice = topology.slice;
    if (slice.size == 0 && slice.required.empty()) return {};
    TANDEM_TRY(check_range(slice.size, 1, limits::replicas_max, field + ".slice.size"));
    TANDEM_TRY(check_level(slice.required, field + ".slice.required"));
    for (const JobRole& role : job.spec.roles)
        if (role.replicas % slice.size != 0)
            return bad(field + ".slice.size",
                       fmt::format("must divide the replicas of each role; role \"{}\" has {}",
                                   role.name, role.replicas));
    return {};
}

Status check_selectors(const std::vector<WorkSelector>& list, const std::string& field) {
    if (static_cast<std::int64_t>(list.size()) > limits::selectors_max)
        return bad(field, fmt::format("must have at most {} entries, has {}", limits::selectors_max,
                                      list.size()));
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string here = fmt::format("{}[{}]", field, i);
        TANDEM_TRY(check_level(list[i].level, here + ".level"));
        if (list[i].labels.empty())
            return bad(here + ".labels", "must name a label of other jobs' placing.labels");
        TANDEM_TRY(check_labels(list[i].labels, here + ".labels"));
    }
    return {};
}

}  // namespace

Status check_affinity(const NodeAffinity& affinity, const std::string& field) {
    TANDEM_TRY(check_expressions(affinity.required, field + ".required"));
    if (static_cast<std::int64_t>(affinity.preferred.size()) > limits::expressions_max)
        return bad(field + ".preferred",
                   fmt::format("must have at most {} entries, has {}", limits::expressions_max,
                               affinity.preferred.size()));
    for (std::size_t i = 0; i < affinity.preferred.size(); ++i) {
        const std::string here = fmt::format("{}.preferred[{}]", field, i);
        TANDEM_TRY(check_range(affinity.preferred[i].weight, 1, 100, here + ".weight"));
        if (affinity.preferred[i].match.empty())
            return bad(here + ".match", "must have an expression");
        TANDEM_TRY(check_expressions(affinity.preferred[i].match, here + ".match"));
    }
    return {};
}

Status check_device_memory(const Resources& resources, const std::string& field) {
    if (resources.device_memory_bytes == 0) return {};
    TANDEM_TRY(check_range(resources.device_memory_bytes, 0, limits::memory_bytes_max, field));
    if (resources.devices < 1000) return {};
    return bad(
        field,
        "is for a share of one device (devices below 1): a whole one comes with all its memory");
}

Status check_placing(const Job& job) {
    if (!job.spec.placing) return {};
    const JobPlacing& placing = *job.spec.placing;
    const std::string field = "spec.placing";
    TANDEM_TRY(check_topology(job, placing.topology, field + ".topology"));
    if (!placing.spread.level.empty()) {
        TANDEM_TRY(check_level(placing.spread.level, field + ".spread.level"));
        TANDEM_TRY(check_range(placing.spread.max_skew, 1, limits::replicas_max,
                               field + ".spread.maxSkew"));
        if (placing.topology.slice.size > 1)
            return bad(field + ".spread",
                       "contradicts topology.slice: one takes replicas apart, the other keeps them "
                       "together");
        if (placing.spread.level == placing.topology.required)
            return bad(
                field + ".spread.level",
                "contradicts topology.required: all replicas are in one domain of that level");
        if (placing.spread.level == placing.topology.preferred || placing.topology.balanced)
            return bad(field + ".spread",
                       "contradicts topology.preferred and balanced: one of them takes replicas "
                       "apart, the other keeps them together");
    }
    TANDEM_TRY(check_labels(placing.labels, field + ".labels"));
    TANDEM_TRY(check_selectors(placing.near, field + ".near"));
    return check_selectors(placing.apart, field + ".apart");
}

Status check_levels(const std::vector<std::string>& labels, std::string_view field) {
    if (static_cast<std::int64_t>(labels.size()) > limits::topology_levels_max)
        return bad(std::string(field), fmt::format("must have at most {} levels, has {}",
                                                   limits::topology_levels_max, labels.size()));
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const std::string here = fmt::format("{}[{}]", field, i);
        TANDEM_TRY(check_label_key(labels[i], here));
        const std::string_view name = level_name(labels[i]);
        TANDEM_TRY(check_name(name, here));
        if (name == host_level)
            return bad(here, "may not be named host: that level is always there and is one node");
        if (!names.insert(name).second)
            return bad(here, fmt::format("a level named \"{}\" stands twice", name));
    }
    return {};
}

}  // namespace tandem::model

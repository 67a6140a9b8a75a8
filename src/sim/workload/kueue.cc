// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/kueue.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "codec/document.h"
#include "sim/workload/group.h"

namespace tandem::sim {
namespace {

using codec::Value;
using codec::ValueType;

constexpr std::size_t work_max = 1'000'000;
constexpr std::size_t queues_max = 20'000;

// A whole number or a quantity of CPU; underscores part digits there.
Result<std::int64_t> cpu_of(Group& group, const std::string& name, std::int64_t otherwise) {
    return group.amount(name, otherwise, [](std::string_view text) {
        std::string plain(text);
        std::erase(plain, '_');
        return parse_milli(plain);
    });
}

Result<std::int64_t> whole(Group& group, const std::string& name, std::int64_t low,
                           std::int64_t high, std::int64_t otherwise) {
    const auto parse = [](std::string_view text) {
        std::string plain(text);
        std::erase(plain, '_');
        return parse_integer(plain);
    };
    TANDEM_LET(number, group.amount(name, otherwise, parse));
    if (number < low || number > high)
        return invalid_field(group.at(name), fmt::format("must be {}..{}, is {}", low, high, number));
    return number;
}

// Calls `each(item, field)` for the items of a list that must be there and not be empty.
template <class Each>
Status each_item(Group& group, const std::string& name, Each each) {
    const Value* list = group.find(name);
    if (list == nullptr || list->type != ValueType::array || list->items.empty())
        return invalid_field(group.at(name), "must be a list with at least one item");
    for (std::size_t i = 0; i < list->items.size(); ++i)
        TANDEM_TRY(each(list->items[i], fmt::format("{}[{}]", group.at(name), i)));
    return {};
}

struct Reader {
    KueueLoad load{};
    std::int64_t cohorts = 0;
    std::int64_t classes = 0;  // names of jobs are made of it

    Status cohort(const Value& value, const std::string& field);
    Status queues_set(const Value& value, const std::string& field, const std::string& cohort);
    Status workloads_set(const Value& value, const std::string& field,
                         const std::string& queue);
    Result<KueueWork> workload(const Value& value, const std::string& field);
};

Result<KueueWork> Reader::workload(const Value& value, const std::string& field) {
    Group group(value, field);
    TANDEM_TRY(group.check_form());
    KueueWork work;
    TANDEM_LET(class_name, group.text("className"));
    if (class_name.empty()) return invalid_field(group.at("className"), "is missing");
    work.class_name = class_name;
    TANDEM_LET(run_ms, whole(group, "runtimeMs", 1, 1'000'000'000, 0));
    TANDEM_LET(priority, whole(group, "priority", -1000, 1000, 0));
    TANDEM_LET(pods, whole(group, "podCount", 1, 10'000, 1));
    TANDEM_LET(request, cpu_of(group, "request", 0));
    if (request <= 0 || request > 1'000'000'000)
        return invalid_field(group.at("request"), "must be an amount of CPU above 0");
    TANDEM_LET(constraint, group.text("tasConstraint"));
    if (!constraint.empty() && constraint != "required" && constraint != "preferred" &&
        constraint != "balanced")
        return invalid_field(group.at("tasConstraint"),
                             "must be required, preferred or balanced, is \"" + constraint + "\"");
    TANDEM_LET(level, group.text("tasLevel"));
    if (constraint.empty() != level.empty())
        return invalid_field(group.at("tasLevel"), "goes together with tasConstraint");
    TANDEM_TRY(whole(group, "sliceSize", 1, 10'000, 1));
    TANDEM_TRY(group.nothing_else());
    load.constrained = load.constrained || !constraint.empty();
    work.run_time = milliseconds(run_ms);
    work.priority = priority;
    work.pods = pods;
    work.request_milli = request;
    return work;
}

Status Reader::workloads_set(const Value& value, const std::string& field,
                             const std::string& queue) {
    Group group(value, field);
    TANDEM_TRY(group.check_form());
    TANDEM_LET(count, whole(group, "count", 1, 1'000'000, 0));
    TANDEM_LET(interval, whole(group, "creationIntervalMs", 0, 1'000'000'000, -1));
    TANDEM_TRY(each_item(group, "workloads", [&](const Value& item, const std::string& at) -> Status {
        TANDEM_LET(work, workload(item, at));
        work.queue = queue;
        const std::int64_t number = ++classes;
        for (std::int64_t i = 0; i < count; ++i) {
            if (load.work.size() == work_max)
                return invalid_field(at, fmt::format("there are more than {} workloads", work_max));
            work.name = fmt::format("w{}-{}", number, i);
            work.created = milliseconds(i * interval);
            work.number = static_cast<std::int64_t>(load.work.size());
            load.work.push_back(work);
        }
        return {};
    }));
    return group.nothing_else();
}

Status Reader::queues_set(const Value& value, const std::string& field,
                          const std::string& cohort) {
    Group group(value, field);
    TANDEM_TRY(group.check_form());
    TANDEM_LET(class_name, group.text("className"));
    TANDEM_LET(count, whole(group, "count", 1, 10'000, 0));
    TANDEM_LET(nominal, cpu_of(group, "nominalQuota", 0));
    TANDEM_LET(borrow, cpu_of(group, "borrowingLimit", -1));
    TANDEM_LET(reclaim, group.text("reclaimWithinCohort", "Never"));
    TANDEM_LET(within, group.text("withinClusterQueue", "Never"));
    if (reclaim != "Any" && reclaim != "Never" && reclaim != "LowerPriority")
        return invalid_field(group.at("reclaimWithinCohort"), "must be Any, LowerPriority or Never");
    if (within != "LowerPriority" && within != "Never")
        return invalid_field(group.at("withinClusterQueue"), "must be LowerPriority or Never");
    if (nominal < 0) return invalid_field(group.at("nominalQuota"), "must not be negative");
    const Value* sets = group.find("workloadsSets");
    for (std::int64_t i = 0; i < count; ++i) {
        if (load.queues.size() == queues_max)
            return invalid_field(field, fmt::format("there are more than {} queues", queues_max));
        const std::string name = fmt::format("{}-{}-{}", cohort, class_name.empty() ? "cq" : class_name,
                                             load.queues.size());
        load.queues.push_back({.name = name,
                               .cohort = cohort,
                               .nominal_milli = nominal,
                               .borrow_milli = borrow,
                               .reclaims = reclaim != "Never",
                               .preempts_lower = within == "LowerPriority"});
        if (sets == nullptr) continue;
        TANDEM_TRY(each_item(group, "workloadsSets", [&](const Value& item, const std::string& at) {
            return workloads_set(item, at, name);
        }));
    }
    return group.nothing_else();
}

Status Reader::cohort(const Value& value, const std::string& field) {
    Group group(value, field);
    TANDEM_TRY(group.check_form());
    TANDEM_TRY(group.text("className"));
    TANDEM_LET(count, whole(group, "count", 1, 10'000, 0));
    for (std::int64_t i = 0; i < count; ++i) {
        const std::string name = fmt::format("cohort-{}", cohorts++);
        TANDEM_TRY(each_item(group, "queuesSets", [&](const Value& item, const std::string& at) {
            return queues_set(item, at, name);
        }));
    }
    return group.nothing_else();
}

}  // namespace

Result<KueueLoad> parse_kueue(std::string_view yaml) {
    TANDEM_LET(documents, codec::parse_yaml(yaml));
    if (documents.size() != 1)
        return fail(ErrorCode::invalid, fmt::format("must be one document, has {}", documents.size()));
    Group group(documents.front(), {});
    if (documents.front().type != ValueType::object)
        return invalid_field("cohorts", "is missing: a generator is a group with a list of cohorts");
    Reader reader;
    TANDEM_TRY(each_item(group, "cohorts", [&](const Value& item, const std::string& at) {
        return reader.cohort(item, at);
    }));
    group.find("topology");
    group.find("resourceFlavor");
    TANDEM_TRY(group.nothing_else());
    KueueLoad load = std::move(reader.load);
    if (load.work.empty()) return invalid_field("cohorts", "no queue has a workload");
    std::ranges::sort(load.work, {}, [](const KueueWork& work) {
        return std::pair(work.created.ms, work.number);
    });
    std::int64_t unit = 0;
    for (const KueueWork& work : load.work) unit = std::gcd(unit, work.request_milli);
    for (const KueueQueue& queue : load.queues) {
        unit = std::gcd(unit, queue.nominal_milli);
        if (queue.borrow_milli > 0) unit = std::gcd(unit, queue.borrow_milli);
    }
    load.unit_milli = unit;
    return load;
}

std::int64_t kueue_node_devices(const KueueLoad& load) {
    std::int64_t largest = 1;
    for (const KueueWork& work : load.work)
        largest = std::max(largest, work.request_milli / load.unit_milli);
    return std::min<std::int64_t>(4 * largest, std::max<std::int64_t>(largest, 64));
}

std::int64_t kueue_node_count(const KueueLoad& load) {
    std::int64_t quota = 0;
    for (const KueueQueue& queue : load.queues) quota += queue.nominal_milli / load.unit_milli;
    const std::int64_t each = kueue_node_devices(load);
    return std::max<std::int64_t>(3, (3 * quota + each - 1) / each);
}

std::vector<model::Action> make_queues(const KueueLoad& load) {
    std::vector<model::Action> actions;
    std::string cohort;
    for (const KueueQueue& from : load.queues) {
        if (from.cohort != cohort) {
            cohort = from.cohort;
            model::Queue inner;
            inner.meta.name = cohort;
            actions.push_back(model::ApplyObject{.object = inner});
        }
        model::Queue queue;
        queue.meta.name = from.name;
        queue.spec.parent = from.cohort;
        model::FlavorQuota quota{.flavor = std::string(kueue_flavor),
                                 .nominal = from.nominal_milli / load.unit_milli * 1000};
        if (from.borrow_milli >= 0) quota.borrow_limit = from.borrow_milli / load.unit_milli * 1000;
        queue.spec.quotas = {quota};
        queue.spec.preemption.reclaim =
            from.reclaims ? model::ReclaimFrom::any : model::ReclaimFrom::never;
        queue.spec.preemption.within_queue =
            from.preempts_lower ? model::WithinQueue::lower_priority : model::WithinQueue::never;
        actions.push_back(model::ApplyObject{.object = queue});
    }
    return actions;
}

model::Job make_job(const KueueLoad& load, const KueueWork& work) {
    model::Job job;
    job.meta.name = work.name;
    job.meta.project = "default";
    job.meta.name_space = "default";
    job.spec.queue = work.queue;
    job.spec.priority = work.priority;
    job.spec.command = {"work"};
    job.spec.roles = {{.replicas = work.pods,
                       .resources = {.devices = work.request_milli / load.unit_milli * 1000,
                                     .flavor = std::string(kueue_flavor)}}};
    return job;
}

}  // namespace tandem::sim

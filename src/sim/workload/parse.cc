// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/quantity.h"
#include "codec/manifest.h"
#include "sim/workload/group.h"
#include "sim/workload/workload.h"

namespace tandem::sim {
namespace {

using codec::Value;
using codec::ValueType;

Result<model::Object> parse_object(const Value& manifest, const std::string& field) {
    auto object = codec::parse_manifest(manifest);
    if (!object) return invalid_field(field + "." + object.error().field, object.error().message);
    return *object;
}

Value group_of(std::vector<std::pair<std::string, Value>> members) {
    Value value = codec::make_object();
    for (auto& [name, member] : members) value.add(name, std::move(member));
    return value;
}

// {kind, metadata: {name}, spec}: what is not the name is the spec.
Result<Deed> parse_queue(const Value& body, const std::string& field) {
    Group group(body, field);
    TANDEM_TRY(group.check_form());
    TANDEM_LET(name, group.text("name"));
    TANDEM_LET(refused, group.text("refused"));
    Value spec = codec::make_object();
    for (std::size_t i = 0; i < body.names.size(); ++i) {
        if (body.names[i] != "name" && body.names[i] != "refused")
            spec.add(body.names[i], body.items[i]);
    }
    const Value manifest = group_of({{"apiVersion", codec::make_text("tandem/v1")},
                                     {"kind", codec::make_text("Queue")},
                                     {"metadata", group_of({{"name", codec::make_text(name)}})},
                                     {"spec", std::move(spec)}});
    TANDEM_LET(object, parse_object(manifest, field));
    Submit submit{.objects = {std::move(object)}};
    if (!refused.empty()) submit.refused = refused;
    return Deed{std::move(submit)};
}

constexpr const char* resource_words[] = {"devices",      "flavor",       "cpu",         "memory",
                                          "deviceMemory", "nodeSelector", "nodeAffinity"};
constexpr const char* own_words[] = {"name",        "count",           "replicas",
                                     "minReplicas", "maxReplicas",     "runTime",
                                     "leave",       "checkpointEvery", "refused"};
bool is_of_spec(std::string_view word) {
    return std::ranges::find(own_words, word) == std::end(own_words) &&
           std::ranges::find(resource_words, word) == std::end(resource_words);
}

// The short form of a job: one role; every other member is one of its spec.
Result<Value> spec_of_job(const Value& body, Group& group) {
    Value resources = codec::make_object();
    for (const char* name : resource_words) {
        if (const Value* found = group.find(name)) resources.add(name, *found);
    }
    if (resources.find("devices") == nullptr) resources.add("devices", codec::make_text("1"));
    Value role = codec::make_object();
    for (const char* name : {"replicas", "minReplicas", "maxReplicas"}) {
        if (group.find(name) == nullptr) continue;
        TANDEM_LET(replicas, group.count(name, 1));
        Value number = codec::make_text(std::to_string(replicas));
        number.type = ValueType::number;
        role.add(name, std::move(number));
    }
    role.add("resources", std::move(resources));
    Value spec = codec::make_object();
    if (body.find("roles") == nullptr) {
        Value roles{.type = ValueType::array};
        roles.items.push_back(std::move(role));
        spec.add("roles", std::move(roles));
    }
    Value command{.type = ValueType::array};
    command.items.push_back(codec::make_text("work"));
    spec.add("command", std::move(command));
    for (std::size_t i = 0; i < body.names.size(); ++i) {
        if (is_of_spec(body.names[i])) spec.add(body.names[i], body.items[i]);
    }
    return spec;
}

Result<Deed> parse_job(const Value& body, const std::string& field) {
    Group group(body, field);
    TANDEM_TRY(group.check_form());
    TANDEM_LET(name, group.text("name"));
    TANDEM_LET(count, group.count("count", 1));
    TANDEM_LET(run_time, group.duration("runTime"));
    TANDEM_LET(leave, group.duration("leave"));
    TANDEM_LET(every, group.duration("checkpointEvery"));
    TANDEM_LET(refused, group.text("refused"));
    TANDEM_LET(spec, spec_of_job(body, group));
    Submit submit{.behaviour = {.run_time = run_time, .leave = leave, .checkpoint_every = every}};
    if (!refused.empty()) submit.refused = refused;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::string each = count == 1 ? name : fmt::format("{}-{}", name, i);
        const Value manifest =
            group_of({{"apiVersion", codec::make_text("tandem/v1")},
                      {"kind", codec::make_text("Job")},
                      {"metadata", group_of({{"name", codec::make_text(each)},
                                             {"project", codec::make_text("default")},
                                             {"namespace", codec::make_text("default")}})},
                      {"spec", spec}});
        TANDEM_LET(object, parse_object(manifest, field));
        if (every.ms > 0) std::get<model::Job>(object).spec.checkpoint.enabled = true;
        submit.objects.push_back(std::move(object));
    }
    return Deed{std::move(submit)};
}

Result<Deed> parse_apply(const Value& body, const std::string& field) {
    const std::string refused = Group(body, field).text("refused").value_or("");
    Value manifest = body;
    for (std::size_t i = manifest.names.size(); i-- > 0;) {
        if (manifest.names[i] != "refused") continue;
        manifest.names.erase(manifest.names.begin() + static_cast<std::ptrdiff_t>(i));
        manifest.items.erase(manifest.items.begin() + static_cast<std::ptrdiff_t>(i));
    }
    TANDEM_LET(object, parse_object(manifest, field));
    Submit submit{.objects = {std::move(object)}};
    if (!refused.empty()) submit.refused = refused;
    return Deed{std::move(submit)};
}

Result<Deed> parse_nodes(const Value& body, const std::string& field) {
    Group group(body, field);
    TANDEM_TRY(group.check_form());
    AddNodes nodes;
    TANDEM_LET(name, group.text("name", "node"));
    nodes.name = name;
    TANDEM_LET(count, group.count("count", 1));
    nodes.count = count;
    TANDEM_LET(devices, group.count("devices", 0));
    nodes.devices = devices;
    TANDEM_LET(flavor, group.text("flavor", nodes.flavor));
    nodes.flavor = flavor;
    TANDEM_LET(cpu, group.amount("cpu", nodes.cpu_milli, parse_milli));
    nodes.cpu_milli = cpu;
    TANDEM_LET(memory, group.amount("memory", nodes.memory_bytes, parse_bytes));
    nodes.memory_bytes = memory;
    TANDEM_LET(device_memory, group.amount("deviceMemory", 0, parse_bytes));
    nodes.device_memory_bytes = device_memory;
    if (const Value* labels = group.find("labels")) {
        if (labels->type != ValueType::object)
            return invalid_field(field + ".labels", fmt::format("must be a group of texts, is {}",
                                                                describe_type(*labels)));
        for (std::size_t i = 0; i < labels->names.size(); ++i)
            nodes.labels[labels->names[i]] = labels->items[i].text_or_empty();
    }
    TANDEM_TRY(group.nothing_else());
    return Deed{std::move(nodes)};
}

Result<Deed> parse_node_change(const Value& body, const std::string& field) {
    Group group(body, field);
    TANDEM_TRY(group.check_form());
    ChangeNode change;
    TANDEM_LET(name, group.text("name"));
    change.name = name;
    TANDEM_LET(ready, group.truth("ready"));
    change.ready = ready;
    TANDEM_LET(cordoned, group.truth("cordoned"));
    change.cordoned = cordoned;
    TANDEM_TRY(group.nothing_else());
    return Deed{std::move(change)};
}

Result<std::map<std::string, std::int64_t>> parse_counts(
    const Value& body, const std::string& field, Result<std::int64_t> (*parse)(std::string_view)) {
    if (body.type != ValueType::object)
        return invalid_field(field,
                             fmt::format("must be a group of numbers, is {}", describe_type(body)));
    std::map<std::string, std::int64_t> counts;
    for (std::size_t i = 0; i < body.names.size(); ++i) {
        const auto number = parse(body.items[i].text);
        if (!number) return invalid_field(field + "." + body.names[i], number.error().message);
        counts[body.names[i]] = *number;
    }
    return counts;
}

Result<ExpectedReason> parse_reason(const Value& body, const std::string& field) {
    ExpectedReason reason;
    if (body.type != ValueType::object) {
        reason.code = body.text;
    } else {
        for (std::size_t i = 0; i < body.names.size(); ++i) {
            if (body.names[i] == "code")
                reason.code = body.items[i].text;
            else
                reason.params[body.names[i]] = body.items[i].text;
        }
    }
    if (reason.code.empty())
        return invalid_field(field + ".code", "must name a reason, such as noCapacity");
    return reason;
}

Status parse_maps(Group& group, Expect& expect) {
    if (const Value* evicted = group.find("evicted")) {
        TANDEM_LET(counts, parse_counts(*evicted, group.at("evicted"), parse_integer));
        expect.evicted = std::move(counts);
    }
    if (const Value* members = group.find("members")) {
        TANDEM_LET(counts, parse_counts(*members, group.at("members"), parse_integer));
        expect.members = std::move(counts);
    }
    if (const Value* why = group.find("why")) {
        for (std::size_t i = 0; i < why->names.size(); ++i) {
            TANDEM_LET(reason, parse_reason(why->items[i], group.at("why") + "." + why->names[i]));
            expect.why[why->names[i]] = std::move(reason);
        }
    }
    if (const Value* used = group.find("used")) {
        for (std::size_t i = 0; i < used->names.size(); ++i) {
            TANDEM_LET(counts, parse_counts(used->items[i], group.at("used") + "." + used->names[i],
                                            parse_milli));
            expect.used[used->names[i]] = std::move(counts);
        }
    }
    if (const Value* on = group.find("on")) {
        for (std::size_t i = 0; i < on->names.size(); ++i)
            expect.on[on->names[i]] = on->items[i].text;
    }
    return {};
}

Result<Deed> parse_expect(const Value& body, const std::string& field) {
    Group group(body, field);
    TANDEM_TRY(group.check_form());
    Expect expect;
    TANDEM_LET(running, group.names("running"));
    expect.running = std::move(running);
    TANDEM_LET(pending, group.names("pending"));
    expect.pending = std::move(pending);
    const std::pair<const char*, std::optional<std::int64_t>*> counts[] = {
        {"runningCount", &expect.running_count},
        {"evictions", &expect.evictions},
        {"tasksPerDevice", &expect.tasks_per_device}};
    for (const auto& [name, member] : counts) {
        if (group.find(name) == nullptr) continue;
        TANDEM_LET(count, group.count(name, 0));
        *member = count;
    }
    TANDEM_TRY(parse_maps(group, expect));
    TANDEM_TRY(group.nothing_else());
    return Deed{std::move(expect)};
}

Result<Deed> parse_act(const Value& body, const std::string& field) {
    Group group(body, field);
    TANDEM_TRY(group.check_form());
    TANDEM_LET(job, group.text("job"));
    TANDEM_LET(verb, group.text("verb"));
    TANDEM_LET(priority, group.text("priority"));
    TANDEM_TRY(group.nothing_else());
    const auto act = model::parse_enum<model::JobAct>(verb);
    if (!act)
        return invalid_field(group.at("verb"),
                             fmt::format("\"{}\" is nothing to do to a job", verb));
    Act wanted{.job = job, .act = *act};
    if (!priority.empty()) {
        const auto number = parse_integer(priority);
        if (!number) return invalid_field(group.at("priority"), number.error().message);
        wanted.priority = *number;
    }
    return Deed{std::move(wanted)};
}

Result<Deed> parse_end(const Value& body, std::int64_t code) {
    return Deed{End{.job = body.text, .code = code}};
}

Result<Deed> parse_run(const Value& body, const std::string& field) {
    const auto time = parse_duration(body.text);
    if (!time) return invalid_field(field, time.error().message);
    return Deed{Pass{*time}};
}

Result<Deed> parse_deed(const std::string& verb, const Value& body, const std::string& field) {
    if (verb == "nodes") return parse_nodes(body, field);
    if (verb == "node") return parse_node_change(body, field);
    if (verb == "queue") return parse_queue(body, field);
    if (verb == "job") return parse_job(body, field);
    if (verb == "apply") return parse_apply(body, field);
    if (verb == "deleteQueue") return Deed{Remove{model::Kind::queue, body.text}};
    if (verb == "deleteJob") return Deed{Remove{model::Kind::job, body.text}};
    if (verb == "run") return parse_run(body, field);
    if (verb == "finish") return parse_end(body, 0);
    if (verb == "fail") return parse_end(body, 1);
    if (verb == "act") return parse_act(body, field);
    if (verb == "expect") return parse_expect(body, field);
    return invalid_field(field,
                         "is no operation; there are nodes, node, queue, job, apply, deleteQueue, "
                         "deleteJob, run, finish, fail, act, expect");
}

}  // namespace

Result<Workload> parse_workload(std::string_view yaml) {
    TANDEM_LET(documents, codec::parse_yaml(yaml));
    if (documents.size() != 1) return invalid_field("", "must be one document with name and ops");
    Group group(documents.front(), "");
    TANDEM_TRY(group.check_form());
    Workload workload;
    TANDEM_LET(name, group.text("name"));
    workload.name = name;
    TANDEM_LET(about, group.text("about"));
    workload.about = about;
    const Value* ops = group.find("ops");
    TANDEM_TRY(group.nothing_else());
    if (ops == nullptr || ops->type != ValueType::array)
        return invalid_field("ops", "must be a list of operations");
    for (std::size_t i = 0; i < ops->items.size(); ++i) {
        const Value& item = ops->items[i];
        const std::string field = fmt::format("ops[{}]", i);
        if (item.type != ValueType::object || item.names.size() != 1)
            return invalid_field(field, "must be one operation: {run: 10s}");
        TANDEM_LET(deed, parse_deed(item.names[0], item.items[0], field + "." + item.names[0]));
        workload.ops.push_back({field + "." + item.names[0], std::move(deed)});
    }
    return workload;
}

}  // namespace tandem::sim

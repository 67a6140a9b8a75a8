// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include "shim/protocol.h"

namespace tandem::shim {

std::string encode_spec(const TaskSpec& spec) {
    Fields fields;
    put(fields, "format", protocol_max);
    put(fields, "name", spec.name);
    for (const std::string& arg : spec.args) put(fields, "arg", arg);
    for (const std::string& variable : spec.env) put(fields, "env", variable);
    put(fields, "cwd", spec.cwd);
    put(fields, "ringBytes", spec.ring_bytes);
    put(fields, "graceMs", spec.grace_ms);
    put(fields, "maxRunMs", spec.max_run_ms);
    put(fields, "memoryBytes", spec.memory_bytes);
    put(fields, "pidsMax", spec.pids_max);
    for (int cpu : spec.cpus) put(fields, "cpu", cpu);
    for (const ResourceLimit& limit : spec.limits) {
        put(fields, "limit", limit.name + ":" + std::to_string(limit.value));
    }
    for (const std::string& cgroup : spec.cgroups) put(fields, "cgroup", cgroup);
    put(fields, "uid", spec.uid);
    put(fields, "gid", spec.gid);
    put(fields, "nice", spec.nice);
    put(fields, "port", spec.port);
    put(fields, "progressFile", spec.progress_file);
    put(fields, "node", spec.node);
    for (const std::string& device : spec.devices) put(fields, "device", device);
    put(fields, "watchMs", spec.watch_ms);
    return encode(fields);
}

namespace {

struct Range {
    const char* key;
    std::int64_t low;
    std::int64_t high;
};
constexpr std::int64_t any_max = std::int64_t{1} << 53;
constexpr std::int64_t days_100 = 100LL * 24 * 3'600'000;

Outcome<std::int64_t> number_within(const Fields& fields, const Range& range,
                                    std::int64_t otherwise) {
    std::string_view text = text_of(fields, range.key);
    if (text.empty()) return otherwise;
    std::int64_t value = number_of(fields, range.key, range.low - 1);
    if (value >= range.low && value <= range.high) return value;
    return std::unexpected(std::string(range.key) + ": must be " + std::to_string(range.low) +
                           ".." + std::to_string(range.high) + ", is " + std::string(text));
}

Outcome<ResourceLimit> parse_limit(std::string_view text) {
    std::size_t colon = text.find(':');
    Fields one;
    put(one, "value", colon == std::string_view::npos ? "" : text.substr(colon + 1));
    std::int64_t value = number_of(one, "value", -1);
    if (value < 0) return std::unexpected("limit: must be NAME:NUMBER, is " + std::string(text));
    return ResourceLimit{std::string(text.substr(0, colon)), static_cast<std::uint64_t>(value)};
}

// The keys that may repeat.
Outcome<void> read_list(const Field& field, TaskSpec& spec) {
    if (field.value.find('\0') != std::string::npos) {
        return std::unexpected(field.key + ": must not hold a zero byte");
    }
    if (field.key == "arg") spec.args.push_back(field.value);
    if (field.key == "env") spec.env.push_back(field.value);
    if (field.key == "cgroup") spec.cgroups.push_back(field.value);
    if (field.key == "device") spec.devices.push_back(field.value);
    if (field.key == "cpu") {
        auto cpu = number_within({{"cpu", field.value}}, {"cpu", 0, CPU_SETSIZE - 1}, 0);
        if (!cpu) return std::unexpected(cpu.error());
        spec.cpus.push_back(static_cast<int>(*cpu));
    }
    if (field.key == "limit") {
        auto limit = parse_limit(field.value);
        if (!limit) return std::unexpected(limit.error());
        spec.limits.push_back(*limit);
    }
    return {};
}

template <class T>
Outcome<void> read_number(const Fields& fields, const Range& range, T& into) {
    auto value = number_within(fields, range, static_cast<std::int64_t>(into));
    if (!value) return std::unexpected(value.error());
    into = static_cast<T>(*value);
    return {};
}

Outcome<void> read_numbers(const Fields& fields, TaskSpec& spec) {
    for (auto [range, into] : {std::pair<Range, std::int64_t*>{
                                   {"ringBytes", 4096, std::int64_t{1} << 40}, &spec.ring_bytes},
                               {{"graceMs", 0, days_100}, &spec.grace_ms},
                               {{"maxRunMs", 0, days_100 * 365}, &spec.max_run_ms},
                               {{"memoryBytes", 0, any_max}, &spec.memory_bytes},
                               {{"watchMs", 0, days_100}, &spec.watch_ms},
                               {{"pidsMax", 0, 1 << 22}, &spec.pids_max},
                               {{"uid", -1, 0xffff'fffe}, &spec.uid},
                               {{"gid", -1, 0xffff'fffe}, &spec.gid}}) {
        if (auto done = read_number(fields, range, *into); !done) return done;
    }
    if (auto done = read_number(fields, {"nice", -20, 19}, spec.nice); !done) return done;
    return read_number(fields, {"port", 0, 65535}, spec.port);
}

}  // namespace

Outcome<TaskSpec> decode_spec(std::string_view text) {
    std::optional<Fields> fields = decode(text);
    if (!fields) return std::unexpected("spec: not in the format of a task spec");
    if (number_of(*fields, "format") < protocol_min ||
        number_of(*fields, "format") > protocol_max) {
        return std::unexpected("format: must be 1, is " + std::string(text_of(*fields, "format")));
    }
    TaskSpec spec;
    spec.name = text_of(*fields, "name");
    spec.cwd = text_of(*fields, "cwd");
    spec.progress_file = text_of(*fields, "progressFile");
    spec.node = text_of(*fields, "node");
    for (const Field& field : *fields) {
        if (auto done = read_list(field, spec); !done) return std::unexpected(done.error());
    }
    if (auto done = read_numbers(*fields, spec); !done) return std::unexpected(done.error());
    if (spec.name.empty()) return std::unexpected("name: must not be empty");
    if (spec.args.empty() || spec.args[0].empty()) return std::unexpected("arg: needs a command");
    if (!spec.cwd.starts_with('/')) return std::unexpected("cwd: must be an absolute path");
    return spec;
}

}  // namespace tandem::shim

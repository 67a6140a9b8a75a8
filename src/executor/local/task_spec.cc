// SPDX-License-Identifier: Apache-2.0
#include "executor/local/task_spec.h"

#include <algorithm>
#include <set>

#include "base/quantity.h"

namespace tandem::executor {

namespace {

using Environment = std::map<std::string, std::string>;

// All that may be expanded; the ones without a value here are empty.
std::map<std::string, std::string> placeholders(const TaskPlace& place) {
    return {{"port", place.port > 0 ? std::to_string(place.port) : std::string()},
            {"model", place.model_path},
            {"runtimes", place.runtimes},
            {"python", place.python}};
}

struct Pinning {
    std::vector<int> cpus{};
    std::string gpus{};
};

Result<Pinning> pin(const model::StartTask& start, const std::vector<model::Device>& devices) {
    std::set<int> cpus;
    Pinning pinning;
    for (const model::DeviceShare& share : start.devices) {
        auto device = std::find_if(devices.begin(), devices.end(), [&](const model::Device& each) {
            return each.index == share.index;
        });
        if (device == devices.end()) {
            return fail(ErrorCode::invalid,
                        "device " + std::to_string(share.index) + " is not on this node");
        }
        for (std::int64_t core : device->cores) cpus.insert(static_cast<int>(core));
        if (device->cores.empty()) pinning.gpus += (pinning.gpus.empty() ? "" : ",") + device->uuid;
    }
    pinning.cpus.assign(cpus.begin(), cpus.end());
    return pinning;
}

// Each rank sees only its own devices, so it is the first and only one of its node.
void add_rendezvous(const model::StartTask& start, const TaskPlace& place, Environment& env) {
    if (!start.wants_rendezvous) return;
    env["MASTER_ADDR"] = "127.0.0.1";
    env["MASTER_PORT"] = std::to_string(place.rendezvous_port);
    env["WORLD_SIZE"] = std::to_string(start.world_size);
    env["RANK"] = std::to_string(start.member.value_or(start.task.rank));
    env["GROUP_RANK"] = env["RANK"];
    env["LOCAL_RANK"] = "0";
    env["LOCAL_WORLD_SIZE"] = "1";
}

void add_contract(const model::StartTask& start, const TaskPlace& place, Environment& env) {
    env[shim::name_variable] = start.task.text();
    env["TANDEM_TITLE"] = start.title;
    env["TANDEM_EPOCH"] = std::to_string(start.task.epoch);
    env["TANDEM_RANK"] = std::to_string(start.member.value_or(start.task.rank));
    env["TANDEM_PROGRESS_FILE"] = place.folder + "/progress";
    env["TANDEM_OUTPUT_DIR"] = place.folder + "/outputs";
    if (start.checkpoint) {
        env["TANDEM_CHECKPOINT_DIR"] = checkpoint_folder_of(start, place);
        env["TANDEM_RESUME_FROM"] = start.resume_from;
    }
    if (place.port > 0) env["TANDEM_PORT"] = std::to_string(place.port);
    if (!place.replica_key.empty()) env["TANDEM_REPLICA_KEY"] = place.replica_key;
    if (!place.model_path.empty()) env["TANDEM_MODEL"] = place.model_path;
}

Result<Environment> environment_of(const model::StartTask& start, const TaskPlace& place,
                                   const Pinning& pinning) {
    Environment env = place.base_env;
    // Libraries take as many threads as the machine has cores unless they are told.
    if (!pinning.cpus.empty()) env["OMP_NUM_THREADS"] = std::to_string(pinning.cpus.size());
    add_rendezvous(start, place, env);
    for (const auto& [key, value] : start.env) {
        Result<std::string> expanded = expand(value, placeholders(place), start.wants_port);
        if (!expanded) return in_context("env " + key, expanded.error());
        env[key] = std::move(*expanded);
    }
    // After the user's own: these are what the platform itself relies on.
    add_contract(start, place, env);
    env["CUDA_VISIBLE_DEVICES"] = pinning.gpus;  // empty hides what was not given
    return env;
}

}  // namespace

std::string checkpoint_folder_of(const model::StartTask& start, const TaskPlace& place) {
    return start.checkpoint_directory.empty() ? place.checkpoints : start.checkpoint_directory;
}

Result<std::string> expand(std::string_view text, const std::map<std::string, std::string>& values,
                           bool must) {
    std::string result;
    while (!text.empty()) {
        std::size_t end = text.front() == '{' ? text.find('}') : std::string_view::npos;
        auto value = end == std::string_view::npos
                         ? values.end()
                         : values.find(std::string(text.substr(1, end - 1)));
        if (value == values.end() || (value->second.empty() && !must)) {
            result += text.front();
            text.remove_prefix(1);
            continue;
        }
        if (value->second.empty()) {
            return fail(ErrorCode::invalid, "{" + value->first + "} has no value for this task");
        }
        result += value->second;
        text.remove_prefix(end + 1);
    }
    return result;
}

Result<shim::TaskSpec> make_task_spec(const model::StartTask& start, const TaskPlace& place,
                                      const std::vector<model::Device>& devices) {
    TANDEM_LET(pinning, pin(start, devices));
    TANDEM_LET(env, environment_of(start, place, pinning));
    shim::TaskSpec spec;
    spec.name = start.task.text();
    for (const std::string& word : start.command) {
        Result<std::string> expanded = expand(word, placeholders(place), start.wants_port);
        if (!expanded) return in_context("command", expanded.error());
        spec.args.push_back(std::move(*expanded));
    }
    for (const auto& [key, value] : env) spec.env.push_back(key + "=" + value);
    spec.cwd =
        start.working_directory.empty() ? place.folder + "/workdir" : start.working_directory;
    spec.ring_bytes = place.ring_bytes;
    spec.grace_ms = start.grace.ms;
    spec.max_run_ms = start.max_run_time.ms;
    spec.memory_bytes = start.memory_bytes;
    spec.cpus = pinning.cpus;
    spec.cgroups = cgroups_of(place.cgroups, spec.name, start.memory_bytes > 0, false);
    spec.port = place.port;
    spec.progress_file = place.folder + "/progress";
    spec.node = start.node;
    for (const model::DeviceShare& share : start.devices)
        spec.devices.push_back(std::to_string(share.index) + ":" + std::to_string(share.milli));
    spec.watch_ms = start.watch_period.ms;
    return spec;
}

std::vector<model::DeviceShare> devices_of(const shim::TaskSpec& spec,
                                           const std::vector<model::Device>& devices) {
    std::vector<model::DeviceShare> shares;
    for (const std::string& text : spec.devices) {
        const std::size_t colon = std::min(text.find(':'), text.size());
        const auto index = parse_integer(std::string_view(text).substr(0, colon));
        const auto milli =
            parse_integer(std::string_view(text).substr(std::min(colon + 1, text.size())));
        if (index && milli) shares.push_back({*index, *milli});
    }
    if (!spec.node.empty()) return shares;
    // Of an older server: whatever it could have used.
    constexpr std::string_view visible = "CUDA_VISIBLE_DEVICES=";
    std::string cards;
    for (const std::string& variable : spec.env)
        if (variable.starts_with(visible)) cards = "," + variable.substr(visible.size()) + ",";
    for (const model::Device& device : devices) {
        const bool pinned = std::ranges::any_of(device.cores, [&](std::int64_t core) {
            return std::ranges::find(spec.cpus, static_cast<int>(core)) != spec.cpus.end();
        });
        const bool seen =
            !device.uuid.empty() && cards.find("," + device.uuid + ",") != std::string::npos;
        if (pinned || seen) shares.push_back({device.index, 1000});
    }
    return shares;
}

}  // namespace tandem::executor

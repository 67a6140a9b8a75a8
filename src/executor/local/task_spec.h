// SPDX-License-Identifier: Apache-2.0
// From an intent to the spec that its shim gets: command and environment with their placeholders
// expanded, pinning, limits, and the contracts (checkpoint, rendezvous, replica). No I/O.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "executor/local/cgroup_roots.h"
#include "model/capacity.h"
#include "model/intent.h"
#include "shim/protocol.h"

namespace tandem::executor {

// What the machine and the installation add to an intent.
struct TaskPlace {
    std::string folder{};       // the task's own
    std::string checkpoints{};  // where checkpoints go when the intent names no folder
    int port = 0;               // 0: none wanted
    int rendezvous_port = 0;
    std::string replica_key{};
    std::string model_path{};
    std::string runtimes{};  // folder of runtime templates
    std::string python{};
    std::map<std::string, std::string> base_env{};
    std::int64_t ring_bytes = 64 << 20;
    CgroupRoots cgroups{};
};

// `devices` are the node's. The error names a placeholder or device that does not exist.
Result<shim::TaskSpec> make_task_spec(const model::StartTask& start, const TaskPlace& place,
                                      const std::vector<model::Device>& devices);

// What a task has of the node's devices, by what it was started with; each device that it could
// have used, whole, when an older server wrote that down without saying so.
std::vector<model::DeviceShare> devices_of(const shim::TaskSpec& spec,
                                           const std::vector<model::Device>& devices);

std::string checkpoint_folder_of(const model::StartTask& start, const TaskPlace& place);

// "--port={port}" -> "--port=41234". Only the names in `values` are placeholders, all other braces
// are left as they are (programs are full of them). One without a value is left too, or refused by
// name when it `must` have one.
Result<std::string> expand(std::string_view text, const std::map<std::string, std::string>& values,
                           bool must);

}  // namespace tandem::executor

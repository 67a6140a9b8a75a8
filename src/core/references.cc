// SPDX-License-Identifier: Apache-2.0
#include "core/references.h"

namespace tandem::core {

std::set<std::string> referenced_blobs(const State& state) {
    std::set<std::string> digests;
    for (const auto& [id, version] : state.table<model::ModelVersion>().rows()) digests.insert(version.spec.digest);
    for (const auto& [id, job] : state.table<model::Job>().rows())
        for (const model::OutputRecord& output : job.status.outputs) digests.insert(output.digest);
    for (const auto& [id, intent] : state.intents.rows())
        if (const auto* start = std::get_if<model::StartTask>(&intent.body)) digests.insert(start->model_digest);
    digests.erase("");
    return digests;
}

}  // namespace tandem::core

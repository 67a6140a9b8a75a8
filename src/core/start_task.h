// SPDX-License-Identifier: Apache-2.0
// Renders what a replica is started with: command, environment, devices, limits. Names of the environment are
// the contract with programs (docs/CONTRACT.md); the executor adds folders and ports that only it knows.
#pragma once

#include "core/turn.h"

namespace tandem::core {

model::StartTask start_task_of_job(const State& state, const model::Job& job, const model::Replica& replica);
model::StartTask start_task_of_service(const State& state, const model::Service& service,
                                       const model::Replica& replica, const model::ModelVersion& version,
                                       const model::Runtime& runtime);
model::CollectOutputs collect_outputs_of(const State& state, const model::Job& job);

}  // namespace tandem::core

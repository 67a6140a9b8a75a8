// SPDX-License-Identifier: Apache-2.0
// Records for the contract test, made as core makes them: ids, versions and batches only grow. Tests only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/ports.h"
#include "model/batch.h"

namespace tandem::store {

class Writer {
  public:
    model::CoreMeta meta{};
    Instant now{1'000'000};

    RowId next_id() { return RowId{meta.next_id++}; }

    // The object gets its id, uid and version here; changes go into the batch being built.
    template <class T>
    T& add(std::vector<T>& kept, T object) {
        object.meta.id = next_id();
        object.meta.uid = Uid{{static_cast<std::uint8_t>(object.meta.id.value), static_cast<std::uint8_t>(object.meta.id.value >> 8), 7}};
        object.meta.generation = 1;
        kept.push_back(std::move(object));
        change(kept.back(), model::ChangeType::added);
        return kept.back();
    }
    template <class T>
    void change(T& object, model::ChangeType type, model::Labels old_labels = {}) {
        object.meta.version = ++meta.version;
        record.changes.push_back({.version = meta.version, .type = type, .object = object, .old_labels = std::move(old_labels)});
    }
    // Ends the batch and begins the next.
    model::BatchRecord take() {
        now.ms += 10;
        ++meta.batch;
        meta.time = now;
        record.meta = meta;
        record.tick = {.now = now, .seed = seed_from(static_cast<std::uint64_t>(meta.batch))};
        record.digest = 0xfedcba9876543210ULL + static_cast<std::uint64_t>(meta.batch);
        return std::exchange(record, {});
    }
    model::BatchRecord record{};
};

inline model::Job sample_job(std::string name, std::string project = "default", model::Labels labels = {}) {
    model::Job job;
    job.meta.name = std::move(name);
    job.meta.project = std::move(project);
    job.meta.name_space = "default";
    job.meta.labels = std::move(labels);
    job.spec.command = {"python3", "train.py"};
    job.spec.roles = {{.name = "worker", .replicas = 2, .resources = {.devices = 1000}}};
    return job;
}

inline model::UsageRecord sample_usage(RowId id, std::int64_t from, std::int64_t to, std::string project, Uid owner = {}) {
    return {.id = id, .state = owner ? model::LedgerState::running : model::LedgerState::idle, .from = Instant{from}, .to = Instant{to},
            .milli = 1000, .node = "n1", .device = 2, .flavor = "cpu-slice", .pool = "default", .queue = "q", .project = std::move(project),
            .name_space = "default", .owner_kind = owner ? "Job" : "", .owner_name = owner ? "train" : "", .owner_uid = owner,
            .replica = owner ? "train-worker-0" : "", .epoch = 3, .server_absent = true};
}

inline model::RequestUsage sample_request(std::int64_t sequence, Instant at, std::string project = "default") {
    return {.gateway = "gw1", .epoch = 4, .sequence = sequence, .request_id = "r" + std::to_string(sequence), .at = at, .key_id = "k",
            .subject = "user:a", .project = std::move(project), .name_space = "default", .service = "chat", .model_version = "m.v1",
            .replica = "chat-0", .prompt_tokens = 10, .cached_tokens = 2, .completion_tokens = 30, .status = 200, .ttft_ms = 12,
            .total_ms = 340, .streamed = true, .aborted = false, .estimated = true, .prompt_estimated = true, .gateway_lost = true};
}

inline const core::ReadScope everything{.all_projects = true};

}  // namespace tandem::store

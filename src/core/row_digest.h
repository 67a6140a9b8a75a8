// SPDX-License-Identifier: Apache-2.0
// add_row: mixes one stored row into a digest: identity, version, and what the platform itself decides.
#pragma once

#include <string>

#include "base/digest.h"
#include "model/object.h"

namespace tandem::core {

inline void add_reason(Digest& digest, const model::Reason& reason) {
    digest.add(static_cast<std::int64_t>(reason.code));
    for (const model::ReasonParam& param : reason.params) {
        digest.add(param.name);
        digest.add(param.value);
    }
}

inline void add_status(Digest& digest, const model::JobStatus& status) {
    digest.add(static_cast<std::int64_t>(status.phase));
    digest.add(static_cast<std::int64_t>(status.ending));
    digest.add(status.epoch);
    digest.add(status.failures);
    digest.add(status.preemptions);
    digest.add(status.checkpoint ? status.checkpoint->step : -1);
    if (status.next_rank > 0) {
        digest.add(status.replicas);
        digest.add(status.next_rank);
        digest.add(status.shrinks);
        digest.add(status.resized ? status.resized->ms : -1);
    }
    add_reason(digest, status.reason);
}
inline void add_status(Digest& digest, const model::ServiceStatus& status) {
    digest.add(static_cast<std::int64_t>(status.phase));
    digest.add(status.desired);
    digest.add(status.ready);
    digest.add(status.serving_version);
    digest.add(status.target_version);
    digest.add(status.serving_revision);
    digest.add(status.target_revision);
    digest.add(status.next_rank);
    add_reason(digest, status.reason);
}
inline void add_status(Digest& digest, const model::ReplicaStatus& status) {
    digest.add(static_cast<std::int64_t>(status.phase));
    digest.add(status.epoch);
    digest.add(status.node);
    for (const model::DeviceShare& share : status.devices) {
        digest.add(share.index);
        digest.add(share.milli);
    }
    digest.add(status.endpoint);
    if (status.surplus || status.draining)
        digest.add((status.surplus ? 2 : 0) + (status.draining ? 1 : 0));
    add_reason(digest, status.reason);
}
inline void add_status(Digest& digest, const model::NodeStatus& status) {
    digest.add(status.ready ? 1 : 0);
    digest.add(static_cast<std::int64_t>(status.devices.size()));
}
inline void add_status(Digest& digest, const model::PoolStatus& status) {
    digest.add(status.ready ? 1 : 0);
    for (const model::HeldDevice& held : status.held) {
        digest.add(held.node);
        digest.add(held.index);
    }
}

inline void add_status(Digest& digest, const model::QueueStatus& status) {
    for (const model::FlavorUse& use : status.used) {
        digest.add(use.flavor);
        digest.add(use.amount);
        digest.add(use.at.ms);
    }
    digest.add(status.evictions_left);
    digest.add(status.evictions_at ? status.evictions_at->ms : -1);
}

inline void add_status(Digest& digest, const model::ReservationStatus& status) {
    digest.add(static_cast<std::int64_t>(status.phase));
    digest.add(status.window);
    digest.add(status.start.ms);
    for (const model::HeldDevice& held : status.held) {
        digest.add(held.node);
        digest.add(held.index);
    }
}
inline void add_status(Digest& digest, const model::MaintenanceStatus& status) {
    digest.add(static_cast<std::int64_t>(status.phase));
    for (const std::string& node : status.nodes) digest.add(node);
    for (const std::string& work : status.staying) digest.add(work);
}

template <class T>
void add_row(Digest& digest, const T& row) {
    digest.add(static_cast<std::int64_t>(T::kind));
    digest.add(row.meta.id.value);
    digest.add(row.meta.uid.text());
    digest.add(row.meta.name);
    digest.add(row.meta.version);
    digest.add(row.meta.generation);
    if constexpr (requires { row.status; }) add_status(digest, row.status);
}

}  // namespace tandem::core

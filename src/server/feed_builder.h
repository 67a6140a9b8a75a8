// SPDX-License-Identifier: Apache-2.0
// FeedBuilder: what gateways are told after a commit: keys that may call models, services, and their ready
// replicas with the secrets that open them. Runs on the core thread; its updates are plain values.
#pragma once

#include <optional>

#include "base/secret.h"
#include "core/state.h"
#include "model/feed.h"

namespace tandem::server {

// Secret of one replica: MAC(installation secret, uid, epoch, rank); derived, never stored.
std::string replica_key(const Secret& installation, const model::TaskName& task);

class FeedBuilder {
  public:
    explicit FeedBuilder(Secret installation) : installation_(std::move(installation)) {}

    model::FeedUpdate snapshot(const core::State& state, Instant now) const;
    // Absent when the batch changed nothing that a gateway knows.
    std::optional<model::FeedUpdate> delta(const model::BatchRecord& record, const core::State& state) const;

  private:
    std::optional<model::FeedKey> key_of(const core::State& state, const model::ApiKey& key) const;
    model::FeedService service_of(const core::State& state, const model::Service& service) const;
    void add_all_keys(const core::State& state, model::FeedUpdate& update) const;

    Secret installation_;
};

}  // namespace tandem::server

// SPDX-License-Identifier: Apache-2.0
// IntentRouter: gives each intent to the part that can do it: probes to the prober, everything else
// to the executor of its node (this release: the local one).
#pragma once

#include <map>
#include <mutex>

#include "core/ports.h"
#include "probe/prober.h"
#include "server/feed_builder.h"

namespace tandem::apps {

class IntentRouter : public core::Executor {
  public:
    IntentRouter(core::Executor& local, probe::Prober& prober, Secret installation)
        : local_(local), prober_(prober), installation_(std::move(installation)) {}

    void execute(const model::Intent& intent) override {
        const auto* probe = std::get_if<model::ProbeReplica>(&intent.body);
        if (!probe) return local_.execute(intent);
        {
            const std::lock_guard lock(mutex_);
            probes_[intent.id] = probe->task;
        }
        prober_.probe(*probe, Secret(server::replica_key(installation_, probe->task)));
    }

    void forget(RowId intent) override {
        local_.forget(intent);
        const std::lock_guard lock(mutex_);
        const auto it = probes_.find(intent);
        if (it == probes_.end()) return;
        prober_.cancel(it->second);
        probes_.erase(it);
    }

    void settle(const model::TaskName& task) override { local_.settle(task); }

  private:
    core::Executor& local_;
    probe::Prober& prober_;
    Secret installation_;
    std::mutex mutex_;
    std::map<RowId, model::TaskName> probes_;
};

}  // namespace tandem::apps

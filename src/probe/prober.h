// SPDX-License-Identifier: Apache-2.0
// Prober: is a model server ready? It is when it has generated one token: a port that answers
// proves nothing. Each replica is asked again and again until it is ready or cancelled; what it
// last said is told now and then.
//
// Callbacks run on the prober's own thread. Thread rule: every function from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/secret.h"
#include "model/input.h"
#include "model/intent.h"
#include "net/http/async_client.h"

namespace tandem::probe {

class Prober {
  public:
    using Report = std::function<void(model::ReplicaProbed)>;

    static Result<std::unique_ptr<Prober>> make(Report report);
    ~Prober();

    // The same task again changes nothing while it is being asked.
    void probe(const model::ProbeReplica& intent, Secret key);
    void cancel(const model::TaskName& task);

  private:
    struct State;
    explicit Prober(std::shared_ptr<State> state);
    std::shared_ptr<State> state_;
};

}  // namespace tandem::probe

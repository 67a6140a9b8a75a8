// SPDX-License-Identifier: Apache-2.0
// LeaseDesk: the gateway's one LeaseHolder behind a lock, with the requests that wait for a first
// grant, and the file that lets a restarted gateway go on with its shares. Thread rule: any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gateway/parked.h"
#include "traffic/lease_holder.h"

namespace tandem::gateway {

class LeaseDesk {
  public:
    // `wake`: somebody waits for a grant; ask the server now.
    LeaseDesk(std::string file, Instant now, std::function<void()> wake);

    traffic::AdmissionResult admit(std::string_view key_id, const traffic::KeyLimits& limits,
                                   Instant now);
    void release(std::string_view key_id);
    // Told (leases_changed) after the next grants.
    void park(std::shared_ptr<Parked> parked);
    void withdraw(const Parked& parked);

    traffic::LeaseHolder::Batch due(Instant now);
    void on_grants(const traffic::LeaseHolder::Batch& batch,
                   const std::vector<model::LeaseGrant>& grants, Instant now);
    void lost();

  private:
    void save(const traffic::LeaseHolder::Held& held);

    std::string file_;
    std::function<void()> wake_;
    std::mutex mutex_;
    traffic::LeaseHolder holder_;
    std::vector<std::shared_ptr<Parked>> waiting_;
    std::string saved_;  // uplink thread only
};

}  // namespace tandem::gateway

// SPDX-License-Identifier: Apache-2.0
// Parked: a request that waits for something other threads have: a replica, a lease. Whoever has it
// tells; the request hears it on its own loop. A request that has left in the meantime hears
// nothing, and what it was given goes to `undelivered`.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "gateway/route_table.h"
#include "net/relay/loop.h"

namespace tandem::gateway {

struct Told {
    enum class What : std::uint8_t {
        replica,
        service_gone,
        service_failing,
        leases_changed
    } what = What::replica;
    std::shared_ptr<const ReplicaRoute> replica{};  // one of its places is the request's now
    std::shared_ptr<const ServiceRoute> service{};  // of service_failing: as it is now
};

class ParkTarget {
  public:
    virtual void on_told(const Told& told) = 0;

  protected:
    ~ParkTarget() = default;
};

class Parked : public std::enable_shared_from_this<Parked> {
  public:
    Parked(relay::Loop& loop, ParkTarget& target, std::vector<Uid> tried,
           std::function<void(const Told&)> undelivered)
        : loop_(loop),
          target_(&target),
          tried_(std::move(tried)),
          undelivered_(std::move(undelivered)) {}

    void leave() { target_ = nullptr; }                       // loop thread
    const std::vector<Uid>& tried() const { return tried_; }  // replicas that must not be given
    void tell(Told told) {                                    // any thread
        loop_.post([self = shared_from_this(), told = std::move(told)] {
            if (self->target_)
                self->target_->on_told(told);
            else
                self->undelivered_(told);
        });
    }

  private:
    relay::Loop& loop_;
    ParkTarget* target_;
    std::vector<Uid> tried_;
    std::function<void(const Told&)> undelivered_;
};

}  // namespace tandem::gateway

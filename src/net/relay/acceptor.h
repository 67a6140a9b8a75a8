// SPDX-License-Identifier: Apache-2.0
// Acceptor: the listening ends of one loop. Owns the client connections of its loop, keeps the door limits
// (descriptors, total, per address) and hands requests to the loop's Handler. Loop thread only.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>

#include "net/relay/client_connection.h"
#include "net/relay/server.h"

namespace tandem::relay {

class Acceptor final : public Watcher {
  public:
    Acceptor(Loop& loop, std::vector<Fd> listeners, std::shared_ptr<TlsIdentity> tls, const ServerLimits& limits, ServerCounters& counters,
             std::unique_ptr<Handler> handler);
    ~Acceptor() override;

    Status open();
    void close_door();              // accepts nothing more; idle connections end
    void end_all();                 // and breaks what still goes on
    bool empty() const { return connections_.empty(); }

    void on_events(std::uint32_t events) override;

    Loop& loop() { return loop_; }
    Handler& handler() { return *handler_; }
    const ServerLimits& limits() const { return limits_; }
    ServerCounters& counters() { return counters_; }
    bool closing() const { return listeners_.empty(); }
    RequestHead& head() { return head_; }  // scratch, reused by every request of the loop
    void forget(ClientConnection& connection);

  private:
    std::vector<ClientConnection*> all() const;
    bool accept_from(const Fd& listener);
    void admit(Accepted accepted);
    void refuse(Fd socket);

    Loop& loop_;
    std::vector<Fd> listeners_;
    std::shared_ptr<TlsIdentity> tls_;
    ServerLimits limits_;
    ServerCounters& counters_;
    int fd_max_;
    RequestHead head_;
    std::unique_ptr<Handler> handler_;
    std::map<Endpoint, int> per_address_;
    std::unordered_map<ClientConnection*, std::unique_ptr<ClientConnection>> connections_;
    Timer retry_;  // out of descriptors: look again later
};

}  // namespace tandem::relay

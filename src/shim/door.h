// SPDX-License-Identifier: Apache-2.0
// The shim's unix socket: accepts at most clients_max servers of the same user (or root), cuts
// their bytes into messages, and keeps what can't be written yet. A client that reads too slowly,
// or speaks something else, is dropped; it can connect again. Owned by the shim's loop.
#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

#include "shim/protocol.h"

namespace tandem::shim {

struct Client {
    int fd = -1;
    std::string in;
    std::string out;
    bool subscribed = false;
    std::int64_t every_ms = 0;   // pushes on output at most this often; 0: none
    std::int64_t pushed_ms = 0;  // monotonic
    std::int64_t pushed_bytes = 0;
};

class Door {
  public:
    static constexpr std::size_t clients_max = 16;
    static constexpr std::size_t unsent_bytes_max = 1 << 20;
    using OnMessage = std::function<void(Client&, const Fields&)>;

    Door() = default;
    ~Door();
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;

    bool open();  // in the current working folder; errno says why not
    void watch(std::vector<pollfd>& fds) const;
    // `ready` is what poll() made of the entries that watch() added.
    void serve(const pollfd* ready, const OnMessage& on_message);
    void send(Client& client, const Fields& fields);
    std::vector<Client>& clients() { return clients_; }
    const std::vector<Client>& clients() const { return clients_; }

  private:
    void accept_one();
    void receive(Client& client, const OnMessage& on_message);
    static void flush(Client& client);
    static void drop(Client& client);

    int listener_ = -1;
    std::vector<Client> clients_;
};

}  // namespace tandem::shim

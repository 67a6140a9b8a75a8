// SPDX-License-Identifier: Apache-2.0
#include "shim/door.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tandem::shim {

Door::~Door() {
    for (Client& client : clients_) drop(client);
    if (listener_ >= 0) close(listener_);
}

bool Door::open() {
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_file, sizeof address.sun_path - 1);
    unlink(socket_file);
    return listener_ >= 0 &&
           bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
           listen(listener_, static_cast<int>(clients_max)) == 0;
}

void Door::watch(std::vector<pollfd>& fds) const {
    bool room = clients_.size() < clients_max;
    fds.push_back({listener_, static_cast<short>(room ? POLLIN : 0), 0});
    for (const Client& client : clients_) {
        fds.push_back(
            {client.fd, static_cast<short>(client.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
    }
}

void Door::serve(const pollfd* ready, const OnMessage& on_message) {
    for (std::size_t i = 0; i < clients_.size(); ++i) {
        short events = ready[1 + i].revents;
        if (events & POLLOUT) flush(clients_[i]);
        if (events & (POLLIN | POLLHUP | POLLERR)) receive(clients_[i], on_message);
    }
    std::erase_if(clients_, [](const Client& client) { return client.fd < 0; });
    if (ready[0].revents & POLLIN) accept_one();
}

void Door::accept_one() {
    int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    ucred peer{};
    socklen_t size = sizeof peer;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
                 (peer.uid == geteuid() || peer.uid == 0);
    if (!known) {
        close(fd);
        return;
    }
    Client client;
    client.fd = fd;
    clients_.push_back(std::move(client));
}

void Door::receive(Client& client, const OnMessage& on_message) {
    char part[4096];
    ssize_t got = recv(client.fd, part, sizeof part, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return drop(client);
    client.in.append(part, static_cast<std::size_t>(got));
    while (client.fd >= 0) {
        auto message = take_frame(client.in);
        if (!message) return drop(client);
        if (!*message) return;
        on_message(client, **message);
    }
}

void Door::send(Client& client, const Fields& fields) {
    if (client.fd < 0) return;
    client.out += frame(fields);
    flush(client);
    if (client.out.size() > unsent_bytes_max) drop(client);
}

void Door::flush(Client& client) {
    while (client.fd >= 0 && !client.out.empty()) {
        ssize_t put = ::send(client.fd, client.out.data(), client.out.size(), MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) return;
        if (put <= 0) return drop(client);
        client.out.erase(0, static_cast<std::size_t>(put));
    }
}

// Only marks it: the entry goes when serve() is through, so that indexes of poll entries stay
// right.
void Door::drop(Client& client) {
    if (client.fd >= 0) close(client.fd);
    client.fd = -1;
    client.out.clear();
}

}  // namespace tandem::shim

// SPDX-License-Identifier: Apache-2.0
#include "net/relay/outgoing.h"

#include <sys/socket.h>
#include <cerrno>

#include "net/relay/tls.h"

namespace tandem::relay {

namespace {

IoState send_some(const Fd& socket, std::string_view bytes, std::size_t& sent) {
    while (true) {
        const auto n = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n > 0) {
            sent = static_cast<std::size_t>(n);
            return IoState::done;
        }
        if (n < 0 && errno == EINTR) continue;
        return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? IoState::blocked
                                                                  : IoState::broken;
    }
}

}  // namespace

IoState Outgoing::flush(const Fd& socket, TlsSession* tls) {
    while (sent_ < bytes_.size()) {
        const auto rest = std::string_view(bytes_).substr(sent_);
        std::size_t sent = 0;
        const auto io = tls ? tls->write(rest, sent) : send_some(socket, rest, sent);
        if (io == IoState::blocked &&
            sent_ > bytes_.size() / 2) {  // keep the buffer from growing while the peer is slow
            bytes_.erase(0, sent_);
            sent_ = 0;
        }
        if (io != IoState::done) return io;
        sent_ += sent;
    }
    sent_ = 0;
    bytes_.clear();
    if (bytes_.capacity() > 16 * 1024) bytes_.shrink_to_fit();  // an idle connection stays small
    return IoState::done;
}

ReadResult read_some(const Fd& socket, char* into, std::size_t room) {
    ReadResult result;
    while (true) {
        const auto n = ::recv(socket.get(), into, room, 0);
        if (n > 0) {
            result.bytes = static_cast<std::size_t>(n);
            // A short read has emptied the socket; what comes later makes a new edge.
            result.drained = result.bytes < room;
            return result;
        }
        if (n == 0) {
            result.ended = true;
            return result;
        }
        if (errno == EINTR) continue;
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            result.drained = true;
        else
            result.broken = true;
        return result;
    }
}

}  // namespace tandem::relay

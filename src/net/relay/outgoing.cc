// SPDX-License-Identifier: Apache-2.0
#include "net/relay/outgoing.h"

#include <cerrno>
#include <sys/socket.h>

namespace tandem::relay {

IoState Outgoing::flush(const Fd& socket) {
    while (sent_ < bytes_.size()) {
        const auto n = ::send(socket.get(), bytes_.data() + sent_, bytes_.size() - sent_, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (sent_ > bytes_.size() / 2) {  // keep the buffer from growing while the peer is slow
                bytes_.erase(0, sent_);
                sent_ = 0;
            }
            return IoState::blocked;
        }
        if (n <= 0) return IoState::broken;
        sent_ += static_cast<std::size_t>(n);
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
        if (errno == EAGAIN || errno == EWOULDBLOCK) result.drained = true;
        else result.broken = true;
        return result;
    }
}

}  // namespace tandem::relay

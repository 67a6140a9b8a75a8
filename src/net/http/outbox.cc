// SPDX-License-Identifier: Apache-2.0
#include "net/http/outbox.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <utility>

namespace tandem::http {

namespace {
constexpr std::size_t join_max = 16 * 1024;
constexpr std::size_t parts_max = 16;
}  // namespace

void Outbox::add(std::string_view bytes) {
    if (bytes.empty()) return;
    size_ += bytes.size();
    if (!pieces_.empty() && pieces_.back().size() + bytes.size() <= join_max)
        pieces_.back() += bytes;
    else
        pieces_.emplace_back(bytes);
}

void Outbox::add(std::string&& bytes) {
    if (bytes.empty()) return;
    if (!pieces_.empty() && pieces_.back().size() + bytes.size() <= join_max)
        return add(std::string_view(bytes));
    size_ += bytes.size();
    pieces_.push_back(std::move(bytes));
}

SendResult Outbox::send(int descriptor) {
    progressed_ = false;
    while (size_ > 0) {
        iovec parts[parts_max];
        std::size_t count = 0;
        for (std::string& piece : pieces_) {
            if (count == parts_max) break;
            std::size_t skip = count == 0 ? at_ : 0;
            parts[count++] = {piece.data() + skip, piece.size() - skip};
        }
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = count;
        ssize_t sent = ::sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            if (errno == EINTR) continue;
            return errno == EAGAIN || errno == EWOULDBLOCK ? SendResult::would_block
                                                           : SendResult::broken;
        }
        progressed_ = true;
        drop(static_cast<std::size_t>(sent));
    }
    return SendResult::all_sent;
}

void Outbox::drop(std::size_t bytes) {
    size_ -= bytes;
    while (bytes > 0) {
        std::size_t left = pieces_.front().size() - at_;
        if (bytes < left) {
            at_ += bytes;
            return;
        }
        bytes -= left;
        at_ = 0;
        // The last piece keeps its memory for the next answer, unless it was a large one.
        if (pieces_.size() == 1 && pieces_.front().capacity() <= join_max)
            pieces_.front().clear();
        else
            pieces_.pop_front();
    }
}

}  // namespace tandem::http

// SPDX-License-Identifier: Apache-2.0
// Outgoing: the bytes a connection still has to send, in order. Appending copies; flushing writes as much as the
// socket takes. Bounded by its user (see high_water). Thread rule: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/relay/socket.h"

namespace tandem::relay {

class TlsSession;

enum class IoState : std::uint8_t { done, blocked, broken };

class Outgoing {
  public:
    void append(std::string_view bytes) { bytes_.append(bytes); }
    std::string& tail() { return bytes_; }  // for appending formatted text in place
    std::size_t size() const { return bytes_.size() - sent_; }
    bool empty() const { return size() == 0; }
    IoState flush(const Fd& socket, TlsSession* tls);

  private:
    std::string bytes_;
    std::size_t sent_ = 0;
};

struct ReadResult {
    std::size_t bytes = 0;
    bool drained = false;  // nothing more for now: wait for the next event
    bool ended = false;    // the peer closed its side
    bool broken = false;
};
ReadResult read_some(const Fd& socket, char* into, std::size_t room);

}  // namespace tandem::relay

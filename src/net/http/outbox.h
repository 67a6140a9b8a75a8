// SPDX-License-Identifier: Apache-2.0
// Outbox: bytes that wait to be sent on a socket. Small pieces are joined, large ones are kept and
// never copied. Inside net/http only. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace tandem::http {

enum class SendResult : std::uint8_t { all_sent, would_block, broken };

class Outbox {
  public:
    void add(std::string_view bytes);
    void add(std::string&& bytes);
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    // Sends on a non-blocking socket until nothing is left or nothing more is taken.
    SendResult send(int descriptor);
    bool progressed() const { return progressed_; }  // by the last send()

  private:
    void drop(std::size_t bytes);
    std::deque<std::string> pieces_;
    std::size_t at_ = 0;  // into the first piece
    std::size_t size_ = 0;
    bool progressed_ = false;
};

}  // namespace tandem::http

// SPDX-License-Identifier: Apache-2.0
// A connection to one shim: non-blocking, bytes in, messages out. Owned by the executor's loop.
#pragma once

#include <string>
#include <vector>

#include "shim/protocol.h"

namespace tandem::executor {

class ShimLink {
  public:
    ShimLink() = default;
    ~ShimLink();
    ShimLink(ShimLink&& other) noexcept;
    ShimLink& operator=(ShimLink&& other) noexcept;

    // Connects, greets and subscribes. False: nobody listens there.
    bool open(int folder_fd, std::int64_t push_every_ms);
    void close();
    bool is_open() const { return fd_ >= 0; }
    int fd() const { return fd_; }
    // The socket takes some hundred requests. False: the other side is gone or does not read.
    bool send(const shim::Fields& fields);
    // What has arrived. False: the other side is gone, or speaks something else.
    bool receive(std::vector<shim::Fields>& messages);

  private:
    int fd_ = -1;
    std::string in_;
};

}  // namespace tandem::executor

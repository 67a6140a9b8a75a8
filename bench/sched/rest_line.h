// SPDX-License-Identifier: Apache-2.0
// RestLine: one keep-alive connection of a load to a server on this machine, one request at a time. What goes wrong
// ends the program.
#pragma once

#include <string>
#include <string_view>

namespace tandem::bench {

class RestLine {
  public:
    RestLine(int port, std::string key);
    ~RestLine();
    RestLine(const RestLine&) = delete;
    RestLine& operator=(const RestLine&) = delete;

    // The body of the answer, which must be a success.
    std::string get(const std::string& path);
    // POST /api/v1/batch; `identity` is its idempotency key.
    void post_batch(std::string_view body, const std::string& identity);

  private:
    std::string exchange(std::string_view request);

    int fd_ = -1;
    std::string key_;
    std::string in_{};
};

}  // namespace tandem::bench

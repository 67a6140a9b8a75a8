// SPDX-License-Identifier: Apache-2.0
// StreamState: the bounded buffer between the writers of a streamed response and its connection.
// Inside net/http only. Thread rule: the StreamSink face from any thread, the rest on the worker's
// thread. Callbacks are called without the lock held, each at most once.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "net/http/server.h"

namespace tandem::http {

class Connection;
class Worker;

class StreamState final : public StreamSink {
  public:
    StreamState(std::weak_ptr<Connection> connection, std::shared_ptr<Worker> worker,
                std::size_t bound)
        : connection_(std::move(connection)), worker_(std::move(worker)), bound_(bound) {}

    bool write(std::string_view text) override;
    std::size_t room() const override;
    void close() override;
    void on_closed(std::move_only_function<void()> callback) override;
    void on_drained(std::move_only_function<void()> callback) override;

    struct Taken {
        std::string text;
        bool last = false;  // nothing comes after it
    };
    Taken take();  // what is buffered; counts against the bound until sent()
    void sent();
    void end();  // no more can be sent, for whichever reason

  private:
    void schedule();  // requires: mutex_ held
    std::weak_ptr<Connection> connection_;
    std::shared_ptr<Worker> worker_;
    std::size_t bound_;
    mutable std::mutex mutex_;
    std::string pending_;
    std::size_t in_flight_ = 0;
    bool scheduled_ = false;
    bool closing_ = false;
    bool dropped_ = false;  // has a hole; must not end as if it were whole
    bool ended_ = false;
    std::move_only_function<void()> closed_;
    std::move_only_function<void()> drained_;
};

}  // namespace tandem::http

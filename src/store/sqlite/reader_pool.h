// SPDX-License-Identifier: Apache-2.0
// ReaderPool: a few read-only connections that any thread may borrow. A Snapshot is one borrowed connection in
// one read transaction behind the gate; it must be short (20 ms): read in slices. Errors: unavailable when
// none comes free in time. Damage that a reader meets is remembered for the writer, which then ends the store.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/sqlite/read_gate.h"

namespace tandem::store::sqlite {

class ReaderPool {
  public:
    class Snapshot {
      public:
        Snapshot(Snapshot&& other) noexcept
            : pool_(std::exchange(other.pool_, nullptr)), connection_(other.connection_), began_(other.began_) {}
        Snapshot& operator=(Snapshot&&) = delete;
        ~Snapshot();
        Connection& connection() { return *connection_; }
        // The slice has lasted long enough: end it and take another.
        bool is_over() const;

      private:
        friend class ReaderPool;
        Snapshot(ReaderPool& pool, Connection& connection);
        ReaderPool* pool_;
        Connection* connection_;
        std::chrono::steady_clock::time_point began_;
    };

    static Result<std::unique_ptr<ReaderPool>> open(const std::string& path, std::size_t count);
    Result<Snapshot> begin();
    const std::string& path() const { return path_; }
    void release_memory();  // of the connections that nobody reads with now
    ReadGate& gate() { return gate_; }
    bool is_damaged() const { return damaged_.load(std::memory_order_relaxed); }

  private:
    Result<Connection*> borrow();
    void give_back(Connection& connection);

    std::string path_{};
    ReadGate gate_{};
    std::mutex mutex_{};
    std::condition_variable returned_{};
    std::vector<std::unique_ptr<Connection>> all_{};
    std::vector<Connection*> free_{};
    std::atomic<bool> damaged_ = false;
};

}  // namespace tandem::store::sqlite

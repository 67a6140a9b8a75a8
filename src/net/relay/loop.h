// SPDX-License-Identifier: Apache-2.0
// Loop: one thread, one epoll set, one timer wheel. Everything of the relay lives in exactly one loop and is
// touched by its thread only; other threads talk to it by post() and stop().
//
// Descriptors are registered once, edge-triggered for both directions, and never modified: a watcher keeps in
// mind whether it may read or write until the system says "would block". That saves the epoll_ctl calls that
// a level-triggered proxy makes with every pause.
// Watchers end by bury(): they are destroyed after the events of the current round, so that no event of the
// round can meet a dead object. Posted work is bounded by what its senders have in flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.h"
#include "net/relay/socket.h"
#include "net/relay/timer_wheel.h"

namespace tandem::relay {

inline constexpr std::uint32_t event_in = 0x001;         // EPOLLIN
inline constexpr std::uint32_t event_out = 0x004;        // EPOLLOUT
inline constexpr std::uint32_t event_error = 0x008;      // EPOLLERR
inline constexpr std::uint32_t event_hangup = 0x010;     // EPOLLHUP
inline constexpr std::uint32_t event_peer_done = 0x2000; // EPOLLRDHUP

class Watcher {
  public:
    virtual ~Watcher() = default;
    virtual void on_events(std::uint32_t events) = 0;
    // Called at the end of the round in which flush_later() was called.
    virtual void on_flush() {}
};

class Loop {
  public:
    static Result<std::unique_ptr<Loop>> make();
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    void run();   // on the loop's own thread, until stop()
    void stop();  // any thread
    void post(std::move_only_function<void()> work);  // any thread

    // Loop thread only from here on.
    Status watch(const Fd& fd, Watcher& watcher);
    Status watch_accept(const Fd& fd, Watcher& watcher);  // level-triggered, readable only
    // Events again in the next round, for a watcher that stopped reading to let others have a turn.
    void again(Watcher& watcher, std::uint32_t events);
    void flush_later(Watcher& watcher) { to_flush_.push_back(&watcher); }
    // Takes a closed watcher out of all lists and destroys it after this round.
    void bury(std::unique_ptr<Watcher> watcher);

    TimerWheel& timers() { return timers_; }
    std::int64_t now_ms() const { return now_us_ / 1000; }  // of this round, monotonic
    std::int64_t now_us() const { return now_us_; }
    // One read buffer shared by all connections: what a read leaves unparsed must be copied away.
    std::span<char> scratch() { return scratch_; }

  private:
    Loop(Fd epoll, Fd wake);
    void run_posted();
    void dispatch(Watcher& watcher, std::uint32_t events);
    void flush();

    Fd epoll_;
    Fd wake_;
    std::int64_t now_us_;
    TimerWheel timers_;
    std::vector<char> scratch_;
    std::vector<Watcher*> to_flush_;
    std::vector<std::pair<Watcher*, std::uint32_t>> again_;
    std::vector<std::unique_ptr<Watcher>> buried_;
    std::mutex mutex_;
    std::vector<std::move_only_function<void()>> posted_;  // under mutex_
    std::atomic<bool> stopping_{false};
};

}  // namespace tandem::relay

// SPDX-License-Identifier: Apache-2.0
// TimerWheel: deadlines in O(1). 1,024 slots of 8 ms; a deadline further away than one turn (8.2 s) stays in its
// slot for further turns. A timer never fires early and at most one slot late.
// Pushing a deadline further out only writes a number (the common case: idle timeouts of live streams); the
// entry moves when its old slot comes by.
// Times are int64 ms of one monotonic clock. Thread rule: one owner. A Timer unlinks itself when destroyed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

namespace tandem::relay {

class TimerWheel;

class Timer {
  public:
    Timer() = default;
    explicit Timer(std::function<void()> action) : action_(std::move(action)) {}
    ~Timer() { unlink(); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    bool armed() const { return next_ != nullptr && deadline_ != never; }
    std::int64_t deadline() const { return deadline_; }
    void cancel() { deadline_ = never; }

  private:
    friend class TimerWheel;
    static constexpr std::int64_t never = INT64_MAX;
    void unlink();

    std::function<void()> action_;
    Timer* previous_ = nullptr;
    Timer* next_ = nullptr;
    std::int64_t deadline_ = never;
    std::int64_t linked_for_ = never;
};

class TimerWheel {
  public:
    explicit TimerWheel(std::int64_t now_ms);
    ~TimerWheel();
    TimerWheel(const TimerWheel&) = delete;
    TimerWheel& operator=(const TimerWheel&) = delete;

    void arm(Timer& timer, std::int64_t deadline_ms);
    // Fires everything due at `now_ms`. Actions may arm, cancel and destroy timers, their own too.
    void advance(std::int64_t now_ms);
    // How long a wait may last so that nothing fires more than one slot late; at most `at_most`.
    int wait_ms(std::int64_t now_ms, int at_most) const;

  private:
    static constexpr std::int64_t slot_ms = 8;
    static constexpr std::size_t slot_count = 1024;
    void link(Timer& timer, std::int64_t deadline_ms);
    void visit(std::size_t slot, std::int64_t now_ms);

    std::array<Timer, slot_count> slots_;  // ring heads
    std::int64_t turned_to_;               // every slot before this tick was visited
};

}  // namespace tandem::relay

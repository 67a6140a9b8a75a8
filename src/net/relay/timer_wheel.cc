// SPDX-License-Identifier: Apache-2.0
#include "net/relay/timer_wheel.h"

#include <algorithm>

namespace tandem::relay {

void Timer::unlink() {
    if (!next_) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
}

TimerWheel::TimerWheel(std::int64_t now_ms) : turned_to_(now_ms / slot_ms) {
    for (Timer& head : slots_) head.next_ = head.previous_ = &head;
}

TimerWheel::~TimerWheel() {
    for (Timer& head : slots_) {
        while (head.next_ != &head) head.next_->unlink();
        head.next_ = head.previous_ = nullptr;
    }
}

void TimerWheel::arm(Timer& timer, std::int64_t deadline_ms) {
    timer.deadline_ = deadline_ms;
    if (timer.next_ && deadline_ms >= timer.linked_for_) return;
    timer.unlink();
    link(timer, deadline_ms);
}

void TimerWheel::link(Timer& timer, std::int64_t deadline_ms) {
    const auto tick = std::max(deadline_ms / slot_ms + 1, turned_to_);
    Timer& head = slots_[static_cast<std::size_t>(tick) % slot_count];
    timer.linked_for_ = deadline_ms;
    timer.previous_ = head.previous_;
    timer.next_ = &head;
    head.previous_->next_ = &timer;
    head.previous_ = &timer;
}

void TimerWheel::visit(std::size_t slot, std::int64_t now_ms) {
    // The slot's entries move to a list of their own first, so that actions may arm into this slot.
    Timer due;
    Timer& head = slots_[slot];
    if (head.next_ == &head) return;
    due.next_ = head.next_;
    due.previous_ = head.previous_;
    due.next_->previous_ = due.previous_->next_ = &due;
    head.next_ = head.previous_ = &head;
    while (due.next_ != &due) {
        Timer& timer = *due.next_;
        timer.unlink();
        if (timer.deadline_ == Timer::never) continue;
        if (timer.deadline_ > now_ms) {
            link(timer, timer.deadline_);
            continue;
        }
        timer.deadline_ = Timer::never;
        const auto action = timer.action_;  // the action may destroy its timer
        action();
    }
    due.next_ = due.previous_ = nullptr;
}

void TimerWheel::advance(std::int64_t now_ms) {
    const auto target = now_ms / slot_ms;
    if (target - turned_to_ > static_cast<std::int64_t>(slot_count))
        turned_to_ = target - static_cast<std::int64_t>(slot_count);
    while (turned_to_ <= target) {
        const auto slot = static_cast<std::size_t>(turned_to_) % slot_count;
        ++turned_to_;  // what is armed from here on lands in a later visit
        visit(slot, now_ms);
    }
}

int TimerWheel::wait_ms(std::int64_t now_ms, int at_most) const {
    // Looking at 64 slots (half a second) is enough: a longer wait only costs an empty wake-up.
    const auto horizon = std::min<std::int64_t>(64, at_most / slot_ms + 1);
    for (std::int64_t i = 0; i < horizon; ++i) {
        const Timer& head = slots_[static_cast<std::size_t>(turned_to_ + i) % slot_count];
        if (head.next_ != &head)
            return static_cast<int>(
                std::clamp<std::int64_t>((turned_to_ + i) * slot_ms - now_ms, 0, at_most));
    }
    return static_cast<int>(std::min<std::int64_t>(horizon * slot_ms, at_most));
}

}  // namespace tandem::relay

// SPDX-License-Identifier: Apache-2.0
#include "api/ticker.h"

#include <chrono>

namespace tandem::api {
namespace {

constexpr std::chrono::milliseconds idle_wait{1000};
constexpr std::chrono::milliseconds resolution{50};

std::int64_t monotonic_ms() {
    using namespace std::chrono;
    return duration_cast<std::chrono::milliseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Ticker::Ticker() : thread_([this] { run(); }) {}

Ticker::~Ticker() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

void Ticker::add(Duration period, Tick tick) {
    {
        const std::lock_guard lock(mutex_);
        fresh_.push_back(
            {.due_ms = monotonic_ms() + period.ms, .period = period, .tick = std::move(tick)});
    }
    wake_.notify_all();
}

void Ticker::run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        wake_.wait_for(lock, entries_.empty() && fresh_.empty() ? idle_wait : resolution);
        if (stopping_) break;
        entries_.splice(entries_.end(), fresh_);
        lock.unlock();
        // Only this thread touches entries_; ticks may add fresh ones.
        const std::int64_t now = monotonic_ms();
        for (auto it = entries_.begin(); it != entries_.end();) {
            if (it->due_ms > now) {
                ++it;
                continue;
            }
            it->due_ms = now + it->period.ms;
            it = it->tick() ? std::next(it) : entries_.erase(it);
        }
        lock.lock();
    }
}

}  // namespace tandem::api

// SPDX-License-Identifier: Apache-2.0
#include "net/relay/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/assert.h"

namespace tandem::relay {
namespace {

static_assert(event_in == EPOLLIN && event_out == EPOLLOUT && event_error == EPOLLERR &&
              event_hangup == EPOLLHUP && event_peer_done == EPOLLRDHUP);

constexpr std::size_t scratch_bytes = 64 * 1024;
constexpr int wait_max_ms = 500;

std::int64_t monotonic_us() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
}

Status add(const Fd& epoll, const Fd& fd, std::uint32_t events, Watcher* watcher) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = watcher;
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0)
        return fail(ErrorCode::unavailable,
                    std::string("watching a socket: ") + std::strerror(errno));
    return {};
}

}  // namespace

Result<std::unique_ptr<Loop>> Loop::make() {
    Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
    Fd wake(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!epoll || !wake)
        return fail(ErrorCode::unavailable,
                    std::string("opening an event loop: ") + std::strerror(errno));
    TANDEM_TRY(add(epoll, wake, EPOLLIN, nullptr));
    return std::unique_ptr<Loop>(new Loop(std::move(epoll), std::move(wake)));
}

Loop::Loop(Fd epoll, Fd wake)
    : epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      now_us_(monotonic_us()),
      timers_(now_us_ / 1000),
      scratch_(scratch_bytes) {}

Loop::~Loop() = default;

void Loop::run() {
    std::array<epoll_event, 256> events;
    while (!stopping_.load(std::memory_order_acquire)) {
        const int wait = again_.empty() ? timers_.wait_ms(now_ms(), wait_max_ms) : 0;
        const int count =
            ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait);
        TANDEM_ASSERT(count >= 0 || errno == EINTR, "epoll_wait failed");
        now_us_ = monotonic_us();
        for (int i = 0; i < count; ++i) {
            const auto& event = events[static_cast<std::size_t>(i)];
            if (event.data.ptr)
                dispatch(*static_cast<Watcher*>(event.data.ptr), event.events);
            else
                run_posted();
        }
        const auto repeated = std::exchange(again_, {});
        for (const auto& [watcher, flags] : repeated)
            if (watcher) dispatch(*watcher, flags);
        timers_.advance(now_ms());
        flush();
        buried_.clear();
    }
    run_posted();
    flush();
    buried_.clear();
}

void Loop::stop() {
    stopping_.store(true, std::memory_order_release);
    post([] {});
}

void Loop::post(std::move_only_function<void()> work) {
    {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(work));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void Loop::run_posted() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
    std::vector<std::move_only_function<void()>> work;
    {
        const std::lock_guard lock(mutex_);
        work.swap(posted_);
    }
    for (auto& item : work) item();
    flush();
}

Status Loop::watch(const Fd& fd, Watcher& watcher) {
    return add(epoll_, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, &watcher);
}

Status Loop::watch_accept(const Fd& fd, Watcher& watcher) {
    return add(epoll_, fd, EPOLLIN, &watcher);
}

void Loop::again(Watcher& watcher, std::uint32_t events) {
    again_.emplace_back(&watcher, events);
}

void Loop::bury(std::unique_ptr<Watcher> watcher) {
    std::erase(to_flush_, watcher.get());
    std::erase_if(again_, [&](const auto& entry) { return entry.first == watcher.get(); });
    buried_.push_back(std::move(watcher));
}

void Loop::dispatch(Watcher& watcher, std::uint32_t events) {
    watcher.on_events(events);
    flush();
}

void Loop::flush() {
    // A flush may queue further flushes (a drained client resumes its upstream): until none is
    // left.
    while (!to_flush_.empty()) {
        Watcher* watcher = to_flush_.back();
        to_flush_.pop_back();
        watcher->on_flush();
    }
}

}  // namespace tandem::relay

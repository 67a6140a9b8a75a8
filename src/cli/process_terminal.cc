// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <thread>

#include "cli/cli.h"

namespace tandem::cli {
namespace {

// A closed pipe ends the program as it would end any other filter.
void write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

// A terminal gives whole lines, so that no read waits once there is something.
std::optional<std::string> read_wanted_line(const std::function<bool()>& wanted) {
    constexpr int look_every_ms = 200;
    std::string line;
    while (wanted()) {
        pollfd input{STDIN_FILENO, POLLIN, 0};
        if (::poll(&input, 1, look_every_ms) <= 0) continue;
        char c = 0;
        if (::read(STDIN_FILENO, &c, 1) != 1) return std::nullopt;
        if (c == '\n') return line;
        line += c;
    }
    return std::nullopt;
}

// SIGINT is blocked while it lives and read by a thread, so that the callback may do anything.
class InterruptWatch {
  public:
    explicit InterruptWatch(std::function<void()> on_interrupt)
        : on_interrupt_(std::move(on_interrupt)) {
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGINT);
        pthread_sigmask(SIG_BLOCK, &signals, &before_);
        signal_descriptor_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
        stop_descriptor_ = ::eventfd(0, EFD_CLOEXEC);
        thread_ = std::thread([this] { watch(); });
    }
    ~InterruptWatch() {
        const std::uint64_t one = 1;
        (void)!::write(stop_descriptor_, &one, sizeof one);
        thread_.join();
        ::close(signal_descriptor_);
        ::close(stop_descriptor_);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;

  private:
    void watch() {
        pollfd waits[2] = {{signal_descriptor_, POLLIN, 0}, {stop_descriptor_, POLLIN, 0}};
        while (true) {
            if (::poll(waits, 2, -1) < 0 && errno == EINTR) continue;
            if (waits[1].revents != 0) return;
            signalfd_siginfo info{};
            if (::read(signal_descriptor_, &info, sizeof info) == sizeof info) on_interrupt_();
        }
    }
    std::function<void()> on_interrupt_;
    sigset_t before_{};
    int signal_descriptor_ = -1;
    int stop_descriptor_ = -1;
    std::thread thread_;
};

}  // namespace

Terminal make_process_terminal() {
    Terminal terminal;
    terminal.out = [](std::string_view text) { write_all(STDOUT_FILENO, text); };
    terminal.err = [](std::string_view text) { write_all(STDERR_FILENO, text); };
    terminal.read_input = [] { return std::string(std::istreambuf_iterator<char>(std::cin), {}); };
    terminal.read_line = read_wanted_line;
    terminal.environment = [](const char* name) -> std::optional<std::string> {
        const char* value = std::getenv(name);
        return value ? std::optional<std::string>(value) : std::nullopt;
    };
    terminal.now = [] {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        return Instant{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
    };
    terminal.watch_interrupts = [](std::function<void()> on_interrupt) -> std::shared_ptr<void> {
        return std::make_shared<InterruptWatch>(std::move(on_interrupt));
    };
    terminal.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
    terminal.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
    terminal.in_is_terminal = ::isatty(STDIN_FILENO) == 1;
    return terminal;
}

}  // namespace tandem::cli

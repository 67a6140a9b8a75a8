// SPDX-License-Identifier: Apache-2.0
#include "net/http/worker.h"

#include <pthread.h>

#include <csignal>

#include <boost/asio/post.hpp>

#include "net/http/connection.h"

namespace tandem::http {

void Worker::start() {
    keep_running_.emplace(loop.get_executor());
    thread_ = std::thread([self = shared_from_this()] {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the program's main thread
        pthread_setname_np(pthread_self(), "http");
        self->thread_id_.store(std::this_thread::get_id());
        self->loop.run();
    });
}

bool Worker::post(std::move_only_function<void()> task) {
    {
        std::scoped_lock lock(mutex_);
        if (inbox_closed_) return false;
        inbox_.push_back(std::move(task));
        if (inbox_.size() > 1) return true;
    }
    boost::asio::post(loop, [this] { run_inbox(); });
    return true;
}

void Worker::run_inbox() {
    std::vector<std::move_only_function<void()>> tasks;
    {
        std::scoped_lock lock(mutex_);
        tasks.swap(inbox_);
    }
    for (auto& task : tasks) task();
}

void Worker::adopt(NewSocket accepted) {
    auto connection = std::make_shared<Connection>(shared_from_this(), std::move(accepted));
    connections_.insert(connection);
    connection->start();
    if (stopping_) connection->begin_stop();
}

void Worker::remove(const std::shared_ptr<Connection>& connection) {
    if (connections_.erase(connection) == 0) return;
    std::scoped_lock lock(core->mutex);
    core->connections.fetch_sub(1);
    core->connection_gone.notify_all();
}

void Worker::stop_connections() {
    stopping_ = true;
    auto all = connections_;  // each may remove itself
    for (const auto& connection : all) connection->begin_stop();
}

void Worker::abort_connections() {
    auto all = connections_;
    for (const auto& connection : all) connection->abort();
}

void Worker::close_inbox() {
    {
        std::scoped_lock lock(mutex_);
        inbox_closed_ = true;
    }
    run_inbox();
    abort_connections();
}

void Worker::join() {
    keep_running_.reset();
    if (thread_.joinable()) thread_.join();
}

std::string_view Worker::date_line() {
    std::time_t now = std::time(nullptr);
    if (now != date_second_) {
        date_second_ = now;
        std::tm parts{};
        gmtime_r(&now, &parts);
        char text[64];
        std::size_t length =
            std::strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts);
        date_.assign(text, length);
    }
    return date_;
}

}  // namespace tandem::http

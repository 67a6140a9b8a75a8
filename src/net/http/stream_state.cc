// SPDX-License-Identifier: Apache-2.0
#include "net/http/stream_state.h"

#include "net/http/connection.h"
#include "net/http/worker.h"

namespace tandem::http {

bool StreamState::write(std::string_view text) {
    std::scoped_lock lock(mutex_);
    if (closing_ || dropped_ || ended_) return false;
    if (text.size() > bound_ - std::min(bound_, pending_.size() + in_flight_)) {
        dropped_ = true;
        worker_->core->streams_dropped.fetch_add(1);
        worker_->post([connection = connection_] {
            if (auto alive = connection.lock()) alive->abort();
        });
        return false;
    }
    pending_ += text;
    schedule();
    return true;
}

std::size_t StreamState::room() const {
    std::scoped_lock lock(mutex_);
    if (closing_ || dropped_ || ended_) return 0;
    return bound_ - std::min(bound_, pending_.size() + in_flight_);
}

void StreamState::close() {
    std::scoped_lock lock(mutex_);
    if (closing_ || dropped_ || ended_) return;
    closing_ = true;
    schedule();
}

void StreamState::on_closed(std::move_only_function<void()> callback) {
    {
        std::scoped_lock lock(mutex_);
        if (!ended_) {
            closed_ = std::move(callback);
            return;
        }
    }
    callback();
}

void StreamState::on_drained(std::move_only_function<void()> callback) {
    {
        std::scoped_lock lock(mutex_);
        if (!ended_ && pending_.size() + in_flight_ > bound_ / 2) {
            drained_ = std::move(callback);
            return;
        }
    }
    callback();
}

void StreamState::schedule() {
    if (scheduled_) return;
    scheduled_ = true;
    worker_->post([connection = connection_] {
        if (auto alive = connection.lock()) alive->flush_stream();
    });
}

StreamState::Taken StreamState::take() {
    std::scoped_lock lock(mutex_);
    scheduled_ = false;
    if (dropped_) return {};
    Taken taken{.text = std::move(pending_), .last = closing_};
    pending_.clear();
    in_flight_ += taken.text.size();
    return taken;
}

void StreamState::sent() {
    std::move_only_function<void()> drained;
    {
        std::scoped_lock lock(mutex_);
        in_flight_ = 0;
        if (pending_.size() <= bound_ / 2) drained.swap(drained_);
    }
    if (drained) drained();
}

void StreamState::end() {
    std::move_only_function<void()> closed;
    std::move_only_function<void()> drained;
    {
        std::scoped_lock lock(mutex_);
        if (ended_) return;
        ended_ = true;
        pending_.clear();
        closed.swap(closed_);
        drained.swap(drained_);
    }
    if (drained) drained();
    if (closed) closed();
}

}  // namespace tandem::http

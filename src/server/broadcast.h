// SPDX-License-Identifier: Apache-2.0
// Broadcast<T>: published values for many listeners, each with a bounded queue. A listener that falls behind by more
// than its queue is dropped (`lost` is set) and has to begin again from rows. Values are shared, never copied.
// Thread rule: publish from one thread; listen and take from any.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace tandem::server {

template <class T>
class Broadcast {
  public:
    class Listener {
      public:
        // All that waits now, in order; `lost` when something was dropped before.
        std::vector<std::shared_ptr<const T>> take(bool& lost) {
            const std::lock_guard lock(mutex_);
            lost = lost_;
            std::vector<std::shared_ptr<const T>> values(queue_.begin(), queue_.end());
            queue_.clear();
            return values;
        }

      private:
        friend class Broadcast;
        std::mutex mutex_;
        std::deque<std::shared_ptr<const T>> queue_;
        bool lost_ = false;
        std::function<void()> notify_;
    };

    // `notify` is called from the publishing thread after something was queued; it must not block. The
    // listener ends when its last handle goes.
    std::shared_ptr<Listener> listen(std::function<void()> notify) {
        auto listener = std::make_shared<Listener>();
        listener->notify_ = std::move(notify);
        const std::lock_guard lock(mutex_);
        listeners_.push_back(listener);
        return listener;
    }

    bool has_listeners() {
        const std::lock_guard lock(mutex_);
        std::erase_if(listeners_, [](const auto& weak) { return weak.expired(); });
        return !listeners_.empty();
    }

    void publish(std::shared_ptr<const T> value) {
        std::vector<std::shared_ptr<Listener>> alive;
        {
            const std::lock_guard lock(mutex_);
            for (const auto& weak : listeners_)
                if (auto listener = weak.lock()) alive.push_back(std::move(listener));
        }
        for (const auto& listener : alive) {
            {
                const std::lock_guard lock(listener->mutex_);
                if (listener->queue_.size() >= queue_max)
                    listener->lost_ = true;
                else
                    listener->queue_.push_back(value);
            }
            listener->notify_();
        }
    }

    static constexpr std::size_t queue_max = 4096;

  private:
    std::mutex mutex_;
    std::vector<std::weak_ptr<Listener>> listeners_;
};

}  // namespace tandem::server

// SPDX-License-Identifier: Apache-2.0
// RouteTable: an immutable picture of keys, services and ready replicas, made from feed updates;
// each request looks at exactly one. RouteBoard holds the current one and when the server was last
// heard. What a key may not call is not there for it. Of several services of one public name that a
// key may call, the oldest is meant (ties: smaller uid). Thread rule: tables are read by any
// thread; the board is any thread's.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "model/feed.h"
#include "net/relay/socket.h"

namespace tandem::gateway {

struct ReplicaRoute {
    model::FeedReplica facts{};
    relay::Endpoint endpoint{};
    std::string fixed_headers{};  // Host, Authorization and Content-Type lines of a call
};

struct ServiceRoute {
    model::FeedService facts{};
    std::vector<std::shared_ptr<const ReplicaRoute>> replicas{};
};

class RouteTable {
  public:
    // `base` may be null for a full update. A replica whose endpoint can't be parsed is left out.
    static std::shared_ptr<const RouteTable> apply(const RouteTable* base,
                                                   const model::FeedUpdate& update);

    const model::FeedKey* find_key(std::string_view key_id) const;
    // Null: not there, or not for this key.
    std::shared_ptr<const ServiceRoute> find_service(const model::FeedKey& key,
                                                     std::string_view public_name) const;
    std::vector<std::shared_ptr<const ServiceRoute>> services_for(const model::FeedKey& key) const;
    const std::map<Uid, std::shared_ptr<const ServiceRoute>>& services() const { return services_; }
    std::int64_t generation() const { return generation_; }
    std::int64_t version() const { return version_; }
    model::FeedUpdate snapshot() const;  // as one full update

  private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    void index();

    std::unordered_map<std::string, std::shared_ptr<const model::FeedKey>, Hash, std::equal_to<>>
        keys_;
    std::map<Uid, std::shared_ptr<const ServiceRoute>> services_;
    std::unordered_map<std::string, std::vector<std::shared_ptr<const ServiceRoute>>, Hash,
                       std::equal_to<>>
        names_;
    std::int64_t generation_ = 0;
    std::int64_t version_ = 0;
    Instant at_{};
};

class RouteBoard {
  public:
    std::shared_ptr<const RouteTable> get() const {
        const std::lock_guard lock(mutex_);
        return table_;
    }
    void set(std::shared_ptr<const RouteTable> table) {
        const std::lock_guard lock(mutex_);
        table_ = std::move(table);
        revision_.fetch_add(1, std::memory_order_release);
    }
    // Changes with every set(): a loop keeps its copy until then.
    std::uint64_t revision() const { return revision_.load(std::memory_order_acquire); }

    void heard(Instant at) { heard_ms_.store(at.ms, std::memory_order_relaxed); }
    Instant last_heard() const { return {heard_ms_.load(std::memory_order_relaxed)}; }

  private:
    mutable std::mutex mutex_;
    std::shared_ptr<const RouteTable> table_;
    std::atomic<std::uint64_t> revision_{0};
    std::atomic<std::int64_t> heard_ms_{0};
};

}  // namespace tandem::gateway

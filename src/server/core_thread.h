// SPDX-License-Identifier: Apache-2.0
// CoreThread: the one thread that runs core's driver. Everybody else posts inputs into its bounded mailbox and is
// called back; nobody else touches State.
//
//   post/submit --> mailbox --drain (bounded)--> Driver::run --> commit --> publish, answer, execute
//
// While a batch commits the next one collects: under load one fsync carries many requests.
// Overflow: a full mailbox refuses with `unavailable` (callers) or makes the poster wait (executor reports, which
// must not be lost).
// Callbacks run on the core thread and must not block.
// Thread rule: every function from any thread, start and stop from one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/driver.h"
#include "server/access_view.h"
#include "server/audit_chain.h"
#include "server/broadcast.h"
#include "server/core_clock.h"
#include "server/core_meters.h"
#include "server/feed_builder.h"
#include "server/work_view.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace tandem::server {

struct PublishedBatch {
    std::int64_t version = 0;
    std::vector<core::ChangeText> changes{};
};

// The objects that a batch changed, as the API shows them. Valid during the callback that it is given to.
class BatchTexts {
  public:
    BatchTexts() = default;
    explicit BatchTexts(const model::BatchRecord& record) : record_(&record) {}
    // Null when the batch did not change the object: it was as it is before, or is gone.
    const std::string* find(const model::Outcome& outcome) const;

  private:
    const model::BatchRecord* record_ = nullptr;
};

using AnswerCallback = std::move_only_function<void(const model::Answer&, const BatchTexts&)>;
using GrantCallback = std::move_only_function<void(const std::vector<model::LeaseGrant>&)>;
using SequenceCallback = std::move_only_function<void(std::int64_t sequence)>;
using StateQuery = std::move_only_function<void(const core::State&)>;

class CoreThread {
  public:
    struct Parts {
        core::Store& store;
        core::Executor& executor;
        Secret installation_secret;
        telemetry::Log log;
        telemetry::Metrics& metrics;
        // Called once when the store said `fatal`; the process must end.
        std::function<void()> on_fatal;
        // Called on the core thread between two batches when work has calmed down: memory that only work needs can
        // go. At most every few seconds, and some milliseconds long.
        std::function<void()> on_quiet = [] {};
    };
    explicit CoreThread(Parts parts);
    ~CoreThread();

    // Recovers and starts the thread. After it returns, reads work; admission begins when tasks were listed.
    Status start(std::string_view core_version);
    void stop();  // after the batch in flight; queued commands are answered `unavailable`

    Status submit(model::Command command, AnswerCallback done);
    Status ask_leases(model::LeaseRequested request, GrantCallback done);
    Status ship_usage(model::UsageShipped usage, SequenceCallback done);
    void post(model::Input input);  // waits while the mailbox is full
    // Runs between two batches; must be short.
    Status query(StateQuery query);

    std::shared_ptr<const AccessView> access() const;
    // Never older than the commit that answered the caller.
    std::shared_ptr<const WorkView> work() const;
    Broadcast<PublishedBatch>& changes() { return changes_; }
    Broadcast<model::FeedUpdate>& feed() { return feed_; }
    const FeedBuilder& feed_builder() const { return feed_builder_; }
    std::size_t mailbox_depth() const;
    Instant now() const { return Instant{now_ms_.load(std::memory_order_relaxed)}; }
    std::int64_t generation() const { return generation_.load(std::memory_order_relaxed); }

    static constexpr std::size_t mailbox_max = 16'384;
    static constexpr std::size_t batch_max = 1024;

  private:
    class Outlet;  // core::Publisher
    void run();
    bool run_batch(std::vector<model::Input> inputs);
    void rest_when_quiet(std::size_t inputs);
    std::vector<model::Input> drain(std::vector<StateQuery>& queries);
    Status enqueue(model::Input input);
    // Its callback waits under the ticket; a request that is not taken leaves none behind.
    template <class Request>
    Status enqueue_expecting(Request request, std::int64_t ticket);

    Parts parts_;
    CoreMeters meters_;
    MeteredStore store_;
    AuditChain audit_;
    FeedBuilder feed_builder_;
    std::unique_ptr<Outlet> outlet_;
    std::unique_ptr<core::Driver> driver_;
    std::unique_ptr<CoreClock> clock_;
    std::size_t worked_ = 0;  // inputs since memory was given back; core thread only
    std::size_t lately_ = 0;  // and of them, since `looked_`
    Instant looked_{};
    std::atomic<std::int64_t> now_ms_{0};
    std::atomic<std::int64_t> generation_{0};

    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable room_;
    std::vector<model::Input> mailbox_;
    std::vector<StateQuery> queries_;
    bool stopping_ = false;

    mutable std::mutex access_mutex_;
    std::shared_ptr<const AccessView> access_;
    mutable std::mutex work_mutex_;
    std::shared_ptr<const WorkView> work_;
    Broadcast<PublishedBatch> changes_;
    Broadcast<model::FeedUpdate> feed_;
    std::thread thread_;
};

}  // namespace tandem::server

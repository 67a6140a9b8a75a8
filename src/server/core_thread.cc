// SPDX-License-Identifier: Apache-2.0
#include "server/core_thread.h"

#include <algorithm>
#include <chrono>

#include "codec/manifest.h"
#include "server/outlet.h"

namespace tandem::server {
namespace {

// A core that has nothing to do still looks up this often, so that its time in rows stays near the clock.
constexpr Duration idle_look = seconds(30);
// After a full or held store: how long until inputs without a caller are tried again.
constexpr Duration full_backoff = milliseconds(500);
// Quiet: so few inputs in such a time; some hundred tasks that report progress are quiet too.
constexpr Duration quiet_period = seconds(3);
constexpr std::size_t quiet_inputs_max = 300;
constexpr std::size_t work_worth_a_rest = 64;

}  // namespace

CoreThread::CoreThread(Parts parts)
    : parts_(std::move(parts)), meters_(parts_.metrics), store_(parts_.store, meters_), feed_builder_(parts_.installation_secret), outlet_(std::make_unique<Outlet>(*this)) {}

CoreThread::~CoreThread() { stop(); }

Status CoreThread::start(std::string_view core_version) {
    driver_ = std::make_unique<core::Driver>(
        core::Driver::Ports{store_, parts_.executor, *outlet_, audit_});
    TANDEM_TRY(driver_->start(core_version));
    clock_ = std::make_unique<CoreClock>(driver_->state().meta.time);
    now_ms_ = clock_->now().ms;
    generation_ = driver_->state().meta.generation;
    outlet_->refresh_access(driver_->state());
    outlet_->begin_work(driver_->state());
    worked_ = work_worth_a_rest;  // reading the rows has left its traces
    thread_ = std::thread([this] { run(); });
    return {};
}

void CoreThread::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    room_.notify_all();
    if (thread_.joinable()) thread_.join();
}

Status CoreThread::enqueue(model::Input input) {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_) return fail(ErrorCode::unavailable, "the server is stopping");
        if (mailbox_.size() >= mailbox_max) return fail(ErrorCode::unavailable, "too many requests are waiting; try again");
        mailbox_.push_back(std::move(input));
    }
    wake_.notify_one();
    return {};
}

template <class Request>
Status CoreThread::enqueue_expecting(Request request, std::int64_t ticket) {
    request.ticket = ticket;
    Status queued = enqueue(std::move(request));
    if (!queued) outlet_->drop(ticket);
    return queued;
}

Status CoreThread::submit(model::Command command, AnswerCallback done) {
    return enqueue_expecting(std::move(command), outlet_->expect_answer(std::move(done)));
}

Status CoreThread::ask_leases(model::LeaseRequested request, GrantCallback done) {
    return enqueue_expecting(std::move(request), outlet_->expect_grant(std::move(done)));
}

Status CoreThread::ship_usage(model::UsageShipped usage, SequenceCallback done) {
    return enqueue_expecting(std::move(usage), outlet_->expect_sequence(std::move(done)));
}

void CoreThread::post(model::Input input) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return stopping_ || mailbox_.size() < mailbox_max; });
    if (stopping_) return;
    mailbox_.push_back(std::move(input));
    lock.unlock();
    wake_.notify_one();
}

Status CoreThread::query(StateQuery query) {
    {
        const std::lock_guard lock(mutex_);
        if (stopping_) return fail(ErrorCode::unavailable, "the server is stopping");
        if (queries_.size() >= batch_max) return fail(ErrorCode::unavailable, "too many requests are waiting; try again");
        queries_.push_back(std::move(query));
    }
    wake_.notify_one();
    return {};
}

std::size_t CoreThread::mailbox_depth() const {
    const std::lock_guard lock(mutex_);
    return mailbox_.size();
}

std::shared_ptr<const AccessView> CoreThread::access() const {
    const std::lock_guard lock(access_mutex_);
    return access_;
}

std::shared_ptr<const WorkView> CoreThread::work() const {
    const std::lock_guard lock(work_mutex_);
    return work_;
}

std::vector<model::Input> CoreThread::drain(std::vector<StateQuery>& queries) {
    std::unique_lock lock(mutex_);
    const auto wake = driver_->next_wake();
    const Duration look = worked_ >= work_worth_a_rest ? quiet_period : idle_look;
    const Duration wait = std::min(look, wake ? clock_->until(*wake) : look);
    wake_.wait_for(lock, std::chrono::milliseconds(wait.ms),
                   [&] { return stopping_ || !mailbox_.empty() || !queries_.empty(); });
    queries = std::exchange(queries_, {});
    std::vector<model::Input> inputs;
    if (mailbox_.size() <= batch_max) {
        inputs = std::exchange(mailbox_, {});
    } else {
        const auto end = mailbox_.begin() + static_cast<std::ptrdiff_t>(batch_max);
        inputs.assign(std::make_move_iterator(mailbox_.begin()), std::make_move_iterator(end));
        mailbox_.erase(mailbox_.begin(), end);
    }
    lock.unlock();
    room_.notify_all();
    return inputs;
}

bool CoreThread::run_batch(std::vector<model::Input> inputs) {
    const model::Tick tick = clock_->tick();
    now_ms_ = tick.now.ms;
    meters_.began(inputs.size());
    const core::BatchResult result = driver_->run(std::move(inputs), tick);
    outlet_->batch_over();
    meters_.ended();
    if (result == core::BatchResult::fatal) {
        parts_.log.error("store failed; ending at once so that nothing unsure is answered");
        parts_.on_fatal();
        return false;
    }
    const bool full = result == core::BatchResult::full;
    if (full) parts_.log.error("store has no space left; changes are refused until there is some");
    if (full || result == core::BatchResult::busy) {
        std::this_thread::sleep_for(std::chrono::milliseconds(full_backoff.ms));
    }
    return true;
}

void CoreThread::rest_when_quiet(std::size_t inputs) {
    worked_ += inputs;
    lately_ += inputs;
    const Instant now{now_ms_.load(std::memory_order_relaxed)};
    if (now < looked_ + quiet_period) return;
    const bool quiet = lately_ <= quiet_inputs_max;
    looked_ = now;
    lately_ = 0;
    if (!quiet || worked_ < work_worth_a_rest) return;
    worked_ = 0;
    parts_.on_quiet();
}

void CoreThread::run() {
    std::vector<model::Input> retry;
    while (true) {
        std::vector<StateQuery> queries;
        std::vector<model::Input> inputs = drain(queries);
        {
            const std::lock_guard lock(mutex_);
            if (stopping_) break;
        }
        now_ms_ = clock_->now().ms;
        if (const auto jump = clock_->take_jump()) {
            parts_.log.warn("the wall clock jumped; core's time follows it slowly",
                            {{"by", jump->ms}});
            inputs.push_back(model::ClockJumped{.by = *jump});
        }
        for (StateQuery& query : queries) query(driver_->state());
        const auto wake = driver_->next_wake();
        const bool due = wake && clock_->until(*wake).ms == 0;
        if (inputs.empty() && retry.empty() && !due && !queries.empty()) continue;
        if (inputs.empty() && retry.empty()) inputs.push_back(model::TimerFired{});
        inputs.insert(inputs.begin(), std::make_move_iterator(retry.begin()), std::make_move_iterator(retry.end()));
        const std::size_t count = inputs.size();
        if (!run_batch(std::move(inputs))) return;
        rest_when_quiet(count);
        retry = driver_->take_retry();
    }
    outlet_->refuse_all();
}

}  // namespace tandem::server

// SPDX-License-Identifier: Apache-2.0
// Outlet: CoreThread's side that core publishes to: waiting callers by ticket, watchers, gateways, the access view.
#pragma once

#include <mutex>
#include <unordered_map>
#include <variant>

#include "server/core_thread.h"

namespace tandem::server {

class CoreThread::Outlet : public core::Publisher {
  public:
    explicit Outlet(CoreThread& owner);

    std::int64_t expect_answer(AnswerCallback done) { return expect(std::move(done)); }
    std::int64_t expect_grant(GrantCallback done) { return expect(std::move(done)); }
    std::int64_t expect_sequence(SequenceCallback done) { return expect(std::move(done)); }
    void drop(std::int64_t ticket);
    void refuse_all();
    void batch_over() { told_ = nullptr; }
    void refresh_access(const core::State& state);
    void begin_work(const core::State& state);

    void publish(const model::BatchRecord& record, const core::State& state) override;
    void answer(const model::Answer& answer) override;
    void grant(std::int64_t ticket, const std::vector<model::LeaseGrant>& grants) override;
    void acknowledge(std::int64_t ticket, std::int64_t sequence) override;

  private:
    using Waiting = std::variant<AnswerCallback, GrantCallback, SequenceCallback>;
    std::int64_t expect(Waiting done);
    template <class Callback>
    Callback take(std::int64_t ticket);
    void publish_changes(const model::BatchRecord& record);
    void publish_work(std::shared_ptr<const WorkView> view);

    CoreThread& owner_;
    WorkViewBuilder work_{};
    std::mutex mutex_;
    std::int64_t next_ticket_ = 1;
    std::unordered_map<std::int64_t, Waiting> waiting_;
    const model::BatchRecord* told_ = nullptr;  // the batch whose callers are being answered
};

}  // namespace tandem::server

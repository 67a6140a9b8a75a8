// SPDX-License-Identifier: Apache-2.0
// Clients: people and programs that submit, cancel, delete and call. They keep their own history, retry with the
// same idempotency key until they are answered, and judge what they were told: an acknowledged job is there, and
// one key makes one job.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/state.h"
#include "sim/agenda.h"
#include "sim/fault_plan.h"
#include "store/memory/memory_store.h"

namespace tandem::sim {

// Counted beside devices, and checked.
inline constexpr std::int64_t seats_there = 3;
inline constexpr std::int64_t queue_running_max = 3;  // of team-a and of team-b

class Clients {
  public:
    using Post = std::function<void(model::Input)>;
    Clients(Agenda& agenda, FaultPlan& faults, Random random, Post post)
        : agenda_(agenda), faults_(faults), random_(random), post_(std::move(post)) {}

    // Plans all they will do: base objects at once, work over the coming minutes.
    void plan();

    void on_answer(const model::Answer& answer);
    void on_acknowledged(std::int64_t sequence);
    void on_server_lost();  // answers on their way are gone
    // Empty, or what was acknowledged and is not so.
    std::string check(const store::MemoryRows& rows) const;
    std::int64_t jobs() const { return jobs_; }
    bool settled() const { return pending_.empty(); }

    // Set by the world: lets clients see which services sleep.
    void stop_calling() { calling_ = false; }
    // Another batch of submissions, to be made after a restart.
    void submit_job();

  private:
    struct Request {
        model::Command command{};
        std::string name{};
        bool acknowledged = false;
        Uid uid{};
    };
    void send(std::int64_t request);
    void again_later(std::int64_t request);
    void submit_service();
    void call_service(const std::string& name);
    void cancel_some();
    void ask_in_vain();
    void ship_usage();
    model::Command command_of(model::Object object, const std::string& key);
    model::Job draw_job();

    Agenda& agenda_;
    FaultPlan& faults_;
    Random random_;
    Post post_;
    std::int64_t next_ticket_ = 1;
    std::map<std::int64_t, Request> requests_;        // by number, kept for the check
    std::map<std::int64_t, std::int64_t> pending_;    // ticket -> request
    std::map<std::string, Uid> services_;
    std::set<std::string> deleted_;
    std::int64_t jobs_ = 0;
    std::int64_t usage_made_ = 0;
    std::int64_t usage_booked_ = 0;
    bool calling_ = true;
};

}  // namespace tandem::sim

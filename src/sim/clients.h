// SPDX-License-Identifier: Apache-2.0
// Clients: people and programs that submit, cancel, delete and call. They keep their own history, retry with the
// same idempotency key until they are answered, and judge what they were told: an acknowledged job is there, and
// one key makes one job.
#pragma once

#include <functional>
#include <map>
#include <optional>
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

// Something that a client does. Its random numbers are its own, so that leaving one out changes no other.
struct Operation {
    std::int64_t number = 0;
    std::string what{};  // "job-3: 2 x 1 devices of queue team-a, ..."
    bool operator==(const Operation&) const = default;
};

class Clients {
  public:
    using Post = std::function<void(model::Input)>;
    // `only`: of the operations that are drawn, these.
    Clients(Agenda& agenda, FaultPlan& faults, Random random, Post post, std::optional<std::set<std::int64_t>> only)
        : agenda_(agenda), faults_(faults), random_(random), post_(std::move(post)), only_(std::move(only)) {}

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
    // What was done so far, in order.
    const std::vector<Operation>& operations() const { return done_; }

  private:
    struct Request {
        model::Command command{};
        std::string name{};
        bool acknowledged = false;
        Uid uid{};
    };
    using Deed = void (Clients::*)(std::int64_t number, Random& random);
    // Draws when, and does it then.
    void plan_one(std::int64_t from_ms, std::int64_t to_ms, Deed deed);
    void note(std::int64_t number, std::string what);
    void send(std::int64_t request);
    void again_later(std::int64_t request);
    void submit_job(std::int64_t number, Random& random);
    void submit_service(std::int64_t number, Random& random);
    void call_service(std::int64_t number, Random& random);
    void cancel_some(std::int64_t number, Random& random);
    void ask_in_vain(std::int64_t number, Random& random);
    void ship_usage();
    model::Command command_of(model::Object object, const std::string& key);
    static model::Job draw_job(std::int64_t number, Random& random);

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
    std::optional<std::set<std::int64_t>> only_;
    std::int64_t planned_ = 0;
    std::vector<Operation> done_;
};

}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
// Commands: what a caller asks of core. Authorised, validated and answered in the transaction that does them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/object.h"
#include "model/verdict.h"

namespace tandem::model {

enum class ApplyMode : std::uint8_t { create, update, apply };  // apply: create or update
template <>
struct EnumNames<ApplyMode> {
    static constexpr std::string_view values[] = {"create", "update", "apply"};
};

// Desired object. meta.generation > 0 must equal the stored one (a stale edit is a conflict), 0 skips it.
struct ApplyObject {
    Object object{};
    ApplyMode mode = ApplyMode::apply;
};
// Work is cancelled and ended first; the object goes when its processes are proved gone.
struct DeleteObject {
    ObjectKey key{};
};
// What is asked of a job besides applying and deleting it.
//   cancel   ends it for good
//   retry    a failed or cancelled job starts again, from its last complete checkpoint
//   hold     while pending it is not started, whatever is free; running work goes on
//   release  takes a hold back: one's own, or with the right to change queues anybody's
//   suspend  sets spec.suspend: a running job saves, stops and waits
//   resume   clears spec.suspend
//   requeue  a running job saves, stops and waits its turn again
//   front    before all other pending jobs of the same submitter, queue and priority; nobody else's
//            place changes
//   force    starts as soon as there are devices and licences, whatever quotas, limits and turns
//   say priority stands for spec.priority from now on; without a number: spec.priority stands again
//   preview  changes nothing: tells where it would start now, and who would be asked to leave
enum class JobAct : std::uint8_t {
    cancel,
    retry,
    hold,
    release,
    suspend,
    resume,
    requeue,
    front,
    force,
    priority,
    preview
};
template <>
struct EnumNames<JobAct> {
    static constexpr std::string_view values[] = {"cancel",  "retry",    "hold",    "release",
                                                  "suspend", "resume",   "requeue", "front",
                                                  "force",   "priority", "preview"};
};
struct ActOnJob {
    ObjectKey key{};
    JobAct act = JobAct::cancel;
    std::optional<std::int64_t> priority{};  // of priority and preview
};
// Of a replica that is unknown since a restore: its task, which its executor has, is its own again.
struct AdoptTask {
    ObjectKey key{};
};
// Its task ends, by name; the workload goes on by its own rules.
struct EndTask {
    ObjectKey key{};
};
using Action = std::variant<ApplyObject, DeleteObject, ActOnJob, AdoptTask, EndTask>;
template <>
struct EnumNames<Action> {  // in the variant's order
    static constexpr std::string_view values[] = {"apply", "delete", "actOnJob", "adopt", "end"};
};

// What the action is about.
inline ObjectKey key_of_action(const Action& action) {
    return std::visit(
        []<class T>(const T& one) {
            if constexpr (requires { one.key; })
                return one.key;
            else
                return key_of(one.object);
        },
        action);
}

struct Caller {
    std::string subject{};     // "user:admin"
    std::string key_id{};      // key that was shown; empty for the platform itself
    std::string request_id{};
    bool operator==(const Caller&) const = default;
};

// One request: its actions are done all or none. ticket finds the waiting caller again; it is not stored.
struct Command {
    std::int64_t ticket = 0;
    Caller caller{};
    std::vector<Action> actions{};
    std::string idempotency_key{};  // empty: none
    std::string body_digest{};      // of the request body, for that key
    bool dry_run = false;
};

// What the caller is told: one outcome an action, or one error for all.
struct Outcome {
    ObjectKey key{};
    Uid uid{};
    std::int64_t version = 0;
    std::int64_t generation = 0;
    bool created = false;
    bool changed = false;
};
struct Answer {
    std::int64_t ticket = 0;
    std::vector<Outcome> outcomes{};
    std::optional<Error> error{};
    std::int64_t failed_action = 0;  // index of the action that error speaks of
    std::optional<Preview> preview{};
    bool replayed = false;           // answered from an earlier request with the same idempotency key
};

// Kept 24 h: the answer to a mutation, under its principal's key.
struct IdempotencyRow {
    std::string subject{};
    std::string key{};
    std::string body_digest{};
    std::vector<Outcome> outcomes{};
    Instant at{};
};

}  // namespace tandem::model

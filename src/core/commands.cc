// SPDX-License-Identifier: Apache-2.0
#include "core/commands.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/access.h"
#include "core/arrays.h"
#include "core/gateways.h"
#include "core/job_control.h"
#include "core/nodes.h"
#include "core/old_tasks.h"
#include "core/preview.h"
#include "core/reservations.h"
#include "core/rules.h"
#include "core/work_limits.h"
#include "model/limits.h"

namespace tandem::core {
namespace {

using model::Object;
using model::ObjectKey;
using model::Outcome;

std::string path_of(const ObjectKey& key) {
    std::string path;
    for (const std::string* part : {&key.project, &key.name_space})
        if (!part->empty()) path += *part + "/";
    return path + key.name;
}

std::unexpected<Error> not_there(const ObjectKey& key) {
    return fail(ErrorCode::not_found,
                fmt::format("{} \"{}\" does not exist", model::info_of(key.kind).singular, path_of(key)));
}

// The stored object as a variant, by the key's kind; absent when there is none.
std::optional<Object> find_object(const State& state, const ObjectKey& key) {
    std::optional<Object> found;
    state.each_table([&]<class T>(const Table<T>& table) {
        if (T::kind != key.kind) return;
        if (const T* row = table.find_named(key.project, key.name_space, key.name)) found = *row;
    });
    return found;
}

// Denied acts are audited; what the caller may not even see does not exist for it.
Status authorise(Turn& turn, const model::Caller& caller, const model::Action& action, const Object& object,
                 bool exists) {
    const auth::Decision decision = decide_action(turn.state, caller, action, object, exists, turn.now);
    const std::string permission = auth::permission_of(action, exists).text();
    if (decision.allowed) {
        audit(turn, caller, permission, path_of(model::key_of(object)), true, decision.rule);
        return {};
    }
    if (exists && !may_see(turn.state, caller, object, turn.now)) return not_there(model::key_of(object));
    return fail(ErrorCode::denied, fmt::format("{} may not do {} here: {}", caller.subject, permission, decision.rule));
}

// Work is only marked, without a copy: submissions are the common case.
template <class T>
void tell_of(Turn& turn, const T& row) {
    if constexpr (T::kind == model::Kind::job || T::kind == model::Kind::service)
        touch(turn, T::kind, row.meta.id);
    else
        after_apply(turn, Object{row});
}

// A job is looked at again in the batch that changes it; services say so themselves once they have been.
template <class T>
void observe(T& row) {
    if constexpr (T::kind == model::Kind::job) row.status.observed_generation = row.meta.generation;
}

// Of users, projects and queues, and numbers of licenses: what work is counted by.
template <class T>
bool same_limits(const T& a, const T& b) {
    if constexpr (requires { a.spec.limits; })
        if (a.spec.limits != b.spec.limits) return false;
    if constexpr (requires { a.spec.per_user; })
        if (a.spec.per_user != b.spec.per_user) return false;
    if constexpr (T::kind == model::Kind::queue)
        if (a.spec.parent != b.spec.parent) return false;
    if constexpr (T::kind == model::Kind::license) return a.spec.count == b.spec.count;
    if constexpr (T::kind == model::Kind::job)
        return !a.spec.array || a.spec.array->max_running == b.spec.array->max_running;
    return true;
}

// What else follows from a changed job.
void settle_changed_job(Turn& turn, const model::Job& row, const model::Job& old) {
    if (is_array(row)) touch_elements(turn, row);
    if (row.spec.queue == old.spec.queue) return;
    count_submitted(turn.state, old, -unfinished_in(old));
    count_submitted(turn.state, row, unfinished_in(row));
}

void begin_job(Turn& turn, model::Job& row, const model::Caller& caller) {
    row.status.submitted_by = caller.subject;
    if (row.spec.array) {
        const auto indices = model::array_indices(*row.spec.array, "spec.array");
        row.status.elements =
            model::ElementCounts{.total = static_cast<std::int64_t>(indices->size())};
    }
    count_submitted(turn.state, row, unfinished_in(row));
}

template <class T>
Outcome create_row(Turn& turn, const model::Caller& caller, T row) {
    row.meta.id = turn.state.next_id();
    row.meta.uid = turn.random.draw_uid();
    row.meta.generation = 1;
    row.meta.version = 0;
    row.meta.created = turn.now;
    row.meta.deletion_requested.reset();
    if constexpr (requires { row.status; }) row.status = {};
    observe<T>(row);
    if constexpr (T::kind == model::Kind::job) begin_job(turn, row, caller);
    const RowId id = row.meta.id;
    turn.table<T>().insert(id, std::move(row));
    const T& stored = turn.state.table<T>().get(id);
    if constexpr (T::kind == model::Kind::job || T::kind == model::Kind::service)
        turn.note(key_of_row(stored), stored.meta.uid, reason_of(model::ReasonCode::submitted));
    tell_of(turn, stored);
    if constexpr (T::kind != model::Kind::job)
        if (!same_limits(stored, T{})) permits_changed(turn);
    return {.key = key_of_row(stored), .uid = stored.meta.uid, .generation = 1, .created = true, .changed = true};
}

template <class T>
Result<Outcome> update_row(Turn& turn, const model::Caller& caller, const T& wanted, const T& old) {
    Outcome outcome{.key = key_of_row(old), .uid = old.meta.uid, .generation = old.meta.generation};
    if (wanted.meta.generation > 0 && wanted.meta.generation != old.meta.generation)
        return fail(ErrorCode::conflict,
                    fmt::format("is {} now, the edit was made on {}; get it again", old.meta.generation,
                                wanted.meta.generation),
                    "metadata.generation");
    if (old.meta.deletion_requested) return fail(ErrorCode::conflict, "is being deleted", "metadata.name");
    const bool same_spec = wanted.spec == old.spec;
    if (same_spec && wanted.meta.labels == old.meta.labels && wanted.meta.annotations == old.meta.annotations)
        return outcome;
    if constexpr (T::kind == model::Kind::job)
        if (wanted.spec.suspend != old.spec.suspend)
            note_suspend(turn, caller, old, wanted.spec.suspend);
    const T before = old;
    T& row = turn.table<T>().edit(old.meta.id);
    row.spec = wanted.spec;
    row.meta.labels = wanted.meta.labels;
    row.meta.annotations = wanted.meta.annotations;
    if (!same_spec) row.meta.generation += 1;
    observe<T>(row);
    outcome.generation = row.meta.generation;
    outcome.changed = true;
    tell_of(turn, row);
    if constexpr (T::kind == model::Kind::job) settle_changed_job(turn, row, before);
    if (!same_limits(row, before)) permits_changed(turn);
    return outcome;
}

// What only the server knows of a key is never in what people send back: it stays as it is.
std::optional<Object> with_secret_parts(const Object& sent, const std::optional<Object>& old) {
    const auto* key = std::get_if<model::ApiKey>(&sent);
    if (!key || !old || !key->spec.key_id.empty() || !key->spec.digest.empty()) return std::nullopt;
    model::ApiKey whole = *key;
    whole.spec.key_id = std::get<model::ApiKey>(*old).spec.key_id;
    whole.spec.digest = std::get<model::ApiKey>(*old).spec.digest;
    return whole;
}

Result<Outcome> apply_object(Turn& turn, const model::Caller& caller, const model::ApplyObject& action) {
    const ObjectKey key = model::key_of(action.object);
    const std::optional<Object> old = find_object(turn.state, key);
    TANDEM_TRY(authorise(turn, caller, action, action.object, old.has_value()));
    if (old && action.mode == model::ApplyMode::create)
        return fail(ErrorCode::conflict, fmt::format("{} \"{}\" exists already", model::info_of(key.kind).singular,
                                                     path_of(key)), "metadata.name");
    if (!old && action.mode == model::ApplyMode::update) return not_there(key);
    const std::optional<Object> whole = with_secret_parts(action.object, old);
    const Object& object = whole ? *whole : action.object;
    TANDEM_TRY(model::check_object(object));
    return std::visit(
        [&]<class T>(const T& wanted) -> Result<Outcome> {
            const T* before = old ? &std::get<T>(*old) : nullptr;
            if constexpr (T::kind == model::Kind::reservation || T::kind == model::Kind::maintenance)
                if (!before) TANDEM_TRY(check_start(turn.now, wanted.spec.start));
            TANDEM_TRY(check_references(turn.state, wanted, before));
            if constexpr (T::kind == model::Kind::job)
                if (!before || before->spec.reservation != wanted.spec.reservation)
                    TANDEM_TRY(check_reserved(turn.state, caller.subject, wanted));
            if (before) return update_row(turn, caller, wanted, *before);
            if constexpr (T::kind == model::Kind::job)
                TANDEM_TRY(
                    check_submitted(turn.state, caller.subject, wanted, elements_in(wanted)));
            return create_row(turn, caller, wanted);
        },
        object);
}

// Work ends first and goes when its processes are proved gone; everything else goes at once.
template <class T>
void remove_row(Turn& turn, const T& row) {
    if constexpr (T::kind == model::Kind::job || T::kind == model::Kind::service) {
        turn.table<T>().edit(row.meta.id).meta.deletion_requested = turn.now;
        touch(turn, T::kind, row.meta.id);
    } else {
        before_removal(turn, Object{row});
        turn.table<T>().erase(row.meta.id);
        if constexpr (T::kind == model::Kind::pool || T::kind == model::Kind::reservation)
            settle_owners(turn.state, turn.now);
        if (!same_limits(row, T{})) permits_changed(turn);
    }
}

void remove_rights_of(Turn& turn, const std::string& subject) {
    std::vector<RowId> bindings, keys;
    for (const auto& [id, binding] : turn.state.table<model::RoleBinding>().rows())
        if (binding.spec.subject == subject) bindings.push_back(id);
    for (const auto& [id, key] : turn.state.table<model::ApiKey>().rows())
        if (key.spec.subject == subject) keys.push_back(id);
    for (RowId id : bindings) turn.table<model::RoleBinding>().erase(id);
    for (RowId id : keys) turn.table<model::ApiKey>().erase(id);
}

Result<Outcome> delete_object(Turn& turn, const model::Caller& caller, const model::DeleteObject& action) {
    const std::optional<Object> old = find_object(turn.state, action.key);
    if (!old) return not_there(action.key);
    TANDEM_TRY(authorise(turn, caller, action, *old, true));
    TANDEM_TRY(check_removal(turn.state, *old));
    const model::Meta meta = model::meta_of(*old);
    if (action.key.kind == model::Kind::user) remove_rights_of(turn, "user:" + meta.name);
    if (action.key.kind == model::Kind::service_account)
        remove_rights_of(turn, "serviceaccount:" + meta.project + "/" + meta.name);
    std::visit([&](const auto& row) { remove_row(turn, row); }, *old);
    return Outcome{.key = action.key, .uid = meta.uid, .generation = meta.generation, .changed = true};
}

// Who may change queues may take back what others held.
bool may_release_all(const Turn& turn, const model::Caller& caller, model::JobAct act) {
    return act == model::JobAct::release && may(turn.state, caller, {auth::Area::queues, auth::Verb::update}, "", turn.now);
}

Status check_wanted_priority(std::int64_t priority) {
    constexpr std::int64_t most = model::limits::priority_max;
    if (priority >= -most && priority <= most) return {};
    return invalid_field("priority", fmt::format("must be {}..{}, is {}", -most, most, priority));
}

Result<Outcome> act_on(Turn& turn, const model::Caller& caller, const model::ActOnJob& action) {
    const ObjectKey& key = action.key;
    const model::Job* job =
        turn.state.table<model::Job>().find_named(key.project, key.name_space, key.name);
    if (!job) return not_there(key);
    TANDEM_TRY(authorise(turn, caller, action, Object{*job}, true));
    if (action.priority) TANDEM_TRY(check_wanted_priority(*action.priority));
    if (action.act == model::JobAct::preview) {
        TANDEM_LET(preview, preview_job(turn, caller, job->meta.id, action.priority));
        turn.preview = std::move(preview);
        return Outcome{.key = key, .uid = job->meta.uid, .generation = job->meta.generation};
    }
    TANDEM_LET(changed, act_on_job(turn, caller, action, job->meta.id,
                                   may_release_all(turn, caller, action.act)));
    return Outcome{.key = key,
                   .uid = job->meta.uid,
                   .generation = job->meta.generation,
                   .changed = changed};
}

// An operator's word on a task of before a restore.
Result<Outcome> decide_task(Turn& turn, const model::Caller& caller, const model::Action& action) {
    const ObjectKey key = model::key_of_action(action);
    const auto stray = key.project.empty() ? model::TaskName::parse(key.name) : std::nullopt;
    if (stray && std::holds_alternative<model::EndTask>(action)) {
        model::Replica nobodys;  // it has no row; who may decide on all of them may decide on it
        nobodys.meta.name = key.name;
        TANDEM_TRY(authorise(turn, caller, action, Object{nobodys}, true));
        TANDEM_TRY(end_stray(turn, *stray, caller.subject));
        return Outcome{.key = key, .uid = stray->uid, .changed = true};
    }
    const model::Replica* replica =
        key.kind == model::Kind::replica
            ? turn.state.table<model::Replica>().find_named(key.project, key.name_space, key.name)
            : nullptr;
    if (!replica) return not_there(key);
    TANDEM_TRY(authorise(turn, caller, action, Object{*replica}, true));
    const Outcome outcome{.key = key, .uid = replica->meta.uid, .generation = replica->meta.generation, .changed = true};
    const bool adopts = std::holds_alternative<model::AdoptTask>(action);
    TANDEM_TRY(adopts ? adopt_old_task(turn, replica->meta.id, caller.subject)
                      : end_old_task(turn, replica->meta.id, caller.subject));
    return outcome;
}

Result<Outcome> perform(Turn& turn, const model::Caller& caller, const model::Action& action) {
    if (const auto* apply = std::get_if<model::ApplyObject>(&action)) return apply_object(turn, caller, *apply);
    if (const auto* remove = std::get_if<model::DeleteObject>(&action)) return delete_object(turn, caller, *remove);
    if (const auto* act = std::get_if<model::ActOnJob>(&action)) return act_on(turn, caller, *act);
    return decide_task(turn, caller, action);
}

std::string describe_denied(const model::Action& action, const ObjectKey& key, bool exists) {
    return auth::permission_of(action, exists).text() + " " + path_of(key);
}

// True when the request was answered from an earlier one.
bool answer_again(Turn& turn, const model::Command& command) {
    if (command.idempotency_key.empty()) return false;
    const auto* row = turn.state.idempotency.find({command.caller.subject, command.idempotency_key});
    if (!row) return false;
    model::Answer answer{.ticket = command.ticket, .outcomes = row->outcomes, .error = {}, .replayed = true};
    if (row->body_digest != command.body_digest) {
        answer.outcomes.clear();
        answer.error = Error{ErrorCode::mismatch, "this key was used with another request body in the last 24 h; "
                                                  "take a new key for a new request", "Idempotency-Key"};
    }
    turn.state.effects.answers.push_back(std::move(answer));
    return true;
}

void refuse(Turn& turn, const model::Command& command, std::size_t index, Error error) {
    const model::Action& action = command.actions[index];
    if (error.code == ErrorCode::denied || error.code == ErrorCode::not_found) {
        const ObjectKey key = model::key_of_action(action);
        const bool exists = find_object(turn.state, key).has_value();
        if (error.code == ErrorCode::denied || exists)
            audit(turn, command.caller, auth::permission_of(action, exists).text(), path_of(key), false,
                  describe_denied(action, key, exists));
    }
    turn.state.effects.answers.push_back({.ticket = command.ticket,
                                          .outcomes = {},
                                          .error = std::move(error),
                                          .failed_action = static_cast<std::int64_t>(index)});
}

}  // namespace

namespace {

bool is_about_access(const model::Action& action) {
    const model::Kind kind = model::key_of_action(action).kind;
    return kind == model::Kind::user || kind == model::Kind::service_account || kind == model::Kind::role_binding ||
           kind == model::Kind::api_key;
}

// Nobody locks everybody out, oneself included.
Status check_somebody_is_left(const Turn& turn, bool before) {
    if (!before || has_admin(turn.state, turn.now)) return {};
    return fail(ErrorCode::conflict,
                "is the last that lets a platform-admin in (an enabled subject, its binding, and a key without limits); "
                "make another admin first",
                "metadata.name");
}

}  // namespace

void apply_command(Turn& turn, const model::Command& command) {
    if (answer_again(turn, command)) return;
    const bool had_admin = std::ranges::any_of(command.actions, is_about_access) && has_admin(turn.state, turn.now);
    turn.preview.reset();
    const StateMark before = turn.state.mark();
    std::vector<Outcome> outcomes;
    outcomes.reserve(command.actions.size());
    for (std::size_t index = 0; index < command.actions.size(); ++index) {
        Result<Outcome> outcome = perform(turn, command.caller, command.actions[index]);
        // Only what the whole command leaves behind counts.
        const bool last = index + 1 == command.actions.size();
        if (outcome && last)
            if (const Status left = check_somebody_is_left(turn, had_admin); !left) outcome = pass_on(left.error());
        if (!outcome) {
            turn.state.rollback(before);
            return refuse(turn, command, index, std::move(outcome).error());
        }
        outcomes.push_back(std::move(*outcome));
    }
    if (command.dry_run) turn.state.rollback(before);
    if (!command.dry_run && !command.idempotency_key.empty())
        turn.state.idempotency.put({command.caller.subject, command.idempotency_key},
                                   {.subject = command.caller.subject,
                                    .key = command.idempotency_key,
                                    .body_digest = command.body_digest,
                                    .outcomes = outcomes,
                                    .at = turn.now});
    turn.state.effects.answers.push_back({.ticket = command.ticket,
                                          .outcomes = std::move(outcomes),
                                          .error = {},
                                          .preview = std::move(turn.preview)});
}

const model::Meta* find_meta(const State& state, const ObjectKey& key) {
    const model::Meta* found = nullptr;
    state.each_table([&]<class T>(const Table<T>& table) {
        if (T::kind != key.kind) return;
        if (const T* row = table.find_named(key.project, key.name_space, key.name)) found = &row->meta;
    });
    return found;
}

void drop_old_idempotency(State& state, Instant now) {
    std::vector<IdempotencyKey> old;
    for (const auto& [key, row] : state.idempotency.rows())
        if (row.at + idempotency_kept < now) old.push_back(key);
    for (const IdempotencyKey& key : old) state.idempotency.erase(key);
}

}  // namespace tandem::core

// SPDX-License-Identifier: Apache-2.0
#include "core/driver.h"

#include "core/live_memory.h"
#include "core/old_tasks.h"
#include "core/recover.h"
#include "core/step.h"
#include "core/tasks.h"

namespace tandem::core {

namespace {

// An intent that is open for so long was lost on its way, or its answer was; doing it again is harmless.
constexpr Duration intent_patience = seconds(20);

Error no_space() {
    return {ErrorCode::storage_full, "the store has no space left; nothing was changed", ""};
}
Error store_is_held() {
    return {ErrorCode::unavailable, "another program holds the store's file; nothing was changed, try again", ""};
}

// Tasks whose end these inputs told.
std::vector<model::TaskName> ended_in(const std::vector<model::Input>& inputs) {
    std::vector<model::TaskName> ended;
    for (const model::Input& input : inputs) {
        if (const auto* exited = std::get_if<model::TaskExited>(&input)) ended.push_back(exited->task);
        if (const auto* gone = std::get_if<model::TaskGone>(&input)) ended.push_back(gone->task);
        const auto* listed = std::get_if<model::TasksListed>(&input);
        if (!listed) continue;
        for (const model::ListedTask& task : listed->tasks)
            if (task.exit || !task.start_error.empty()) ended.push_back(task.task);
    }
    return ended;
}

}  // namespace

void Driver::execute_overdue(Instant now) {
    if (now < overdue_look_) return;
    overdue_look_ = now + intent_patience;
    for (const auto& [id, intent] : state_.intents.rows())
        if (intent.opened + intent_patience < now) ports_.executor.execute(intent);
}

Status Driver::start(std::string_view core_version) {
    TANDEM_LET(recovered, ports_.store.recover());
    TANDEM_TRY(recover_state(state_, std::move(recovered)));
    core_version_ = core_version;
    state_.meta.segment += 1;
    TANDEM_TRY(ports_.store.open_segment(state_.meta, core_version_, nullptr));
    // After a restore the first batch takes back what the old installation had asked for.
    if (state_.meta.restored) return {};
    for (const auto& [id, intent] : state_.intents.rows()) ports_.executor.execute(intent);
    return {};
}

BatchResult Driver::run(std::vector<model::Input> inputs, const model::Tick& tick) {
    TANDEM_ASSERT(tick.now >= state_.meta.time, "time must not go backwards");
    const StateMark mark = state_.mark();
    state_.planner.advance(tick.now);
    Random random(tick.seed);
    Turn turn{state_, tick.now, random};
    if (state_.meta.restored) doubt_old_tasks(turn);
    if (state_.live.look_at_all) look_at_all(turn);
    for (const model::Input& input : inputs) step(turn, input);
    plan_batch(turn);
    charge_running(turn);
    model::BatchRecord record = close_batch(turn, tick, std::move(inputs), ports_.hasher);
    if (digests_) record.digest = state_.digest();
    switch (ports_.store.commit(record)) {
        case CommitOutcome::committed: break;
        case CommitOutcome::full: roll_back(mark, std::move(record.inputs), no_space()); return BatchResult::full;
        case CommitOutcome::busy: roll_back(mark, std::move(record.inputs), store_is_held()); return BatchResult::busy;
        case CommitOutcome::fatal: return BatchResult::fatal;
    }
    tell(record);
    state_.forget();
    execute_overdue(tick.now);
    if (ports_.store.segment_is_full()) open_next_segment();
    return BatchResult::committed;
}

void Driver::roll_back(const StateMark& mark, std::vector<model::Input> inputs, const Error& told) {
    TANDEM_REACHED("driver.rolled_back");
    state_.rollback(mark);
    state_.forget_touched();
    for (model::Input& input : inputs) {
        if (const auto* command = std::get_if<model::Command>(&input)) {
            ports_.publisher.answer({.ticket = command->ticket, .outcomes = {}, .error = told});
        } else {
            retry_.push_back(std::move(input));
        }
    }
}

void Driver::open_next_segment() {
    const model::LiveMemory memory = remember(state_);
    model::CoreMeta meta = state_.meta;
    meta.segment += 1;
    // No room for it is no harm: the one of before goes on.
    if (!ports_.store.open_segment(meta, core_version_, &memory)) return;
    TANDEM_REACHED("driver.segment_opened");
    state_.meta = std::move(meta);
    begin_anew(state_);
}

void Driver::tell(const model::BatchRecord& record) {
    ports_.publisher.publish(record, state_);
    for (const model::Answer& answer : state_.effects.answers) ports_.publisher.answer(answer);
    for (const GrantAnswer& grant : state_.effects.grants) ports_.publisher.grant(grant.ticket, grant.grants);
    for (const Acknowledgement& done : state_.effects.acknowledgements)
        ports_.publisher.acknowledge(done.ticket, done.sequence);
    // Before the intents: what a folder holds is looked for where settling has moved it.
    for (const model::TaskName& task : ended_in(record.inputs)) ports_.executor.settle(task);
    for (RowId id : record.intents_closed) ports_.executor.forget(id);
    for (const model::Intent& intent : record.intents_opened) ports_.executor.execute(intent);
}

std::optional<Instant> Driver::next_wake() const { return core::next_wake(state_); }

}  // namespace tandem::core

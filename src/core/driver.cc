// SPDX-License-Identifier: Apache-2.0
#include "core/driver.h"

#include <algorithm>

#include "core/recover.h"
#include "core/step.h"
#include "core/tasks.h"

namespace tandem::core {

namespace {

// An intent that is open for so long was lost on its way, or its answer was; doing it again is harmless.
constexpr Duration intent_patience = seconds(20);

bool has_listing(const std::vector<model::Input>& inputs) {
    return std::any_of(inputs.begin(), inputs.end(), [](const model::Input& input) {
        return std::holds_alternative<model::TasksListed>(input);
    });
}

}  // namespace

void Driver::execute_overdue(Instant now) {
    for (const auto& [id, intent] : state_.intents.rows())
        if (intent.opened + intent_patience < now) ports_.executor.execute(intent);
}

Status Driver::start(std::string_view core_version) {
    TANDEM_LET(recovered, ports_.store.recover());
    TANDEM_TRY(recover_state(state_, std::move(recovered)));
    state_.meta.segment += 1;
    TANDEM_TRY(ports_.store.open_segment(state_.meta, core_version));
    for (const auto& [id, intent] : state_.intents.rows()) ports_.executor.execute(intent);
    return {};
}

BatchResult Driver::run(std::vector<model::Input> inputs, const model::Tick& tick) {
    TANDEM_ASSERT(tick.now >= state_.meta.time, "time must not go backwards");
    const StateMark mark = state_.mark();
    state_.planner.advance(tick.now);
    Random random(tick.seed);
    Turn turn{state_, tick.now, random};
    for (const model::Input& input : inputs) step(turn, input);
    plan_batch(turn);
    charge_running(turn);
    model::BatchRecord record = close_batch(turn, tick, std::move(inputs), ports_.hasher);
    if (digests_) record.digest = state_.digest();
    switch (ports_.store.commit(record)) {
        case CommitOutcome::committed: break;
        case CommitOutcome::full: roll_back(mark, std::move(record.inputs)); return BatchResult::full;
        case CommitOutcome::fatal: return BatchResult::fatal;
    }
    tell(record);
    state_.forget();
    if (has_listing(record.inputs)) execute_overdue(tick.now);
    return BatchResult::committed;
}

void Driver::roll_back(const StateMark& mark, std::vector<model::Input> inputs) {
    TANDEM_REACHED("driver.rolled_back");
    state_.rollback(mark);
    state_.forget_touched();
    for (model::Input& input : inputs) {
        if (const auto* command = std::get_if<model::Command>(&input)) {
            ports_.publisher.answer({.ticket = command->ticket,
                                     .outcomes = {},
                                     .error = Error{ErrorCode::storage_full,
                                                    "the store has no space left; nothing was changed", ""}});
        } else {
            retry_.push_back(std::move(input));
        }
    }
}

void Driver::tell(const model::BatchRecord& record) {
    ports_.publisher.publish(record, state_);
    for (const model::Answer& answer : state_.effects.answers) ports_.publisher.answer(answer);
    for (const GrantAnswer& grant : state_.effects.grants) ports_.publisher.grant(grant.ticket, grant.grants);
    for (const Acknowledgement& done : state_.effects.acknowledgements)
        ports_.publisher.acknowledge(done.ticket, done.sequence);
    for (RowId id : record.intents_closed) ports_.executor.forget(id);
    for (const model::Intent& intent : record.intents_opened) ports_.executor.execute(intent);
}

std::optional<Instant> Driver::next_wake() const { return core::next_wake(state_); }

}  // namespace tandem::core

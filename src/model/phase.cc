// SPDX-License-Identifier: Apache-2.0
#include "model/phase.h"

namespace tandem::model {

bool may_move(Phase from, Phase to) {
    if (from == to) return true;
    if (is_terminal(from)) return false;
    if (to == Phase::unknown) return from != Phase::pending;
    switch (from) {
        case Phase::pending: return to == Phase::claimed || to == Phase::cancelled || to == Phase::failed;
        case Phase::claimed:
            return to == Phase::starting || to == Phase::pending || to == Phase::cancelled || to == Phase::failed;
        case Phase::starting: return to == Phase::running || to == Phase::stopping || to == Phase::pending;
        case Phase::running: return to == Phase::stopping;
        case Phase::stopping: return to == Phase::pending || is_terminal(to);
        case Phase::unknown:
            return to == Phase::starting || to == Phase::running || to == Phase::stopping || is_terminal(to);
        default: return false;
    }
}

TaskState task_state_of(Phase phase) {
    switch (phase) {
        case Phase::pending:
        case Phase::claimed: return TaskState::waiting;
        case Phase::failed: return TaskState::failed;
        case Phase::succeeded:
        case Phase::cancelled: return TaskState::released;
        default: return TaskState::running;
    }
}

}  // namespace tandem::model

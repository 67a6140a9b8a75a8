// SPDX-License-Identifier: Apache-2.0
// The executor's picture of one live task. Owned by its loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "executor/local/shim_link.h"
#include "model/input.h"
#include "model/intent.h"

namespace tandem::executor {

struct LiveTask {
    enum class State {
        queued,    // waits for its turn to be spawned
        spawning,  // its shim starts the command
        asked,     // connected, the first status has not come
        live,      // known to be alive, reported
        lost,      // shim dead, no exit record: being proved gone
    };
    model::TaskName name{};
    State state = State::queued;
    RowId start_intent{};
    std::optional<model::StartTask> start{};  // while queued
    std::string folder{};
    pid_t spawner = 0;
    int spawner_fd = -1;  // pidfd
    ShimLink link{};
    shim::TaskStatus status{};
    std::optional<std::int64_t>
        stop_grace_ms{};              // asked for, told as soon as there is somebody to tell
    std::int64_t ask_until_ms = 0;    // deadline of `asked`, monotonic
    std::int64_t quiet_until_ms = 0;  // connection lost, shim there: when to try again
    bool reported = false;
    // progress and checkpoints
    bool spec_read = false;
    std::vector<model::DeviceShare> devices{};  // what it has of this node
    std::int64_t watch_ms = 0;                  // from its spec: told that soon; 0: at leisure
    std::int64_t next_look_ms = 0;              // at its progress, monotonic
    std::string checkpoints{};                  // folder; empty: not rank 0, or no checkpoints
    std::int64_t checkpoint_step = -1;
    std::int64_t progress_mtime_ns = 0;
    std::int64_t step = -1;
    std::int64_t beat_ms = 0;
    bool progress_news = false;
    std::int64_t output_ms = 0;
    std::int64_t told_output_ms = 0;
    std::int64_t told_at_ms = 0;  // when progress was told last, monotonic
};

}  // namespace tandem::executor

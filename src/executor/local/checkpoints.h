// SPDX-License-Identifier: Apache-2.0
// What a program tells through files (checkpoint contract): its progress, and its complete
// checkpoints.
//   TANDEM_PROGRESS_FILE   {"step": n, ...} or the bare number first; replaced at each step
//   TANDEM_CHECKPOINT_DIR  folders step-N; complete from the moment step-N/manifest.json is renamed
//   into place
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::executor {

// -1: no step in it.
std::int64_t parse_progress(std::string_view text);

struct CompleteCheckpoint {
    std::int64_t step = 0;
    std::string path{};      // of its folder
    std::string manifest{};  // path of its manifest
    std::int64_t at_ms = 0;  // the manifest came
};
// The complete checkpoint with the highest step above `after`.
std::optional<CompleteCheckpoint> find_checkpoint(const std::string& folder, std::int64_t after);

}  // namespace tandem::executor

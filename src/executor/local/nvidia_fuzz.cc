// SPDX-License-Identifier: Apache-2.0
// Any bytes as what nvidia-smi printed.
#include <cstddef>
#include <cstdint>

#include "base/assert.h"
#include "executor/local/checkpoints.h"
#include "executor/local/nvidia.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(bytes), size);
    if (auto reading = tandem::executor::parse_nvidia_table(text)) {
        for (const auto& device : reading->devices) {
            TANDEM_ASSERT(device.flavor.starts_with("nvidia"), "a GPU has a flavor of its maker");
            TANDEM_ASSERT(device.memory_bytes >= 0, "memory is not negative");
        }
    }
    tandem::executor::parse_nvidia_log(text);
    TANDEM_ASSERT(tandem::executor::parse_progress(text) >= -1, "a step is not negative");
    return 0;
}

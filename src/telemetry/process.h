// SPDX-License-Identifier: Apache-2.0
// What every process tells about itself: memory, processor time, descriptors, build. Read from /proc
// when called; what can't be read is left as it was. Thread rule: any thread.
#pragma once

#include <string>

#include "telemetry/metrics.h"

namespace tandem::telemetry {

void measure_process(Metrics& metrics);  // before each scrape
void set_build_info(Metrics& metrics, const std::string& version);  // once

}  // namespace tandem::telemetry

// SPDX-License-Identifier: Apache-2.0
// Replays a segment: its start rows and its logged batches through core again; each batch must end in the digest that
// was logged.
#pragma once

#include <string>

#include "store/memory/memory_disk.h"

namespace tandem::sim {

// Empty when all digests are equal; otherwise names the first batch that differs.
std::string replay(const store::Segment& segment);

}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
// Job arrays: one job object that stands for many alike, its elements. Each is a job of its own,
// NAME-INDEX, made and owned by the array; what all share stands in the array's spec alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/phase.h"

namespace tandem::model {

struct JobArray {
    std::int64_t count = 0;        // elements 0..count-1; 0: `indices` says which
    std::string indices{};         // "0-9,20-40:5"
    std::int64_t max_running = 0;  // elements that hold capacity at once; 0: no cap
    bool operator==(const JobArray&) const = default;
};

// In a job that is an element.
struct ArrayElement {
    std::string array{};  // name; of its own project and namespace
    std::int64_t index = 0;
    Phase counted = Phase::pending;  // as what the array's status counts it
    bool operator==(const ArrayElement&) const = default;
};

// In a job that is an array: its elements by phase. Those not made yet are in `total` alone.
struct ElementCounts {
    std::int64_t total = 0;
    std::int64_t made = 0;
    std::int64_t pending = 0;
    std::int64_t running = 0;  // from claimed to stopping, and unknown
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t cancelled = 0;
    std::int64_t over() const { return succeeded + failed + cancelled; }
    bool operator==(const ElementCounts&) const = default;
};

// Ascending, none twice. Errors name `field`.indices or `field`.count.
Result<std::vector<std::int64_t>> array_indices(const JobArray& array, std::string_view field);

}  // namespace tandem::model

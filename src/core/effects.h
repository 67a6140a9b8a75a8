// SPDX-License-Identifier: Apache-2.0
// Effects: what a batch wants to tell the world, beside the rows that the tables' own logs know of.
#pragma once

#include <cstdint>
#include <vector>

#include "model/batch.h"

namespace tandem::core {

struct GrantAnswer {
    std::int64_t ticket = 0;
    std::vector<model::LeaseGrant> grants{};
};
struct Acknowledgement {
    std::int64_t ticket = 0;
    std::int64_t sequence = 0;
};

struct Effects {
    std::vector<model::Answer> answers{};
    std::vector<model::EventRecord> events{};
    std::vector<model::AuditRecord> audit{};
    std::vector<model::RequestUsage> requests{};
    std::vector<GrantAnswer> grants{};
    std::vector<Acknowledgement> acknowledgements{};
};

}  // namespace tandem::core

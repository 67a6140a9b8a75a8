// SPDX-License-Identifier: Apache-2.0
// License: a counted resource of the whole installation that no node has: seats of a licence
// server, slots of a shared file system. Jobs ask for some by name and hold them from their claim
// until their last process is gone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/meta.h"

namespace tandem::model {

struct LicenseSpec {
    std::string title{};
    std::int64_t count = 0;
    std::vector<std::string> projects{};  // who may use it; empty: everybody
    bool operator==(const LicenseSpec&) const = default;
};
struct License {
    static constexpr Kind kind = Kind::license;
    Meta meta{};
    LicenseSpec spec{};
    bool operator==(const License&) const = default;
};

}  // namespace tandem::model

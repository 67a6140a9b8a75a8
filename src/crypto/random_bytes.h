// SPDX-License-Identifier: Apache-2.0
// Unpredictable bytes from the operating system's generator, for secrets, seeds and tokens. Decisions never
// use them directly: core draws from the seed that its tick carries.
// A machine that has no entropy can't go on safely: failure aborts. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/random.h"

namespace tandem::crypto {

void fill_random(std::span<std::uint8_t> bytes);
Seed draw_seed();
std::string draw_token();  // 256 bits in base64url, 43 characters

}  // namespace tandem::crypto

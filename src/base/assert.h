// SPDX-License-Identifier: Apache-2.0
// Assertions that stay on in release, and probes that tell whether a rare path was ever taken.
//
// TANDEM_ASSERT(cond, "text")   a programmer's error: prints place and text, then aborts. Never for user input.
// TANDEM_REACHED("area.what")   marks a rare branch; the simulator counts these, elsewhere it costs one branch.
// Thread rule: both may be used from any thread; the probe sink is set once, before other threads start.
#pragma once

#include <string_view>

namespace tandem {

[[noreturn]] void assertion_failed(const char* condition, std::string_view text, const char* file, int line);

using ReachedSink = void (*)(std::string_view probe);
void set_reached_sink(ReachedSink sink);
void reached(std::string_view probe);

}  // namespace tandem

#define TANDEM_ASSERT(condition, text)                                                  \
    do {                                                                                \
        if (!(condition)) [[unlikely]]                                                  \
            ::tandem::assertion_failed(#condition, (text), __FILE__, __LINE__);         \
    } while (false)

#define TANDEM_REACHED(probe) ::tandem::reached(probe)

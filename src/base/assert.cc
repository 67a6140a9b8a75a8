// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace tandem {
namespace {
ReachedSink reached_sink = nullptr;
}

void assertion_failed(const char* condition, std::string_view text, const char* file, int line) {
    std::fprintf(stderr, "assertion failed: %s (%.*s) at %s:%d\n", condition,
                 static_cast<int>(text.size()), text.data(), file, line);
    std::fflush(stderr);
    std::abort();
}

void set_reached_sink(ReachedSink sink) {
    reached_sink = sink;
}

void reached(std::string_view probe) {
    if (reached_sink) reached_sink(probe);
}

}  // namespace tandem

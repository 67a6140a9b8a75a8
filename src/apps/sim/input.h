// SPDX-License-Identifier: Apache-2.0
// What the verbs of tandem-sim share: files, and the end of a verb that went wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/trace/text.h"

namespace tandem::apps {

// A file, plain or gzip; "-" is standard input, which can be read once.
Result<sim::TraceText> read_trace(const std::string& path);
// "42", "42..51", "1,5,9..12": at most 10,000, each once, in the order written.
Result<std::vector<std::uint64_t>> parse_seeds(const std::string& text);
// Says the error on standard error; the exit code 2.
int refuse(const std::string& verb, const Error& error);

}  // namespace tandem::apps

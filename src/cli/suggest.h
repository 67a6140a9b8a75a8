// SPDX-License-Identifier: Apache-2.0
// Suggest: the word that was likely meant, by edits (one letter put in, left out, changed, or two
// swapped). Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::cli {

// Absent when none is near: at most one edit for words of up to four letters, two for longer ones.
// Ties go to the first.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

// "; did you mean \"get\"?" or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);

}  // namespace tandem::cli

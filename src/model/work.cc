// SPDX-License-Identifier: Apache-2.0
#include "model/work.h"

#include <charconv>

namespace tandem::model {
namespace {

// Reads "<prefix><digits>" off the front of `text`; a following '-' is eaten.
bool eat_number(std::string_view& text, char prefix, std::int64_t& value) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with('-')) text.remove_prefix(1);
    return true;
}

}  // namespace

std::string TaskName::text() const {
    return "g" + std::to_string(generation) + "-" + uid.text() + "-e" + std::to_string(epoch) + "-r" +
           std::to_string(rank);
}

std::optional<TaskName> TaskName::parse(std::string_view text) {
    const std::string_view whole = text;
    TaskName name;
    if (!eat_number(text, 'g', name.generation)) return std::nullopt;
    const auto uid = Uid::parse(text.substr(0, 24));
    if (!uid || text.size() < 26) return std::nullopt;
    name.uid = *uid;
    text.remove_prefix(25);
    if (!eat_number(text, 'e', name.epoch) || !eat_number(text, 'r', name.rank)) return std::nullopt;
    // Only the one canonical text counts: "g01-..." or trailing bytes are someone else's folder.
    if (name.text() != whole) return std::nullopt;
    return name;
}

}  // namespace tandem::model

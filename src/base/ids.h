// SPDX-License-Identifier: Apache-2.0
// RowId: dense int64 given by core, in order of creation; breaks every tie. 0 means "none".
// Uid: 96 random bits drawn from the tick's seed, shown as 24 lower-case hex digits; never used twice.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tandem {

struct RowId {
    std::int64_t value = 0;
    explicit operator bool() const { return value != 0; }
    auto operator<=>(const RowId&) const = default;
};

struct Uid {
    std::array<std::uint8_t, 12> bytes{};

    std::string text() const;
    static std::optional<Uid> parse(std::string_view text);  // exactly 24 lower-case hex digits
    explicit operator bool() const { return *this != Uid{}; }
    auto operator<=>(const Uid&) const = default;
};

}  // namespace tandem

template <>
struct std::hash<tandem::RowId> {
    std::size_t operator()(tandem::RowId id) const noexcept {
        return static_cast<std::size_t>(static_cast<std::uint64_t>(id.value) * 0x9e3779b97f4a7c15ULL);
    }
};

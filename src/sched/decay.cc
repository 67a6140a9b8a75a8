// SPDX-License-Identifier: Apache-2.0
#include "sched/decay.h"

#include <algorithm>
#include <array>

namespace tandem::sched {
namespace {

__extension__ using Unsigned = unsigned __int128;

constexpr int root_count = 60;  // binary places of the passed part of a half-life

constexpr std::uint64_t square_root(Unsigned value) {
    Unsigned low = 0;
    Unsigned high = Unsigned{1} << 64;
    while (low + 1 < high) {
        const Unsigned middle = low + (high - low) / 2;
        if (middle * middle <= value)
            low = middle;
        else
            high = middle;
    }
    return static_cast<std::uint64_t>(low);
}

// roots[k] = 2^(-2^-(k+1)) with 64 binary places.
constexpr std::array<std::uint64_t, root_count> make_roots() {
    std::array<std::uint64_t, root_count> roots{};
    Unsigned value = Unsigned{1} << 63;
    for (std::uint64_t& root : roots) {
        root = square_root(value << 64);
        value = root;
    }
    return roots;
}
constexpr std::array<std::uint64_t, root_count> roots = make_roots();

// 1/ln 2 with 32 binary places.
constexpr std::int64_t per_half_life = 6196328019;

Wide times(Wide amount, std::uint64_t factor) {
    const auto value = static_cast<Unsigned>(amount);
    const Unsigned low = static_cast<std::uint64_t>(value);
    const Unsigned high = value >> 64;
    return static_cast<Wide>(high * factor + ((low * factor) >> 64));
}

}  // namespace

std::uint64_t fade_factor(Duration passed, Duration half_life) {
    constexpr std::uint64_t whole = ~std::uint64_t{0};
    if (passed.ms <= 0 || half_life.ms <= 0) return whole;
    const std::int64_t halvings = passed.ms / half_life.ms;
    if (halvings >= 64) return 0;
    const Unsigned rest = static_cast<Unsigned>(passed.ms % half_life.ms);
    const Unsigned places = (rest << root_count) / static_cast<Unsigned>(half_life.ms);
    std::uint64_t factor = whole;
    for (int k = 0; k < root_count; ++k) {
        if (((places >> (root_count - 1 - k)) & 1) == 0) continue;
        factor = static_cast<std::uint64_t>(
            (Unsigned{factor} * roots[static_cast<std::size_t>(k)]) >> 64);
    }
    return factor >> halvings;
}

Use faded(const Use& use, Instant now, Duration half_life) {
    Use after = use;
    after.at = now;
    if (now.ms <= use.at.ms) return after;
    const std::uint64_t kept = fade_factor(now - use.at, half_life);
    const Wide full = static_cast<Wide>(use.milli) * half_life.ms * per_half_life;
    after.amount = times(use.amount, kept) + times(full, ~kept);
    return after;
}

std::string render_amount(Wide amount) {
    if (amount <= 0) return "0";
    std::string digits;
    for (; amount > 0; amount /= 10)
        digits.push_back(static_cast<char>('0' + static_cast<int>(amount % 10)));
    std::ranges::reverse(digits);
    return digits;
}

Wide parse_amount(const std::string& text) {
    Wide amount = 0;
    if (text.size() > 36) return 0;
    for (char digit : text) {
        if (digit < '0' || digit > '9') return 0;
        amount = amount * 10 + (digit - '0');
    }
    return amount;
}

}  // namespace tandem::sched

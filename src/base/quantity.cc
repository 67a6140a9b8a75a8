// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace tandem {
namespace {

// Reads digits[.digits] scaled by `scale`; `rest` keeps the suffix. A fraction finer than 1/scale
// is refused.
Result<std::int64_t> parse_decimal(std::string_view text, std::int64_t scale,
                                   std::string_view& rest) {
    const std::string shown(text.substr(0, 40));
    std::size_t at = 0;
    std::int64_t whole = 0;
    std::size_t digits = 0;
    const bool negative = text.starts_with('-');
    if (negative)
        return fail(ErrorCode::invalid, fmt::format("must not be negative, is \"{}\"", shown));
    const auto too_large = [&] {
        return fail(ErrorCode::invalid, fmt::format("is too large: \"{}\"", shown));
    };
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits) {
        if (__builtin_mul_overflow(whole, std::int64_t{10}, &whole) ||
            __builtin_add_overflow(whole, std::int64_t{text[at] - '0'}, &whole))
            return too_large();
    }
    if (digits == 0)
        return fail(ErrorCode::invalid, fmt::format("must be a number, is \"{}\"", shown));
    if (__builtin_mul_overflow(whole, scale, &whole)) return too_large();
    std::int64_t fraction = 0;
    if (at < text.size() && text[at] == '.') {
        std::int64_t step = scale;
        std::size_t fraction_digits = 0;
        for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9';
             ++at, ++fraction_digits) {
            const std::int64_t digit = text[at] - '0';
            // With binary scales a step may not divide by ten: keep the exact part, refuse a
            // remainder.
            if (step * digit % 10 != 0)
                return fail(ErrorCode::invalid,
                            fmt::format("is finer than can be kept: \"{}\"", shown));
            if (digit != 0) fraction += step * digit / 10;
            if (step % 10 != 0 && digit != 0) {
                step = 0;
                continue;
            }
            step /= 10;
        }
        if (fraction_digits == 0)
            return fail(ErrorCode::invalid, fmt::format("must be a number, is \"{}\"", shown));
    }
    if (__builtin_add_overflow(whole, fraction, &whole) || whole > quantity_max) return too_large();
    rest = text.substr(at);
    return whole;
}

struct Suffix {
    std::string_view name;
    std::int64_t scale;
};
constexpr std::array<Suffix, 9> byte_suffixes{{{"", 1},
                                               {"Ki", 1LL << 10},
                                               {"Mi", 1LL << 20},
                                               {"Gi", 1LL << 30},
                                               {"Ti", 1LL << 40},
                                               {"K", 1000},
                                               {"M", 1'000'000},
                                               {"G", 1'000'000'000},
                                               {"T", 1'000'000'000'000}}};

std::string render_scaled(std::int64_t value, std::int64_t scale, int digits) {
    std::string text = value < 0 ? "-" : "";
    text += std::to_string((value < 0 ? -value : value) / scale);
    const std::int64_t fraction = (value < 0 ? -value : value) % scale;
    if (fraction == 0) return text;
    std::string tail = fmt::format("{:0{}}", fraction, digits);
    while (tail.ends_with('0')) tail.pop_back();
    return text + "." + tail;
}

}  // namespace

Result<std::int64_t> parse_milli(std::string_view text) {
    std::string_view rest;
    if (text.ends_with('m')) {
        TANDEM_LET(value, parse_decimal(text.substr(0, text.size() - 1), 1, rest));
        if (!rest.empty())
            return fail(ErrorCode::invalid, "must be a number such as 2, 0.5 or 500m");
        return value;
    }
    TANDEM_LET(value, parse_decimal(text, 1000, rest));
    if (!rest.empty())
        return fail(
            ErrorCode::invalid,
            fmt::format("must be a number such as 2, 0.5 or 500m, is \"{}\"", text.substr(0, 40)));
    return value;
}

Result<std::int64_t> parse_bytes(std::string_view text) {
    std::size_t suffix_at = text.size();
    while (suffix_at > 0 && (text[suffix_at - 1] < '0' || text[suffix_at - 1] > '9')) --suffix_at;
    const std::string_view name = text.substr(suffix_at);
    for (const Suffix& suffix : byte_suffixes) {
        if (suffix.name != name) continue;
        std::string_view rest;
        TANDEM_LET(value, parse_decimal(text.substr(0, suffix_at), suffix.scale, rest));
        if (rest.empty()) return value;
    }
    return fail(ErrorCode::invalid,
                fmt::format("must be bytes such as 512Mi or 4Gi, is \"{}\"", text.substr(0, 40)));
}

Result<std::int64_t> parse_micro(std::string_view text) {
    std::string_view rest;
    TANDEM_LET(value, parse_decimal(text, 1'000'000, rest));
    if (!rest.empty())
        return fail(ErrorCode::invalid,
                    fmt::format("must be an amount such as 1.25, is \"{}\"", text.substr(0, 40)));
    return value;
}

Result<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) return fail(ErrorCode::invalid, "is too large");
    if (error != std::errc{} || end != text.data() + text.size())
        return fail(ErrorCode::invalid,
                    fmt::format("must be a whole number, is \"{}\"", text.substr(0, 40)));
    return value;
}

std::string render_milli(std::int64_t milli) {
    return render_scaled(milli, 1000, 3);
}
std::string render_micro(std::int64_t micro) {
    return render_scaled(micro, 1'000'000, 6);
}

std::string render_bytes(std::int64_t bytes) {
    if (bytes == 0) return "0";
    for (const char* name : {"Ti", "Gi", "Mi", "Ki"})
        for (const Suffix& suffix : byte_suffixes)
            if (suffix.name == name && bytes >= suffix.scale && bytes % suffix.scale == 0)
                return std::to_string(bytes / suffix.scale) + name;
    return std::to_string(bytes);
}

Result<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) return fail(ErrorCode::invalid, "sum overflows");
    return sum;
}
Result<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product))
        return fail(ErrorCode::invalid, "product overflows");
    return product;
}

}  // namespace tandem

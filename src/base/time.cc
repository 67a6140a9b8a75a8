// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace tandem {
namespace {

struct Unit {
    std::string_view name;
    std::int64_t ms;
};
constexpr std::array<Unit, 5> units{
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

const Unit* find_unit(std::string_view name) {
    for (const Unit& unit : units)
        if (unit.name == name) return &unit;
    return nullptr;
}

std::unexpected<Error> bad_duration(std::string_view text) {
    return fail(ErrorCode::invalid,
                fmt::format("must be a duration such as 250ms, 30s, 5m or 1h30m, is \"{}\"",
                            text.substr(0, 40)));
}

// Days since 1970-01-01 of a proleptic Gregorian date, and back. Source: H. Hinnant,
// "chrono-Compatible Low-Level Date Algorithms", days_from_civil and civil_from_days.
std::int64_t days_of(std::int64_t year, unsigned month, unsigned day) {
    year -= month <= 2;
    const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
    const auto year_of_era = static_cast<unsigned>(year - era * 400);
    const unsigned day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    const unsigned day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + static_cast<std::int64_t>(day_of_era) - 719468;
}

struct Date {
    std::int64_t year;
    unsigned month, day;
};
Date date_of(std::int64_t days) {
    days += 719468;
    const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    const auto day_of_era = static_cast<unsigned>(days - era * 146097);
    const unsigned year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const unsigned day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const unsigned shifted = (5 * day_of_year + 2) / 153;
    const unsigned month = shifted < 10 ? shifted + 3 : shifted - 9;
    return {static_cast<std::int64_t>(year_of_era) + era * 400 + (month <= 2), month,
            day_of_year - (153 * shifted + 2) / 5 + 1};
}

bool read_digits(std::string_view text, std::size_t at, std::size_t count, int& value) {
    if (at + count > text.size()) return false;
    value = 0;
    for (std::size_t i = at; i < at + count; ++i) {
        if (text[i] < '0' || text[i] > '9') return false;
        value = value * 10 + (text[i] - '0');
    }
    return true;
}

void put_digits(std::string& text, std::size_t at, std::size_t count, std::int64_t value) {
    for (std::size_t i = at + count; i > at; value /= 10)
        text[--i] = static_cast<char>('0' + value % 10);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
    std::string_view rest = text;
    if (rest.empty()) return bad_duration(text);
    std::int64_t total = 0;
    while (!rest.empty()) {
        std::int64_t count = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
        if (error != std::errc{} || count < 0) return bad_duration(text);
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        std::size_t letters = 0;
        while (letters < rest.size() && rest[letters] >= 'a' && rest[letters] <= 'z') ++letters;
        const Unit* unit = find_unit(rest.substr(0, letters));
        if (!unit) return bad_duration(text);
        rest.remove_prefix(letters);
        std::int64_t part = 0;
        if (__builtin_mul_overflow(count, unit->ms, &part) ||
            __builtin_add_overflow(total, part, &total) || total > duration_max.ms)
            return fail(ErrorCode::invalid, "must be at most 100 years");
    }
    return Duration{total};
}

std::string render_duration(Duration duration) {
    if (duration.ms == 0) return "0s";
    std::string text;
    std::int64_t rest = duration.ms;
    if (rest < 0) {
        text = "-";
        rest = -rest;
    }
    for (const Unit& unit : units) {
        if (rest < unit.ms) continue;
        text += std::to_string(rest / unit.ms);
        text += unit.name;
        rest %= unit.ms;
    }
    return text;
}

std::string render_instant(Instant at) {
    const std::int64_t days = at.ms >= 0 ? at.ms / 86'400'000 : (at.ms - 86'399'999) / 86'400'000;
    const std::int64_t in_day = at.ms - days * 86'400'000;
    const Date date = date_of(days);
    if (date.year < 0 || date.year > 9999)
        return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", date.year, date.month,
                           date.day, in_day / 3'600'000, in_day / 60'000 % 60, in_day / 1000 % 60,
                           in_day % 1000);
    std::string text = "0000-00-00T00:00:00.000Z";  // by hand: every stored row has several
    put_digits(text, 0, 4, date.year);
    put_digits(text, 5, 2, date.month);
    put_digits(text, 8, 2, date.day);
    put_digits(text, 11, 2, in_day / 3'600'000);
    put_digits(text, 14, 2, in_day / 60'000 % 60);
    put_digits(text, 17, 2, in_day / 1000 % 60);
    put_digits(text, 20, 3, in_day % 1000);
    return text;
}

Result<Instant> parse_instant(std::string_view text) {
    const auto bad = [&] {
        return fail(ErrorCode::invalid,
                    fmt::format("must be a time such as 2026-11-30T14:28:59Z, is \"{}\"",
                                text.substr(0, 40)));
    };
    int year, month, day, hour, minute, second, fraction = 0;
    if (!read_digits(text, 0, 4, year) || !read_digits(text, 5, 2, month) ||
        !read_digits(text, 8, 2, day) || !read_digits(text, 11, 2, hour) ||
        !read_digits(text, 14, 2, minute) || !read_digits(text, 17, 2, second))
        return bad();
    const bool separators =
        text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' && text[16] == ':';
    const bool ranges = month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour < 24 &&
                        minute < 60 && second < 60;
    if (!separators || !ranges) return bad();
    std::string_view rest = text.substr(19);
    if (rest.starts_with('.')) {
        if (!read_digits(rest, 1, 3, fraction)) return bad();
        rest.remove_prefix(4);
    }
    if (rest != "Z") return bad();
    const std::int64_t days =
        days_of(year, static_cast<unsigned>(month), static_cast<unsigned>(day));
    return Instant{days * 86'400'000 + hour * 3'600'000LL + minute * 60'000LL + second * 1000LL +
                   fraction};
}

}  // namespace tandem

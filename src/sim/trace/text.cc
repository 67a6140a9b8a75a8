// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/text.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/wide.h"

namespace tandem::sim {
namespace {

constexpr std::string_view gzip_magic = "\x1f\x8b";
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::size_t name_shown = 60;

// zlib's stream with its end.
struct Inflater {
    z_stream stream{};
    bool ready = false;
    Inflater() { ready = inflateInit2(&stream, 15 + 16) == Z_OK; }
    ~Inflater() {
        if (ready) inflateEnd(&stream);
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
};

Result<std::string> unpack(const TraceText& trace, std::string& bytes) {
    Inflater inflater;
    if (!inflater.ready) return fail(ErrorCode::internal, "no memory to unpack gzip");
    z_stream& stream = inflater.stream;
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    std::string out;
    std::array<char, 1 << 16> chunk{};
    while (true) {
        stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
        stream.avail_out = static_cast<uInt>(chunk.size());
        const int code = inflate(&stream, Z_NO_FLUSH);
        out.append(chunk.data(), chunk.size() - stream.avail_out);
        if (out.size() > trace_text_max)
            return trace_error(trace, 0, {}, "is larger than 1 GiB when unpacked");
        if (code == Z_STREAM_END) {
            if (stream.avail_in == 0) return out;
            if (inflateReset(&stream) != Z_OK) return trace_error(trace, 0, {}, "is no whole gzip");
            continue;
        }
        const bool starved = code == Z_BUF_ERROR || (code == Z_OK && stream.avail_in == 0 &&
                                                     stream.avail_out != 0);
        if (starved) return trace_error(trace, 0, {}, "ends in the middle of its gzip data");
        if (code != Z_OK) return trace_error(trace, 0, {}, "has broken gzip data");
    }
}

std::string_view without_blanks(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::unexpected<Error> not_a_number(std::string_view text) {
    return fail(ErrorCode::invalid,
                fmt::format("must be a number, is \"{}\"", text.substr(0, name_shown)));
}

// sign, digits, point and exponent of a decimal number; digits beyond what fits are an error.
struct Decimal {
    bool negative = false;
    Wide mantissa = 0;
    std::int64_t exponent = 0;  // of ten
    bool dropped = false;       // digits were left out beyond what the mantissa keeps
};

constexpr Wide mantissa_max = Wide{1} << 100;

bool read_digits(std::string_view text, std::size_t& at, Decimal& out, bool after_point) {
    const std::size_t begin = at;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
        if (out.mantissa < mantissa_max) {
            out.mantissa = out.mantissa * 10 + (text[at] - '0');
            out.exponent -= after_point ? 1 : 0;
        } else {
            out.exponent += after_point ? 0 : 1;
        }
    }
    return at > begin;
}

bool read_exponent(std::string_view text, std::size_t& at, Decimal& out) {
    ++at;
    const bool down = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::size_t begin = at;
    std::int64_t value = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
        value = std::min<std::int64_t>(value * 10 + (text[at] - '0'), 1000);
    out.exponent += down ? -value : value;
    return at > begin;
}

bool read_decimal(std::string_view text, Decimal& out) {
    std::size_t at = 0;
    out.negative = text.starts_with('-');
    if (text.starts_with('-') || text.starts_with('+')) ++at;
    bool digits = read_digits(text, at, out, false);
    if (at < text.size() && text[at] == '.') {
        ++at;
        digits = read_digits(text, at, out, true) || digits;
    }
    if (!digits) return false;
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        if (!read_exponent(text, at, out)) return false;
    }
    return at == text.size();
}

}  // namespace

Result<TraceText> open_trace(std::string name, std::string bytes) {
    TraceText trace{.name = name == "-" ? "standard input" : std::move(name)};
    if (bytes.size() > trace_text_max) return trace_error(trace, 0, {}, "is larger than 1 GiB");
    if (bytes.starts_with(gzip_magic)) {
        TANDEM_LET(text, unpack(trace, bytes));
        trace.text = std::move(text);
    } else {
        trace.text = std::move(bytes);
    }
    if (trace.text.starts_with(byte_order_mark)) trace.text.erase(0, byte_order_mark.size());
    return trace;
}

std::unexpected<Error> trace_error(const TraceText& trace, std::int64_t line,
                                   std::string_view column, std::string_view message) {
    std::string where = trace.name;
    if (line > 0) where += fmt::format(":{}", line);
    where += ": ";
    if (!column.empty()) where += fmt::format("column {}: ", column);
    return fail(ErrorCode::invalid, where + std::string(message), std::string(column));
}

bool TraceLines::next(std::string_view& line) {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    number_ += 1;
    return true;
}

Result<std::int64_t> parse_decimal(std::string_view text, int digits) {
    const std::string_view number = without_blanks(text);
    Decimal decimal;
    if (!read_decimal(number, decimal)) return not_a_number(number);
    constexpr Wide top = Wide{1} << 62;
    std::int64_t power = decimal.exponent + digits;
    Wide value = decimal.mantissa;
    for (; power > 0 && value != 0 && value < top; --power) value *= 10;
    for (; power < -1 && value != 0; ++power) value /= 10;
    if (power == -1) value = (value + 5) / 10;
    if (value >= top) return fail(ErrorCode::invalid, fmt::format("is too large: \"{}\"", number));
    return static_cast<std::int64_t>(decimal.negative ? -value : value);
}

}  // namespace tandem::sim

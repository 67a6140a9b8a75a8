// SPDX-License-Identifier: Apache-2.0
#include "traffic/json_scanner.h"

#include <algorithm>
#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tandem::traffic {
namespace {

bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// Bytes of a string that need no thought: ASCII without quote, backslash and control.
constexpr std::array<bool, 256> make_plain_table() {
    std::array<bool, 256> table{};
    for (std::size_t c = 0x20; c < 0x80; ++c) table[c] = c != '"' && c != '\\';
    return table;
}
constexpr auto plain = make_plain_table();

// How many of the bytes at the start are plain.
std::size_t plain_run(std::string_view text) {
    std::size_t n = 0;
#if defined(__SSE2__)
    // Sixteen at once. Signed: bytes of 0x80 and above are less than a blank, too.
    const auto blank = _mm_set1_epi8(0x20);
    const auto quote = _mm_set1_epi8('"');
    const auto slash = _mm_set1_epi8('\\');
    for (; n + 16 <= text.size(); n += 16) {
        const auto bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + n));
        const auto found =
            _mm_or_si128(_mm_cmplt_epi8(bytes, blank),
                         _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)));
        if (const auto mask = static_cast<unsigned>(_mm_movemask_epi8(found)))
            return n + static_cast<std::size_t>(std::countr_zero(mask));
    }
#endif
    while (n < text.size() && plain[static_cast<std::uint8_t>(text[n])]) ++n;
    return n;
}

// Number grammar as a table of moves: 0 start, 1 '-', 2 zero, 3 digits, 4 '.', 5 fraction, 6 e, 7
// sign, 8 exponent.
int next_number_state(int state, char c) {
    const bool digit = c >= '0' && c <= '9';
    switch (state) {
        case 0:
            if (c == '-') return 1;
            [[fallthrough]];
        case 1:
            if (c == '0') return 2;
            return digit ? 3 : -1;
        case 2:
            if (c == '.') return 4;
            return c == 'e' || c == 'E' ? 6 : -1;
        case 3:
            if (digit) return 3;
            if (c == '.') return 4;
            return c == 'e' || c == 'E' ? 6 : -1;
        case 4:
            return digit ? 5 : -1;
        case 5:
            if (digit) return 5;
            return c == 'e' || c == 'E' ? 6 : -1;
        case 6:
            if (c == '+' || c == '-') return 7;
            [[fallthrough]];
        case 7:
        case 8:
            return digit ? 8 : -1;
        default:
            return -1;
    }
}

bool number_may_end(int state) {
    return state == 2 || state == 3 || state == 5 || state == 8;
}

}  // namespace

bool JsonScanner::fail(std::string_view what) {
    if (error_.empty()) error_ = what;
    return false;
}

void JsonScanner::put(char c) {
    if (!capturing()) return;
    if (text_.size() < text_max)
        text_.push_back(c);
    else
        cut_ = true;
}

bool JsonScanner::tell(JsonKind kind, int depth, std::size_t begin, std::size_t end) {
    if (depth > interest_) return true;
    const auto wrong = visitor_->on_json(
        {.kind = kind, .depth = depth, .begin = begin, .end = end, .text = text_, .cut = cut_});
    return wrong.empty() || fail(wrong);
}

bool JsonScanner::feed(std::string_view piece) {
    if (!error_.empty()) return false;
    std::size_t i = 0;
    while (i < piece.size()) {
        if (state_ == State::string && utf8_left_ == 0) {
            const auto run = string_run(piece.substr(i));
            i += run;
            offset_ += run;
            if (i == piece.size()) break;
        }
        if (!take(piece[i])) return false;
        ++i;
        ++offset_;
    }
    return true;
}

// Length of the plain text at the start of `rest`.
std::size_t JsonScanner::string_run(std::string_view rest) {
    const std::size_t n = plain_run(rest);
    if (n && high_surrogate_) {
        high_surrogate_ = 0;
        put('?');
    }
    if (capturing()) {
        const auto room = text_max - std::min(text_max, text_.size());
        text_.append(rest.substr(0, std::min(n, room)));
        if (n > room) cut_ = true;
    }
    return n;
}

bool JsonScanner::finish() {
    if (!error_.empty()) return false;
    if (state_ == State::number && depth_ == 0) {
        if (!number_may_end(number_state_)) return fail("incomplete number");
        if (!end_scalar(JsonKind::number, offset_)) return false;
    }
    return state_ == State::done || fail("the JSON text ends too early");
}

bool JsonScanner::take(char c) {
    switch (state_) {
        case State::string:
            return take_string(c);
        case State::escape:
            return take_escape(c);
        case State::unicode:
            return take_unicode(c);
        case State::number:
            return take_number(c);
        case State::literal:
            return take_literal(c);
        default:
            break;
    }
    if (is_space(c)) return true;
    switch (state_) {
        case State::value:
            return begin_value(c);
        case State::value_or_end:
            return c == ']' ? close(c) : begin_value(c);
        case State::key_or_end:
            if (c == '}') return close(c);
            [[fallthrough]];
        case State::key:
            if (c != '"') return fail("a member name in quotes was expected");
            is_key_ = true;
            return begin_value(c);
        case State::colon:
            if (c != ':') return fail("a colon was expected");
            state_ = State::value;
            return true;
        case State::after_value:
            if (c == ',') {
                state_ = in_object() ? State::key : State::value;
                return true;
            }
            return close(c);
        default:
            return fail("text after the end of the JSON value");
    }
}

bool JsonScanner::begin_value(char c) {
    token_begin_ = offset_;
    text_.clear();
    cut_ = false;
    switch (c) {
        case '{':
        case '[':
            return open(c);
        case '"':
            state_ = State::string;
            high_surrogate_ = 0;
            return true;
        case 't':
            literal_ = "true";
            break;
        case 'f':
            literal_ = "false";
            break;
        case 'n':
            literal_ = "null";
            break;
        default:
            state_ = State::number;
            number_state_ = 0;
            return take_number(c);
    }
    state_ = State::literal;
    literal_at_ = 1;
    return true;
}

bool JsonScanner::open(char bracket) {
    const bool object = bracket == '{';
    if (!tell(object ? JsonKind::object_begin : JsonKind::array_begin, depth_, offset_,
              offset_ + 1))
        return false;
    if (depth_ == json_depth_max) return fail("nested deeper than 64 levels");
    const auto bit = std::uint64_t{1} << depth_;
    kinds_ = object ? kinds_ | bit : kinds_ & ~bit;
    ++depth_;
    state_ = object ? State::key_or_end : State::value_or_end;
    return true;
}

bool JsonScanner::close(char bracket) {
    if (depth_ == 0 || bracket != (in_object() ? '}' : ']'))
        return fail("a comma or a closing bracket was expected");
    const bool object = in_object();
    --depth_;
    state_ = depth_ == 0 ? State::done : State::after_value;
    text_.clear();
    return tell(object ? JsonKind::object_end : JsonKind::array_end, depth_, offset_, offset_ + 1);
}

bool JsonScanner::end_scalar(JsonKind kind, std::size_t end) {
    state_ = depth_ == 0 ? State::done : State::after_value;
    return tell(kind, depth_, token_begin_, end);
}

bool JsonScanner::take_string(char c) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (utf8_left_ || byte >= 0x80) return take_utf8(byte);
    if (c == '"') return end_string();
    if (c == '\\') {
        state_ = State::escape;
        return true;
    }
    if (byte < 0x20) return fail("control character in a string");
    put(c);
    return true;
}

bool JsonScanner::end_string() {
    if (high_surrogate_) put('?');
    high_surrogate_ = 0;
    if (!is_key_) return end_scalar(JsonKind::string, offset_ + 1);
    is_key_ = false;
    state_ = State::colon;
    return tell(JsonKind::key, depth_, token_begin_, offset_ + 1);
}

// RFC 3629: lead byte decides how many follow and, for the edge ranges, what the second may be.
bool JsonScanner::take_utf8(std::uint8_t byte) {
    if (utf8_left_ == 0) {
        utf8_low_ = 0x80;
        utf8_high_ = 0xbf;
        if (byte >= 0xc2 && byte <= 0xdf)
            utf8_left_ = 1;
        else if (byte >= 0xe0 && byte <= 0xef)
            utf8_left_ = 2;
        else if (byte >= 0xf0 && byte <= 0xf4)
            utf8_left_ = 3;
        else
            return fail("invalid UTF-8");
        if (byte == 0xe0) utf8_low_ = 0xa0;
        if (byte == 0xed) utf8_high_ = 0x9f;
        if (byte == 0xf0) utf8_low_ = 0x90;
        if (byte == 0xf4) utf8_high_ = 0x8f;
    } else {
        if (byte < utf8_low_ || byte > utf8_high_) return fail("invalid UTF-8");
        utf8_low_ = 0x80;
        utf8_high_ = 0xbf;
        --utf8_left_;
    }
    put(static_cast<char>(byte));
    return true;
}

bool JsonScanner::take_escape(char c) {
    state_ = State::string;
    switch (c) {
        case '"':
        case '\\':
        case '/':
            put(c);
            return true;
        case 'b':
            put('\b');
            return true;
        case 'f':
            put('\f');
            return true;
        case 'n':
            put('\n');
            return true;
        case 'r':
            put('\r');
            return true;
        case 't':
            put('\t');
            return true;
        case 'u':
            state_ = State::unicode;
            hex_left_ = 4;
            code_ = 0;
            return true;
        default:
            return fail("unknown escape in a string");
    }
}

bool JsonScanner::take_unicode(char c) {
    const int digit = hex_value(c);
    if (digit < 0) return fail("\\u needs four hex digits");
    code_ = code_ * 16 + static_cast<std::uint32_t>(digit);
    if (--hex_left_) return true;
    state_ = State::string;
    if (code_ >= 0xd800 && code_ <= 0xdbff) {
        high_surrogate_ = code_;
    } else if (code_ >= 0xdc00 && code_ <= 0xdfff && high_surrogate_) {
        put_code_point(0x10000 + ((high_surrogate_ - 0xd800) << 10) + (code_ - 0xdc00));
        high_surrogate_ = 0;
    } else {
        put_code_point(code_);
    }
    return true;
}

void JsonScanner::put_code_point(std::uint32_t code) {
    const auto tail = [&](int shift) { put(static_cast<char>(0x80 | ((code >> shift) & 0x3f))); };
    if (code < 0x80) {
        put(static_cast<char>(code));
    } else if (code < 0x800) {
        put(static_cast<char>(0xc0 | (code >> 6)));
        tail(0);
    } else if (code < 0x10000) {
        put(static_cast<char>(0xe0 | (code >> 12)));
        tail(6);
        tail(0);
    } else {
        put(static_cast<char>(0xf0 | (code >> 18)));
        tail(12);
        tail(6);
        tail(0);
    }
}

bool JsonScanner::take_number(char c) {
    const int next = next_number_state(number_state_, c);
    if (next >= 0) {
        number_state_ = static_cast<std::uint8_t>(next);
        put(c);
        return true;
    }
    if (!number_may_end(number_state_)) return fail("a value was expected");
    if (!end_scalar(JsonKind::number, offset_)) return false;
    return take(c);
}

bool JsonScanner::take_literal(char c) {
    if (c != literal_[literal_at_]) return fail("a value was expected");
    if (++literal_at_ < literal_.size()) return true;
    const auto kind = literal_[0] == 't'   ? JsonKind::true_value
                      : literal_[0] == 'f' ? JsonKind::false_value
                                           : JsonKind::null_value;
    return end_scalar(kind, offset_ + 1);
}

}  // namespace tandem::traffic

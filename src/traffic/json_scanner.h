// SPDX-License-Identifier: Apache-2.0
// JsonScanner: walks JSON text (RFC 8259) that arrives in pieces and tells a visitor what stands where, by offsets
// from the first byte; builds nothing. Used for request bodies, answers and stream events on the data path,
// where bytes must pass unchanged but for spliced places.
//
// Strict: whole grammar, valid UTF-8, no control bytes in strings, at most 64 levels. Events are told down to
// `interest` levels only (1: the members of the outermost object); deeper text is checked, not told.
// Text of keys and scalars is handed over decoded, at most `text_max` bytes of it (then `cut` is set).
// Error: static text; the scanner is then spent. Thread rule: one owner. PURE.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::traffic {

inline constexpr int json_depth_max = 64;

enum class JsonKind : std::uint8_t {
    key, string, number, true_value, false_value, null_value, object_begin, object_end, array_begin, array_end,
};

struct JsonEvent {
    JsonKind kind = JsonKind::null_value;
    int depth = 0;              // of what it is part of: members of the outermost object have 1
    std::size_t begin = 0;      // of the token, quotes included
    std::size_t end = 0;
    std::string_view text{};    // decoded; keys, strings, numbers
    bool cut = false;
};

class JsonVisitor {
  public:
    // Empty: go on. Otherwise what is wrong; it ends the scan. Views die with the call.
    virtual std::string_view on_json(const JsonEvent& event) = 0;

  protected:
    ~JsonVisitor() = default;
};

class JsonScanner {
  public:
    JsonScanner(JsonVisitor& visitor, int interest) : visitor_(&visitor), interest_(interest) {}

    bool feed(std::string_view piece);  // false: see error()
    bool finish();                      // the text ends here; false when it is not one whole value
    std::string_view error() const { return error_; }
    std::size_t offset() const { return offset_; }  // bytes taken, or where the error was met

    static constexpr std::size_t text_max = 512;

  private:
    enum class State : std::uint8_t { value, value_or_end, key, key_or_end, colon, after_value, string, escape,
                                      unicode, number, literal, done };

    bool fail(std::string_view what);
    bool take(char c);
    bool begin_value(char c);
    bool open(char bracket);
    bool close(char bracket);
    bool end_scalar(JsonKind kind, std::size_t end);
    bool tell(JsonKind kind, int depth, std::size_t begin, std::size_t end);
    std::size_t string_run(std::string_view rest);
    bool take_string(char c);
    bool take_utf8(std::uint8_t byte);
    bool end_string();
    bool take_escape(char c);
    bool take_unicode(char c);
    void put_code_point(std::uint32_t code);
    bool take_number(char c);
    bool take_literal(char c);
    void put(char c);
    bool capturing() const { return depth_ <= interest_; }
    bool in_object() const { return depth_ > 0 && (kinds_ >> (depth_ - 1) & 1U) != 0; }

    JsonVisitor* visitor_;
    int interest_;
    State state_ = State::value;
    bool is_key_ = false;
    bool cut_ = false;
    int depth_ = 0;
    std::uint64_t kinds_ = 0;            // bit per level: 1 object
    std::size_t offset_ = 0;
    std::size_t token_begin_ = 0;
    std::string text_;
    std::string_view error_;
    std::string_view literal_;
    std::size_t literal_at_ = 0;
    std::uint8_t utf8_left_ = 0;
    std::uint8_t utf8_low_ = 0x80;       // bounds of the next continuation byte
    std::uint8_t utf8_high_ = 0xbf;
    std::uint8_t hex_left_ = 0;
    std::uint32_t code_ = 0;
    std::uint32_t high_surrogate_ = 0;
    std::uint8_t number_state_ = 0;
};

}  // namespace tandem::traffic

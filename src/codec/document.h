// SPDX-License-Identifier: Apache-2.0
// Documents: JSON and YAML text to one tree of values and back. Used by the API, the CLI and the
// store; what the values mean is codec/manifest.h's and codec/record.h's.
//
// Numbers keep their text, so nothing is rounded. Unquoted YAML scalars stay `scalar`: the field
// they land in decides what they are (0.5 is an exact decimal, yes is a word). Limits: 8 MiB of
// text, depth 64, 100,000 values and keys together, also after YAML aliases have been expanded.
// Strict UTF-8, no key twice. Errors: invalid ("line 3, column 7: ...") or too_large. Thread rule:
// values; functions from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tandem::codec {

inline constexpr std::size_t document_bytes_max = 8 * 1024 * 1024;
inline constexpr std::size_t document_depth_max = 64;
inline constexpr std::size_t document_values_max = 100'000;

enum class ValueType : std::uint8_t { null, boolean, number, text, scalar, array, object };

struct Value {
    ValueType type = ValueType::null;
    bool boolean = false;
    std::string text{};                // number (as written), text and scalar
    std::vector<std::string> names{};  // object: the name of each item, in the order of the text
    std::vector<Value> items{};        // array and object

    const Value* find(std::string_view name) const;  // of an object; null when absent
    // The text of a text, scalar or number; empty for anything else.
    std::string_view text_or_empty() const;
    void add(std::string name, Value value);  // to an object
    bool operator==(const Value&) const = default;
};

Value make_text(std::string text);
Value make_object();

// "a number", "a list": what a value is, for error messages.
std::string_view describe_type(const Value& value);

Result<Value> parse_json(std::string_view text);
// Every document of a stream ("---" between them); empty documents are left out.
Result<std::vector<Value>> parse_yaml(std::string_view text);

std::string render_json(const Value& value);         // one line
std::string render_json_pretty(const Value& value);  // two spaces a level, a line feed at the end
std::string render_yaml(const Value& value);         // block style, a line feed at the end

// Length of the well-formed UTF-8 sequence at `at` (RFC 3629), or 0.
std::size_t utf8_length(std::string_view text, std::size_t at);
// Offset of the first byte that breaks UTF-8; npos when there is none.
std::size_t find_broken_utf8(std::string_view text);

}  // namespace tandem::codec

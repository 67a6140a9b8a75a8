// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <boost/json/basic_parser_impl.hpp>

#include "codec/tree_builder.h"

namespace tandem::codec {
namespace {

using Code = boost::json::error_code;
using Piece = boost::json::string_view;

// Boost.JSON's handler: its on_* names and limits are the library's.
struct Handler {
    static constexpr std::size_t max_object_size = document_values_max;
    static constexpr std::size_t max_array_size = document_values_max;
    static constexpr std::size_t max_key_size = document_bytes_max;
    static constexpr std::size_t max_string_size = document_bytes_max;

    TreeBuilder builder{};
    std::string pending{};

    bool going(Code& code) {
        if (!builder.error()) return true;
        code = boost::json::error::syntax;
        return false;
    }
    void keep(Piece piece) { pending.append(piece.data(), piece.size()); }
    bool number(Piece piece, Code& code) {
        keep(piece);
        builder.leaf({.type = ValueType::number, .text = std::exchange(pending, {})});
        return going(code);
    }

    bool on_document_begin(Code&) { return true; }
    bool on_document_end(Code&) { return true; }
    bool on_object_begin(Code& code) { return builder.begin(ValueType::object), going(code); }
    bool on_object_end(std::size_t, Code& code) { return builder.end(), going(code); }
    bool on_array_begin(Code& code) { return builder.begin(ValueType::array), going(code); }
    bool on_array_end(std::size_t, Code& code) { return builder.end(), going(code); }
    bool on_key_part(Piece piece, std::size_t, Code&) { return keep(piece), true; }
    bool on_key(Piece piece, std::size_t, Code& code) {
        keep(piece);
        builder.key(std::exchange(pending, {}));
        return going(code);
    }
    bool on_string_part(Piece piece, std::size_t, Code&) { return keep(piece), true; }
    bool on_string(Piece piece, std::size_t, Code& code) {
        keep(piece);
        builder.leaf({.type = ValueType::text, .text = std::exchange(pending, {})});
        return going(code);
    }
    bool on_number_part(Piece piece, Code&) { return keep(piece), true; }
    bool on_int64(std::int64_t, Piece piece, Code& code) { return number(piece, code); }
    bool on_uint64(std::uint64_t, Piece piece, Code& code) { return number(piece, code); }
    bool on_double(double, Piece piece, Code& code) { return number(piece, code); }
    bool on_bool(bool value, Code& code) {
        builder.leaf({.type = ValueType::boolean, .boolean = value});
        return going(code);
    }
    bool on_null(Code& code) { return builder.leaf({}), going(code); }
    bool on_comment_part(Piece, Code&) { return true; }
    bool on_comment(Piece, Code&) { return true; }
};

}  // namespace

Result<Value> parse_json(std::string_view text) {
    TANDEM_TRY(check_document_text(text));
    boost::json::parse_options options;
    options.max_depth = document_depth_max;
    boost::json::basic_parser<Handler> parser(options);
    Code code;
    const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
    Handler& handler = parser.handler();
    if (handler.builder.error())
        return fail(handler.builder.error()->code,
                    fmt::format("{}: {}", place_of(text, used), handler.builder.error()->message));
    if (code == boost::json::error::too_deep)
        return fail(ErrorCode::invalid, "the document is nested deeper than 64 levels");
    if (code)
        return fail(ErrorCode::invalid,
                    fmt::format("{}: not JSON: {}", place_of(text, used), code.message()));
    if (const auto rest = text.find_first_not_of(" \t\r\n", used); rest != text.npos)
        return fail(ErrorCode::invalid,
                    fmt::format("{}: not JSON: text after the value", place_of(text, rest)));
    return handler.builder.take_root();
}

}  // namespace tandem::codec

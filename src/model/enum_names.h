// SPDX-License-Identifier: Apache-2.0
// Text of enumerators: each enum that is stored or seen on the wire specialises EnumNames beside its
// declaration, in order, and gets name_of() and parse_enum() from it. One word everywhere.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::model {

template <class E>
struct EnumNames;  // static constexpr std::string_view values[]

template <class E>
constexpr std::string_view name_of(E value) {
    return EnumNames<E>::values[static_cast<std::size_t>(value)];
}

template <class E>
constexpr std::optional<E> parse_enum(std::string_view text) {
    std::size_t index = 0;
    for (std::string_view name : EnumNames<E>::values) {
        if (name == text) return static_cast<E>(index);
        ++index;
    }
    return std::nullopt;
}

// "pending, claimed or running": for error messages.
template <class E>
std::string list_names() {
    std::string text;
    for (std::string_view name : EnumNames<E>::values) {
        if (!text.empty()) text += ", ";
        text += name;
    }
    return text;
}

}  // namespace tandem::model

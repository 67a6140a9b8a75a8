// SPDX-License-Identifier: Apache-2.0
// One description per struct drives reading, writing and the schema. A description is an overload
//   void describe(auto& v, Of<model::JobSpec> auto& s)
// in codec/describe_*.h that shows every member to a visitor, in canonical order:
//   v.named(type)                  name of the struct in the API's reference; first
//   v.field(name, member, hint)    truth, whole number, text, enum, time, list, map, optional,
//   struct, variant v.milli(name, member, hint)    int64 milli-units, decimal text on the wire:
//   "0.5" v.bytes(name, member, hint)    int64 bytes, text on the wire: "4Gi" v.quota(name, member,
//   hint)    like milli; -1 is the word "unlimited" v.server_set(name, member, hint)  like field,
//   but what people send is ignored v.internal(name, member)       kept in records, never shown
// Members that are empty (text, list, map, optional, zero id or time, reason "none") are not
// written; what is absent keeps the struct's default. `keep` writes also an empty text, for members
// whose default is another. Visitors: FieldWriter (field_writer.h), FieldReader (field_reader.h),
// the schema's in openapi.cc.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/rare.h"

namespace tandem::codec {

inline constexpr std::string_view api_version = "tandem/v1";

struct Hint {
    std::string_view note{};  // one line for the reference
    std::int64_t min = std::numeric_limits<std::int64_t>::min();
    std::int64_t max = std::numeric_limits<std::int64_t>::max();
    bool required = false;  // for the reference; model::check_object judges
    bool keep = false;
};

template <class S, class T>
concept Of = std::same_as<std::remove_const_t<S>, T>;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_optional<Rare<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;

}  // namespace tandem::codec

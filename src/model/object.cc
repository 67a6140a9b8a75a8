// SPDX-License-Identifier: Apache-2.0
#include "model/object.h"

#include <array>

namespace tandem::model {
namespace {

template <std::size_t... I>
Object make_at(std::size_t index, std::index_sequence<I...>) {
    using Maker = Object (*)();
    static constexpr std::array<Maker, sizeof...(I)> makers{
        +[]() -> Object { return Object{std::in_place_index<I>}; }...};
    return makers[index]();
}

}  // namespace

ObjectKey key_of(const Object& object) {
    const Meta& meta = meta_of(object);
    return {kind_of(object), meta.project, meta.name_space, meta.name};
}

Object make_object(Kind kind) {
    return make_at(static_cast<std::size_t>(kind), std::make_index_sequence<kind_count>{});
}

}  // namespace tandem::model

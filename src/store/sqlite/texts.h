// SPDX-License-Identifier: Apache-2.0
// Texts of objects. The body of each change stands in its row of table `changes`, and nowhere else: the object's own
// row leads there by its version. A row of changes therefore stays as long as somebody may ask for it:
//   an object, whose last change it is;
//   a watcher: changes above meta.changes_floor are kept whole;
//   a kept replay segment: the row was an object's last change when the segment opened.
// When the floor passes a change, the row that it superseded goes, unless a segment opened between the two; such rows
// go with their segment. Called inside a transaction of the writer's connection. Thread rule: the writer's thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/sqlite/connection.h"

namespace tandem::store::sqlite {

struct PlacedText {
    std::int64_t place = 0;    // of the object; kind_numbers.h
    std::int64_t version = 0;  // of its last change
};

// A list in order of places as one value: differences of places and versions, seven bits a byte.
std::string pack_places(const std::vector<PlacedText>& list);
Result<std::vector<PlacedText>> unpack_places(std::string_view packed);

// The floor rises to `floor`, which the caller writes: what the changes up to it superseded goes.
Status drop_superseded(Connection& connection, std::int64_t floor);
// Places and versions of all objects, into rows of this segment.
Status write_places(Connection& connection, std::int64_t segment);
// Before segments up to `last` are dropped: rows that only they needed go.
Status drop_texts_of_segments(Connection& connection, std::int64_t last);

}  // namespace tandem::store::sqlite

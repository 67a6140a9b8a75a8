// SPDX-License-Identifier: Apache-2.0
// Schema: numbered migrations from nothing to now. Each is all or nothing, together with its row in
// schema_version; a store that a newer program has migrated is refused. A migration that has been released is
// never edited: the next one changes what it made.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "store/sqlite/connection.h"

namespace tandem::store::sqlite {

struct Migration {
    std::int64_t number;
    std::string_view name;
    const char* sql;
};
std::span<const Migration> migrations();  // numbers 1, 2, ... without gap

inline constexpr std::int64_t application_id = 0x54414e44;  // "TAND", in the file's header

// Brings the file to the newest schema. Error conflict when it is newer than `known`, invalid when it is the
// database of another program.
Status migrate(Connection& connection, std::span<const Migration> known = migrations());
// The newest migration that was applied; 0 for an empty file.
Result<std::int64_t> schema_version_of(Connection& connection);
// Every table and index is the very one that the migrations make: nothing was added, dropped or altered.
Status check_schema(Connection& connection);

}  // namespace tandem::store::sqlite

// SPDX-License-Identifier: Apache-2.0
// Usage rows as columns and back. Tables usage and open_intervals have the same ones.
#pragma once

#include <string_view>

#include "model/usage.h"
#include "store/sqlite/connection.h"

namespace tandem::store::sqlite {

inline constexpr std::string_view insert_usage =
    "INSERT INTO usage VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)";
inline constexpr std::string_view put_open_interval =
    "INSERT OR REPLACE INTO open_intervals VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)";
inline constexpr std::string_view insert_request =
    "INSERT INTO request_usage VALUES(NULL,?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22)";

Status write_usage(Statement& statement, const model::UsageRecord& row);
Status write_request(Statement& statement, const model::RequestUsage& row);
// Of SELECT *.
Result<model::UsageRecord> read_usage(const Statement& row);
model::RequestUsage read_request(const Statement& row);

// 12 bytes; a zero uid is NULL where a column may be.
std::string_view bytes_of(const Uid& uid);
Uid read_uid(std::string_view bytes);

}  // namespace tandem::store::sqlite

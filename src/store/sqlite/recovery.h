// SPDX-License-Identifier: Apache-2.0
// Reads the rows that a start needs, and opens replay segments. Called inside one transaction of the writer's
// connection. Errors name the row that can't be read. Thread rule: the writer's thread.
#pragma once

#include <string_view>

#include "core/ports.h"
#include "store/sqlite/kind_numbers.h"

namespace tandem::store::sqlite {

Result<model::CoreMeta> read_meta(Connection& connection);
// Objects are made of their texts on so many threads, the caller's among them.
Result<core::RecoveredState> read_state(Connection& connection, unsigned threads);

// Opens segment meta.segment with the state rows of this moment; `live` may be null.
Status write_segment(Connection& connection, const model::CoreMeta& meta, std::string_view core_version,
                     const model::LiveMemory* live);
// Nothing more comes to this segment: its log counts with its rows from now on.
Status close_segment(Connection& connection, std::int64_t number);
// Drops the oldest segments, with their log, while those before the newest hold more than bytes_max.
Status forget_segments(Connection& connection, std::int64_t bytes_max);

}  // namespace tandem::store::sqlite

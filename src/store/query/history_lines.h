// SPDX-License-Identifier: Apache-2.0
// Lines of an exported history, NDJSON, the same from every store. For each kept segment, in this order:
//   {"segment":{"number":3,"coreVersion":"0.1.0","changesKeptAfter":120,"meta":{...}}}
//   its state rows: {"object":{...},"id":7,"internal":"..."}  {"intent":{...}}  {"interval":{...}}
//                   {"cursor":{...}}  {"idempotency":{...}}
//                   {"live":{...}}: opened in the middle of a life; what core knew without rows (model/live_memory.h)
//   then each batch: {"batch":{"sequence":41,"now":"...","seed":"<hex>","digest":"<16 hex>","inputs":[...]}}
//   followed by what it changed: {"change":{"version":121,"type":"modified","now":"...","object":{...}}}
// Objects are as the API shows them. Changes up to changesKeptAfter are no longer kept, or came before the segment.
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/ports.h"

namespace tandem::store {

struct SegmentLine {
    std::int64_t number = 0;
    std::string_view core_version{};
    std::int64_t changes_kept_after = 0;
    std::string_view meta{};  // JSON
};
struct BatchLine {
    std::int64_t sequence = 0;
    Instant now{};
    std::string_view seed{};  // 32 bytes
    std::uint64_t digest = 0;
    std::string_view inputs{};  // one JSON value a line
};

std::string render_segment_line(const SegmentLine& segment);
std::string render_object_line(RowId id, std::string_view object, std::string_view internal);
std::string render_row_line(std::string_view type, std::string_view body);
std::string render_batch_line(const BatchLine& batch);
std::string render_change_line(std::int64_t version, std::string_view type, Instant now, std::string_view object);

}  // namespace tandem::store

// SPDX-License-Identifier: Apache-2.0
#include "store/query/history_lines.h"

#include <algorithm>
#include <array>

#include "base/hex.h"
#include "codec/json_writer.h"

namespace tandem::store {
namespace {

// {"<type>":{ ... }}
template <class Body>
std::string wrapped(std::string_view type, Body body) {
    std::string line;
    codec::JsonWriter json(line);
    json.begin_object();
    json.key(type);
    json.begin_object();
    body(json);
    json.end_object();
    json.end_object();
    return line;
}

void add(codec::JsonWriter& json, std::string_view name, std::int64_t number) {
    json.key(name);
    json.number(number);
}
void add(codec::JsonWriter& json, std::string_view name, std::string_view text) {
    json.key(name);
    json.text(text);
}
void add_raw(codec::JsonWriter& json, std::string_view name, std::string_view value) {
    json.key(name);
    json.raw(value);
}

std::string hex_of(std::string_view bytes) {
    return render_hex(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}
std::string hex_of(std::uint64_t number) {
    std::array<std::uint8_t, 8> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(number >> (56 - 8 * i));
    return render_hex(bytes);
}

}  // namespace

std::string render_segment_line(const SegmentLine& segment) {
    return wrapped("segment", [&](codec::JsonWriter& json) {
        add(json, "number", segment.number);
        add(json, "coreVersion", segment.core_version);
        add(json, "changesKeptAfter", segment.changes_kept_after);
        add_raw(json, "meta", segment.meta);
    });
}

std::string render_object_line(RowId id, std::string_view object, std::string_view internal) {
    std::string line;
    codec::JsonWriter json(line);
    json.begin_object();
    add_raw(json, "object", object);
    add(json, "id", id.value);
    if (!internal.empty()) add(json, "internal", internal);
    json.end_object();
    return line;
}

std::string render_row_line(std::string_view type, std::string_view body) {
    std::string line;
    codec::JsonWriter json(line);
    json.begin_object();
    add_raw(json, type, body);
    json.end_object();
    return line;
}

std::string render_batch_line(const BatchLine& batch) {
    return wrapped("batch", [&](codec::JsonWriter& json) {
        add(json, "sequence", batch.sequence);
        add(json, "now", render_instant(batch.now));
        add(json, "seed", hex_of(batch.seed));
        add(json, "digest", hex_of(batch.digest));
        json.key("inputs");
        json.begin_array();
        for (std::string_view rest = batch.inputs; !rest.empty();) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            json.raw(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        json.end_array();
    });
}

std::string render_change_line(std::int64_t version, std::string_view type, Instant now,
                               std::string_view object) {
    return wrapped("change", [&](codec::JsonWriter& json) {
        add(json, "version", version);
        add(json, "type", type);
        add(json, "now", render_instant(now));
        add_raw(json, "object", object);
    });
}

}  // namespace tandem::store

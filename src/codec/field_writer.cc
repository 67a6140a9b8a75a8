// SPDX-License-Identifier: Apache-2.0
#include "codec/field_writer.h"

#include "base/hex.h"

namespace tandem::codec {

void write_value(JsonWriter& json, bool value) {
    json.boolean(value);
}
void write_value(JsonWriter& json, std::int64_t value) {
    json.number(value);
}
void write_value(JsonWriter& json, const std::string& value) {
    json.text(value);
}
void write_value(JsonWriter& json, Instant value) {
    json.text(render_instant(value));
}
void write_value(JsonWriter& json, Duration value) {
    json.text(render_duration(value));
}
void write_value(JsonWriter& json, const Uid& value) {
    json.text(value ? value.text() : std::string());
}
void write_value(JsonWriter& json, RowId value) {
    json.number(value.value);
}
void write_value(JsonWriter& json, const Seed& value) {
    json.text(render_hex(value));
}
void write_value(JsonWriter& json, const model::TaskName& value) {
    json.text(value.text());
}

void write_value(JsonWriter& json, const model::Labels& value) {
    json.begin_object();
    for (const auto& [name, text] : value) {
        json.key(name);
        json.text(text);
    }
    json.end_object();
}

void write_value(JsonWriter& json, const std::map<std::string, std::int64_t>& value) {
    json.begin_object();
    for (const auto& [name, number] : value) {
        json.key(name);
        json.number(number);
    }
    json.end_object();
}

void write_value(JsonWriter& json, const std::vector<model::ReasonParam>& value) {
    json.begin_object();
    for (const model::ReasonParam& param : value) {
        json.key(param.name);
        json.text(param.value);
    }
    json.end_object();
}

}  // namespace tandem::codec

// SPDX-License-Identifier: Apache-2.0
// FieldWriter: the visitor of describe.h that writes a struct as JSON. Internal to codec.
// Audience::people leaves out internal members. Thread rule: one owner.
#pragma once

#include <map>
#include <string>

#include "base/quantity.h"
#include "base/random.h"
#include "base/time.h"
#include "codec/describe.h"
#include "codec/json_writer.h"
#include "model/object.h"
#include "model/queue.h"

namespace tandem::codec {

enum class Audience : std::uint8_t { people, record };

// Leaves, in the form that the wire has them.
void write_value(JsonWriter& json, bool value);
void write_value(JsonWriter& json, std::int64_t value);
void write_value(JsonWriter& json, const std::string& value);
void write_value(JsonWriter& json, Instant value);
void write_value(JsonWriter& json, Duration value);
void write_value(JsonWriter& json, const Uid& value);
void write_value(JsonWriter& json, RowId value);
void write_value(JsonWriter& json, const Seed& value);
void write_value(JsonWriter& json, const model::TaskName& value);
void write_value(JsonWriter& json, const model::Labels& value);
void write_value(JsonWriter& json, const std::map<std::string, std::int64_t>& value);
void write_value(JsonWriter& json, const std::vector<model::ReasonParam>& value);
void write_object(JsonWriter& json, const model::Object& object, Audience audience);

template <class T>
bool is_empty_value(const T& value) {
    if constexpr (is_optional<T>)
        return !value;
    else if constexpr (std::is_same_v<T, Seed>)
        return false;
    else if constexpr (requires { value.empty(); })
        return value.empty();
    else if constexpr (std::is_same_v<T, Uid> || std::is_same_v<T, RowId> ||
                       std::is_same_v<T, Instant>)
        return value == T{};
    else if constexpr (std::is_same_v<T, model::Reason>)
        return value == T{};
    else
        return false;
}

class FieldWriter {
  public:
    FieldWriter(JsonWriter& json, Audience audience) : json_(json), audience_(audience) {}

    void named(std::string_view) {}
    template <class T>
    void field(std::string_view name, const T& value, const Hint& hint = {}) {
        if (!hint.keep && is_empty_value(value)) return;
        json_.member(name);
        put(value);
    }
    template <class T>
    void server_set(std::string_view name, const T& value, const Hint& hint = {}) {
        field(name, value, hint);
    }
    template <class T>
    void internal(std::string_view name, const T& value) {
        if (audience_ == Audience::record) field(name, value);
    }
    void milli(std::string_view name, std::int64_t value, const Hint& = {}) {
        json_.member(name);
        json_.text(render_milli(value));
    }
    void bytes(std::string_view name, std::int64_t value, const Hint& = {}) {
        json_.member(name);
        json_.text(render_bytes(value));
    }
    void quota(std::string_view name, std::int64_t value, const Hint& = {}) {
        json_.member(name);
        json_.text(value == model::unlimited ? "unlimited" : render_milli(value));
    }

    template <class T>
    void put(const T& value) {
        if constexpr (std::is_enum_v<T>) {
            json_.text(model::name_of(value));
        } else if constexpr (is_optional<T>) {
            put(*value);
        } else if constexpr (std::is_same_v<T, model::Object>) {
            write_object(json_, value, audience_);
        } else if constexpr (is_variant<T>) {
            put_variant(value);
        } else if constexpr (requires { write_value(json_, value); }) {
            write_value(json_, value);
        } else if constexpr (is_vector<T>) {
            json_.begin_array();
            for (const auto& item : value) put(item);
            json_.end_array();
        } else {
            json_.begin_object();
            describe(*this, value);
            json_.end_object();
        }
    }

  private:
    // {"type": "taskStarted", ...}
    template <class T>
    void put_variant(const T& value) {
        json_.begin_object();
        json_.member("type");
        json_.text(model::EnumNames<T>::values[value.index()]);
        std::visit([this](const auto& body) { describe(*this, body); }, value);
        json_.end_object();
    }

    JsonWriter& json_;
    Audience audience_;
};

}  // namespace tandem::codec

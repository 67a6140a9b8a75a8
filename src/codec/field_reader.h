// SPDX-License-Identifier: Apache-2.0
// FieldReader: the visitor of describe.h that fills a struct from a Value. Internal to codec.
//
// Reading goes on until the first error, which ReadContext keeps with the field's path in the
// sender's words
// ("spec.roles[0].replicas"); afterwards every call does nothing. Fields that no description names
// are refused. Thread rule: one owner.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "codec/describe.h"
#include "codec/document.h"
#include "model/object.h"

namespace tandem::codec {

// manifest: what people send: no internal members, server-set ones are skipped. shown: what
// render_object wrote. record: with internal members.
enum class Origin : std::uint8_t { manifest, shown, record };

// Where a value stands; chained through the stack, rendered only for an error.
struct Place {
    const Place* up = nullptr;
    std::string_view name{};
    std::size_t index = 0;  // used when name is empty
    std::string text() const;
};

struct ReadContext {
    Origin origin = Origin::record;
    std::optional<Error> error{};
    void refuse(const Place& place, std::string message);
};

void read_value(ReadContext& context, const Place& place, const Value& value, bool& out);
void read_value(ReadContext& context, const Place& place, const Value& value, std::int64_t& out);
void read_value(ReadContext& context, const Place& place, const Value& value, std::string& out);
void read_value(ReadContext& context, const Place& place, const Value& value, Instant& out);
void read_value(ReadContext& context, const Place& place, const Value& value, Duration& out);
void read_value(ReadContext& context, const Place& place, const Value& value, Uid& out);
void read_value(ReadContext& context, const Place& place, const Value& value, RowId& out);
void read_value(ReadContext& context, const Place& place, const Value& value, Seed& out);
void read_value(ReadContext& context, const Place& place, const Value& value, model::TaskName& out);
void read_value(ReadContext& context, const Place& place, const Value& value, model::Labels& out);
void read_value(ReadContext& context, const Place& place, const Value& value,
                std::map<std::string, std::int64_t>& out);
void read_value(ReadContext& context, const Place& place, const Value& value,
                std::vector<model::ReasonParam>& out);
void read_milli(ReadContext& context, const Place& place, const Value& value, std::int64_t& out);
void read_bytes(ReadContext& context, const Place& place, const Value& value, std::int64_t& out);
void read_quota(ReadContext& context, const Place& place, const Value& value, std::int64_t& out);
// A whole object with apiVersion and kind, as context.origin says.
void read_object(ReadContext& context, const Place& place, const Value& value, model::Object& out);

bool require_type(ReadContext& context, const Place& place, const Value& value, ValueType type);
// Index of the word in names; refuses others.
std::optional<std::size_t> read_word(ReadContext& context, const Place& place, const Value& value,
                                     const std::string_view* names, std::size_t count);

class FieldReader {
  public:
    // `tag`, when given, is a field that was read already ("type" of a variant).
    FieldReader(ReadContext& context, const Place& place, const Value& object,
                std::string_view tag = {})
        : context_(context), place_(place), object_(object) {
        if (!tag.empty()) find(tag);
    }

    void named(std::string_view) {}
    template <class T>
    void field(std::string_view name, T& member, const Hint& = {}) {
        if (const Value* value = find(name)) get({&place_, name}, *value, member);
    }
    template <class T>
    void server_set(std::string_view name, T& member, const Hint& = {}) {
        const Value* value = find(name);
        if (value && context_.origin != Origin::manifest) get({&place_, name}, *value, member);
    }
    template <class T>
    void internal(std::string_view name, T& member) {
        if (context_.origin == Origin::record) field(name, member);
    }
    void milli(std::string_view name, std::int64_t& member, const Hint& = {}) {
        if (const Value* value = find(name)) read_milli(context_, {&place_, name}, *value, member);
    }
    void bytes(std::string_view name, std::int64_t& member, const Hint& = {}) {
        if (const Value* value = find(name)) read_bytes(context_, {&place_, name}, *value, member);
    }
    void quota(std::string_view name, std::int64_t& member, const Hint& = {}) {
        if (const Value* value = find(name)) read_quota(context_, {&place_, name}, *value, member);
    }
    // After the last field: refuses what was not asked for.
    void finish();

    template <class T>
    void get(const Place& place, const Value& value, T& out) {
        if constexpr (std::is_enum_v<T>) {
            constexpr auto& names = model::EnumNames<T>::values;
            if (const auto index = read_word(context_, place, value, names, std::size(names)))
                out = static_cast<T>(*index);
        } else if constexpr (is_optional<T>) {
            get(place, value, out.emplace());
        } else if constexpr (std::is_same_v<T, model::Object>) {
            read_object(context_, place, value, out);
        } else if constexpr (is_variant<T>) {
            get_variant(place, value, out);
        } else if constexpr (requires { read_value(context_, place, value, out); }) {
            read_value(context_, place, value, out);
        } else if constexpr (is_vector<T>) {
            if (!require_type(context_, place, value, ValueType::array)) return;
            out.clear();
            out.reserve(value.items.size());
            for (std::size_t i = 0; i < value.items.size(); ++i)
                get({&place, {}, i}, value.items[i], out.emplace_back());
        } else {
            get_struct(place, value, out);
        }
    }

  private:
    // The value of a field that is given and not null; every name asked for is known from then on.
    const Value* find(std::string_view name);

    template <class T>
    void get_struct(const Place& place, const Value& value, T& out, std::string_view tag = {}) {
        if (!require_type(context_, place, value, ValueType::object)) return;
        FieldReader reader(context_, place, value, tag);
        describe(reader, out);
        reader.finish();
    }

    template <class T>
    void get_variant(const Place& place, const Value& value, T& out) {
        if (!require_type(context_, place, value, ValueType::object)) return;
        constexpr auto& names = model::EnumNames<T>::values;
        static_assert(std::size(names) == std::variant_size_v<T>);
        const Value* tag = value.find("type");
        const Value none{};
        const auto index =
            read_word(context_, {&place, "type"}, tag ? *tag : none, names, std::size(names));
        if (!index) return;
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            ((I == *index ? get_struct(place, value, out.template emplace<I>(), "type") : void()),
             ...);
        }(std::make_index_sequence<std::variant_size_v<T>>{});
    }

    static constexpr std::size_t known_max = 40;
    ReadContext& context_;
    const Place& place_;
    const Value& object_;
    std::array<std::string_view, known_max> known_{};
    std::size_t known_count_ = 0;
    std::size_t matched_ = 0;
    std::size_t next_ = 0;  // fields mostly stand in canonical order
};

}  // namespace tandem::codec

// SPDX-License-Identifier: Apache-2.0
#include "codec/field_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/hex.h"
#include "base/quantity.h"
#include "model/queue.h"

namespace tandem::codec {
namespace {

std::string shown(std::string_view text) {
    return fmt::format("\"{}\"", text.substr(0, 60));
}

bool is_word(const Value& value) {
    return value.type == ValueType::text || value.type == ValueType::scalar;
}

// "12", "-3": no fraction, no exponent.
bool is_whole(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Runs a parser of base/ over a text and puts its error at the field.
template <class Parsed, class Out>
void take(ReadContext& context, const Place& place, Result<Parsed> parsed, Out& out) {
    if (!parsed)
        context.refuse(place, parsed.error().message);
    else
        out = *parsed;
}

// The text of a quantity: words as they are, JSON numbers only when whole.
std::optional<std::string_view> quantity_text(ReadContext& context, const Place& place,
                                              const Value& value, std::string_view example) {
    if (value.type == ValueType::number && !is_whole(value.text)) {
        context.refuse(
            place, fmt::format("write {} as a string or in YAML; JSON numbers must be whole here",
                               value.text.substr(0, 40)));
        return std::nullopt;
    }
    if (value.type == ValueType::number || is_word(value)) return value.text;
    context.refuse(place, fmt::format("must be {}, is {}", example, describe_type(value)));
    return std::nullopt;
}

}  // namespace

std::string Place::text() const {
    std::string path = up ? up->text() : std::string();
    if (name.empty()) return up ? fmt::format("{}[{}]", path, index) : path;
    if (!path.empty()) path += '.';
    return path += name;
}

void ReadContext::refuse(const Place& place, std::string message) {
    if (!error) error = Error{ErrorCode::invalid, std::move(message), place.text()};
}

bool require_type(ReadContext& context, const Place& place, const Value& value, ValueType type) {
    if (value.type == type) return !context.error;
    context.refuse(place, fmt::format("must be {}, is {}", describe_type(Value{.type = type}),
                                      describe_type(value)));
    return false;
}

void read_value(ReadContext& context, const Place& place, const Value& value, bool& out) {
    if (value.type == ValueType::boolean)
        out = value.boolean;
    else if (value.type == ValueType::scalar && (value.text == "true" || value.text == "false"))
        out = value.text == "true";
    else
        context.refuse(place,
                       fmt::format("must be true or false, is {}",
                                   is_word(value) ? shown(value.text) : describe_type(value)));
}

void read_value(ReadContext& context, const Place& place, const Value& value, std::int64_t& out) {
    if (value.type != ValueType::number && value.type != ValueType::scalar)
        return context.refuse(place,
                              fmt::format("must be a whole number, is {}", describe_type(value)));
    take(context, place, parse_integer(value.text), out);
}

void read_value(ReadContext& context, const Place& place, const Value& value, std::string& out) {
    if (is_word(value))
        out = value.text;
    else
        context.refuse(place, fmt::format("must be a text, is {}", describe_type(value)));
}

void read_value(ReadContext& context, const Place& place, const Value& value, Instant& out) {
    if (is_word(value))
        take(context, place, parse_instant(value.text), out);
    else
        context.refuse(place, fmt::format("must be a time such as 2026-11-30T14:28:59Z, is {}",
                                          describe_type(value)));
}

void read_value(ReadContext& context, const Place& place, const Value& value, Duration& out) {
    if (is_word(value))
        take(context, place, parse_duration(value.text), out);
    else
        context.refuse(place, fmt::format("must be a duration such as \"30s\" or \"1h30m\", is {}",
                                          describe_type(value)));
}

void read_value(ReadContext& context, const Place& place, const Value& value, Uid& out) {
    const auto uid = is_word(value) ? Uid::parse(value.text) : std::nullopt;
    if (uid)
        out = *uid;
    else if (!is_word(value) || !value.text.empty())
        context.refuse(place, "must be 24 digits of 0-9 and a-f");
}

void read_value(ReadContext& context, const Place& place, const Value& value, RowId& out) {
    read_value(context, place, value, out.value);
}

void read_value(ReadContext& context, const Place& place, const Value& value, Seed& out) {
    const auto bytes = is_word(value) ? parse_hex(value.text) : std::nullopt;
    if (bytes && bytes->size() == out.size())
        std::ranges::copy(*bytes, out.begin());
    else
        context.refuse(place, "must be 64 digits of 0-9 and a-f");
}

void read_value(ReadContext& context, const Place& place, const Value& value,
                model::TaskName& out) {
    if (const auto name = is_word(value) ? model::TaskName::parse(value.text) : std::nullopt)
        out = *name;
    else
        context.refuse(place, "must be the name of a task");
}

void read_value(ReadContext& context, const Place& place, const Value& value, model::Labels& out) {
    if (!require_type(context, place, value, ValueType::object)) return;
    out.clear();
    for (std::size_t i = 0; i < value.items.size(); ++i)
        read_value(context, {&place, value.names[i], i}, value.items[i], out[value.names[i]]);
}

void read_value(ReadContext& context, const Place& place, const Value& value,
                std::map<std::string, std::int64_t>& out) {
    if (!require_type(context, place, value, ValueType::object)) return;
    out.clear();
    for (std::size_t i = 0; i < value.items.size(); ++i)
        read_value(context, {&place, value.names[i], i}, value.items[i], out[value.names[i]]);
}

void read_value(ReadContext& context, const Place& place, const Value& value,
                std::vector<model::ReasonParam>& out) {
    if (!require_type(context, place, value, ValueType::object)) return;
    out.clear();
    for (std::size_t i = 0; i < value.items.size(); ++i) {
        out.push_back({value.names[i], {}});
        read_value(context, {&place, value.names[i], i}, value.items[i], out.back().value);
    }
}

void read_milli(ReadContext& context, const Place& place, const Value& value, std::int64_t& out) {
    if (const auto text = quantity_text(context, place, value, "an amount such as 2 or \"0.5\""))
        take(context, place, parse_milli(*text), out);
}

void read_bytes(ReadContext& context, const Place& place, const Value& value, std::int64_t& out) {
    if (const auto text =
            quantity_text(context, place, value, "bytes such as \"512Mi\" or \"4Gi\""))
        take(context, place, parse_bytes(*text), out);
}

void read_quota(ReadContext& context, const Place& place, const Value& value, std::int64_t& out) {
    const auto text =
        quantity_text(context, place, value, "an amount such as 2 or \"0.5\", or unlimited");
    if (!text) return;
    if (*text == "unlimited")
        out = model::unlimited;
    else
        take(context, place, parse_milli(*text), out);
}

std::optional<std::size_t> read_word(ReadContext& context, const Place& place, const Value& value,
                                     const std::string_view* names, std::size_t count) {
    if (is_word(value)) {
        const auto* found = std::find(names, names + count, value.text);
        if (found != names + count) return static_cast<std::size_t>(found - names);
    }
    context.refuse(place,
                   fmt::format("must be one of {}; is {}", fmt::join(names, names + count, ", "),
                               is_word(value) ? shown(value.text) : describe_type(value)));
    return std::nullopt;
}

const Value* FieldReader::find(std::string_view name) {
    TANDEM_ASSERT(known_count_ < known_max, "a struct has more fields than a reader keeps");
    known_[known_count_++] = name;
    if (context_.error) return nullptr;
    const auto& names = object_.names;
    std::size_t at = next_;
    if (at >= names.size() || names[at] != name)
        at = static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
    if (at == names.size()) return nullptr;
    next_ = at + 1;
    ++matched_;
    return object_.items[at].type == ValueType::null ? nullptr : &object_.items[at];
}

void FieldReader::finish() {
    if (context_.error || matched_ == object_.names.size()) return;
    const auto known_end = known_.begin() + static_cast<std::ptrdiff_t>(known_count_);
    for (const std::string& name : object_.names) {
        if (std::find(known_.begin(), known_end, name) != known_end) continue;
        context_.refuse({&place_, std::string_view(name).substr(0, 60)},
                        fmt::format("is not a known field; here stand {}",
                                    fmt::join(known_.begin(), known_end, ", ")));
        return;
    }
}

}  // namespace tandem::codec

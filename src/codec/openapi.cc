// SPDX-License-Identifier: Apache-2.0
#include "codec/openapi.h"

#include <map>

#include "codec/describe_capacity.h"
#include "codec/describe_identity.h"
#include "codec/describe_record.h"
#include "codec/describe_service.h"
#include "codec/describe_what_if.h"
#include "codec/describe_window.h"
#include "codec/field_writer.h"

namespace tandem::codec {
namespace {

using Schemas = std::map<std::string, std::string>;

template <class T>
std::string add_schema(Schemas& schemas);

std::string json_text(std::string_view text) {
    std::string out;
    append_json_text(out, text);
    return out;
}
std::string reference_to(std::string_view name) {
    return "{\"$ref\":" + json_text("#/components/schemas/" + std::string(name)) + "}";
}

template <class E>
std::string enum_schema() {
    std::string list;
    for (std::string_view name : model::EnumNames<E>::values)
        list += (list.empty() ? "" : ",") + json_text(name);
    return R"({"type":"string","enum":[)" + list + "]}";
}

// The schema of a member's type, on its own.
template <class T>
std::string schema_of(Schemas& schemas) {
    if constexpr (std::is_same_v<T, bool>)
        return R"({"type":"boolean"})";
    else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, RowId>)
        return R"({"type":"integer","format":"int64"})";
    else if constexpr (std::is_same_v<T, std::string>)
        return R"({"type":"string"})";
    else if constexpr (std::is_same_v<T, Instant>)
        return R"({"type":"string","format":"date-time"})";
    else if constexpr (std::is_same_v<T, Duration>)
        return R"({"type":"string","pattern":"^([0-9]+(ms|s|m|h|d))+$"})";
    else if constexpr (std::is_same_v<T, Uid>)
        return R"({"type":"string","pattern":"^[0-9a-f]{24}$"})";
    else if constexpr (std::is_same_v<T, model::Labels> ||
                       std::is_same_v<T, std::vector<model::ReasonParam>>)
        return R"({"type":"object","additionalProperties":{"type":"string"}})";
    else if constexpr (std::is_same_v<T, std::map<std::string, std::int64_t>>)
        return R"({"type":"object","additionalProperties":{"type":"integer","format":"int64"}})";
    else if constexpr (std::is_enum_v<T>)
        return enum_schema<T>();
    else if constexpr (is_optional<T>)
        return schema_of<typename T::value_type>(schemas);
    else if constexpr (is_vector<T>)
        return R"({"type":"array","items":)" + schema_of<typename T::value_type>(schemas) + "}";
    else
        return reference_to(add_schema<T>(schemas));
}

class SchemaVisitor {
  public:
    explicit SchemaVisitor(Schemas& schemas) : schemas_(schemas) {}

    void named(std::string_view name) { name_ = name; }
    template <class T>
    void field(std::string_view name, const T& value, const Hint& hint = {}) {
        add(name, schema_of<T>(schemas_), hint, false);
        // Defaults are worth showing where they are plain values.
        if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::int64_t> ||
                      std::is_enum_v<T> || std::is_same_v<T, std::string> ||
                      std::is_same_v<T, Duration>)
            if (!hint.required && !is_empty_value(value)) put_default(value);
        close();
    }
    template <class T>
    void server_set(std::string_view name, const T&, const Hint& hint = {}) {
        add(name, schema_of<T>(schemas_), hint, true);
        close();
    }
    void internal(std::string_view, const auto&) {}
    void milli(std::string_view name, const std::int64_t&, const Hint& hint = {}) {
        quantity(name, R"({"type":["string","integer"],"examples":["0.5",2]})", hint);
    }
    void bytes(std::string_view name, const std::int64_t&, const Hint& hint = {}) {
        quantity(name, R"({"type":["string","integer"],"examples":["4Gi","512Mi"]})", hint);
    }
    void quota(std::string_view name, const std::int64_t&, const Hint& hint = {}) {
        quantity(name, R"({"type":["string","integer"],"examples":["8","unlimited"]})", hint);
    }

    const std::string& name() const { return name_; }
    // `first` are properties that no description shows (apiVersion, kind), `required` likewise.
    std::string render(std::string first = {}, std::string required = {}) const {
        if (!first.empty() && !properties_.empty()) first += ',';
        if (!required.empty() && !required_.empty()) required += ',';
        required += required_;
        return R"({"type":"object","additionalProperties":false,)" +
               (required.empty() ? std::string() : "\"required\":[" + required + "],") +
               "\"properties\":{" + first + properties_ + "}}";
    }

  private:
    void add(std::string_view name, std::string schema, const Hint& hint, bool read_only) {
        if (!properties_.empty()) properties_ += ',';
        if (hint.required) required_ += (required_.empty() ? "" : ",") + json_text(name);
        schema.pop_back();  // its closing brace, put back by close()
        properties_ += json_text(name) + ":" + schema;
        if (!hint.note.empty()) properties_ += ",\"description\":" + json_text(hint.note);
        if (hint.min != Hint{}.min && schema.find("integer\",\"format") != schema.npos)
            properties_ += ",\"minimum\":" + std::to_string(hint.min);
        if (hint.max != Hint{}.max && schema.find("integer\",\"format") != schema.npos)
            properties_ += ",\"maximum\":" + std::to_string(hint.max);
        if (read_only) properties_ += ",\"readOnly\":true";
    }
    void quantity(std::string_view name, std::string schema, const Hint& hint) {
        add(name, std::move(schema), hint, false);
        close();
    }
    template <class T>
    void put_default(const T& value) {
        properties_ += ",\"default\":";
        JsonWriter json(properties_);
        FieldWriter(json, Audience::people).put(value);
    }
    void close() { properties_ += '}'; }

    Schemas& schemas_;
    std::string name_{};
    std::string properties_{};
    std::string required_{};
};

template <class T>
std::string add_schema(Schemas& schemas) {
    SchemaVisitor visitor(schemas);
    T value{};
    describe(visitor, value);
    if constexpr (DeclaredObject<T>) {
        const std::string head = R"("apiVersion":{"type":"string","const":)" + json_text(api_version) +
                                 R"(},"kind":{"type":"string","const":)" +
                                 json_text(name_of(T::kind)) + "}";
        schemas[visitor.name()] = visitor.render(head, R"("apiVersion","kind")");
        schemas[visitor.name() + "List"] =
            R"({"type":"object","required":["apiVersion","kind","metadata","items"],"properties":{)"
            R"("apiVersion":{"type":"string"},"kind":{"type":"string"},"metadata":{"$ref":"#/components/schemas/ListMetadata"},)"
            R"("items":{"type":"array","items":)" +
            reference_to(visitor.name()) + "}}}";
    } else {
        schemas[visitor.name()] = visitor.render();
    }
    return visitor.name();
}

void add_batch_and_problem(Schemas& schemas) {
    std::string objects;
    for (std::string_view kind : model::EnumNames<model::Kind>::values)
        objects += (objects.empty() ? "" : ",") + reference_to(kind);
    std::string verbs;
    for (std::string_view verb : {"apply", "create", "update"})
        verbs += json_text(verb) + ":{\"oneOf\":[" + objects + "]},";
    for (std::string_view verb : {"delete", "cancel", "retry"})
        verbs += json_text(verb) + ":" + reference_to("ObjectKey") + ",";
    verbs.pop_back();
    schemas["BatchRequest"] =
        R"({"type":"object","additionalProperties":false,"required":["actions"],"properties":{"actions":{"type":"array","maxItems":1000,"items":)"
        R"({"type":"object","additionalProperties":false,"minProperties":1,"maxProperties":1,"properties":{)" +
        verbs + "}}}}}";
    // Its actions are those of a batch, which no description shows.
    schemas["WhatIf"].pop_back();
    schemas["WhatIf"].pop_back();
    schemas["WhatIf"] +=
        R"(,"actions":{"type":"array","maxItems":1000,"description":"as in a batch",)"
        R"("items":{"type":"object"}}}})";
    schemas["Outcomes"] =
        R"({"type":"object","required":["outcomes"],"properties":{"outcomes":{"type":"array","items":)" +
        reference_to("Outcome") + "}}}";
    schemas["ListMetadata"] =
        R"({"type":"object","required":["resourceVersion"],"properties":{"resourceVersion":{"type":"integer","format":"int64",)"
        R"("description":"to watch from"},"continue":{"type":"string","description":"for the next page; empty at the end"},)"
        R"("remaining":{"type":"integer","format":"int64"}}})";
    schemas["Problem"] =
        R"({"type":"object","description":"RFC 9457","required":["type","title","status","detail"],"properties":{)"
        R"("type":{"type":"string"},"title":{"type":"string"},"status":{"type":"integer"},"detail":{"type":"string"},)"
        R"("code":{"type":"string","description":"stable word, such as not_found"},)"
        R"("field":{"type":"string","description":"the field at fault, such as spec.replicas"},)"
        R"("requestId":{"type":"string"}}})";
}

}  // namespace

std::string render_schemas() {
    Schemas schemas;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (add_schema<std::variant_alternative_t<I, model::Object>>(schemas), ...);
    }(std::make_index_sequence<model::kind_count>{});
    add_schema<model::EventRecord>(schemas);
    add_schema<model::AuditRecord>(schemas);
    add_schema<model::Verdict>(schemas);
    add_schema<model::UsageRecord>(schemas);
    add_schema<model::RequestUsage>(schemas);
    add_schema<model::Outcome>(schemas);
    add_schema<model::WhatIf>(schemas);
    add_schema<model::Foresight>(schemas);
    add_batch_and_problem(schemas);
    std::string out;
    JsonWriter json(out);
    json.begin_object();
    for (const auto& [name, schema] : schemas) {
        json.key(name);
        json.raw(schema);
    }
    json.end_object();
    return out;
}

}  // namespace tandem::codec

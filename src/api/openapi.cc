// SPDX-License-Identifier: Apache-2.0
#include "api/openapi.h"

#include <algorithm>
#include <map>

#include "codec/json_writer.h"
#include "codec/openapi.h"

namespace tandem::api {
namespace {

using codec::JsonWriter;

void write_schema_ref(JsonWriter& writer, const std::string& schema) {
    writer.begin_object();
    writer.key("$ref");
    writer.text("#/components/schemas/" + schema);
    writer.end_object();
}

void write_content(JsonWriter& writer, const std::string& type, const std::string& schema) {
    writer.key("content");
    writer.begin_object();
    writer.key(type);
    writer.begin_object();
    writer.key("schema");
    if (schema.empty())
        writer.raw("{}");
    else
        write_schema_ref(writer, schema);
    writer.end_object();
    writer.end_object();
}

std::string type_schema(const Parameter& parameter) {
    switch (parameter.type) {
        case ParameterType::flag:
            return R"({"type":"string","enum":["true","false"]})";
        case ParameterType::number: {
            std::string schema =
                R"({"type":"integer","format":"int64","minimum":)" + std::to_string(parameter.low);
            if (parameter.high != INT64_MAX)
                schema += ",\"maximum\":" + std::to_string(parameter.high);
            return schema + "}";
        }
        case ParameterType::choice: {
            std::string schema;
            for (const std::string& choice : parameter.choices)
                schema += (schema.empty() ? "\"" : ",\"") + choice + "\"";
            return R"({"type":"string","enum":[)" + schema + "]}";
        }
        case ParameterType::text:
            break;
    }
    return R"({"type":"string"})";
}

struct Place {
    const char* in;  // "path", "query", "header"
    bool required = false;
};

void write_parameter(JsonWriter& writer, const Parameter& parameter, Place place) {
    writer.begin_object();
    writer.key("name");
    writer.text(parameter.name);
    writer.key("in");
    writer.text(place.in);
    writer.key("required");
    writer.boolean(place.required);
    if (!parameter.note.empty()) {
        writer.key("description");
        writer.text(parameter.note);
    }
    writer.key("schema");
    writer.raw(type_schema(parameter));
    writer.end_object();
}

bool is_mutation(const Route& route) {
    return route.method != "GET";
}

void write_parameters(JsonWriter& writer, const Route& route) {
    const std::string& pattern = route.pattern;
    writer.key("parameters");
    writer.begin_array();
    for (std::size_t open = pattern.find('{'); open != std::string::npos;
         open = pattern.find('{', open + 1)) {
        const std::string name = pattern.substr(open + 1, pattern.find('}', open) - open - 1);
        write_parameter(writer, {.name = name}, {.in = "path", .required = true});
    }
    for (const Parameter& parameter : route.query)
        write_parameter(writer, parameter, {.in = "query"});
    const auto dry_run = std::ranges::find(route.query, "dryRun", &Parameter::name);
    if (is_mutation(route) && dry_run != route.query.end())
        write_parameter(writer,
                        {.name = "Idempotency-Key",
                         .note = "at most 128 characters; the same request under the same key is "
                                 "answered the same for 24 h"},
                        {.in = "header"});
    writer.end_array();
}

void write_responses(JsonWriter& writer, const Route& route) {
    writer.key("responses");
    writer.begin_object();
    writer.key("2XX");
    writer.begin_object();
    writer.key("description");
    writer.text("done");
    write_content(writer, "application/json", route.response_schema);
    writer.end_object();
    writer.key("default");
    writer.begin_object();
    writer.key("description");
    writer.text("what is wrong, and where");
    write_content(writer, "application/problem+json", "Problem");
    writer.end_object();
    writer.end_object();
}

void write_operation(JsonWriter& writer, const Route& route) {
    writer.begin_object();
    writer.key("operationId");
    writer.text(route.operation);
    writer.key("summary");
    writer.text(route.summary);
    write_parameters(writer, route);
    if (!route.request_schema.empty()) {
        writer.key("requestBody");
        writer.begin_object();
        writer.key("required");
        writer.boolean(true);
        write_content(writer, "application/json", route.request_schema);
        writer.end_object();
    }
    writer.key("security");
    writer.raw(route.door == Door::open ? "[]" : R"([{"apiKey":[]}])");
    write_responses(writer, route);
    writer.end_object();
}

std::string lower(std::string method) {
    for (char& c : method) c = static_cast<char>(c + ('a' - 'A'));
    return method;
}

void write_paths(JsonWriter& writer, const Router& router) {
    std::map<std::string, std::vector<const Route*>> by_pattern;
    for (const Route& route : router.routes())
        if (route.door != Door::host) by_pattern[route.pattern].push_back(&route);
    writer.key("paths");
    writer.begin_object();
    for (const auto& [pattern, routes] : by_pattern) {
        writer.key(pattern);
        writer.begin_object();
        for (const Route* route : routes) {
            writer.key(lower(route->method));
            write_operation(writer, *route);
        }
        writer.end_object();
    }
    writer.end_object();
}

}  // namespace

std::string render_openapi(const Router& router, const std::string& version) {
    std::string json;
    JsonWriter writer(json);
    writer.begin_object();
    writer.key("openapi");
    writer.text("3.1.0");
    writer.key("info");
    writer.begin_object();
    writer.key("title");
    writer.text("Tandem");
    writer.key("version");
    writer.text(version);
    writer.end_object();
    write_paths(writer, router);
    writer.key("components");
    writer.begin_object();
    writer.key("schemas");
    writer.raw(codec::render_schemas());
    writer.key("securitySchemes");
    writer.raw(R"({"apiKey":{"type":"http","scheme":"bearer"}})");
    writer.end_object();
    writer.end_object();
    return json;
}

}  // namespace tandem::api

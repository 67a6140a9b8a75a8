// SPDX-License-Identifier: Apache-2.0
#include "codec/openapi.h"

#include <gtest/gtest.h>

#include <functional>

#include "codec/document.h"
#include "model/kind.h"

namespace tandem::codec {
namespace {

const Value& at(const Value& value, std::initializer_list<std::string_view> path) {
    static const Value none;
    const Value* here = &value;
    for (std::string_view name : path) {
        here = here->find(name);
        if (!here) return none;
    }
    return *here;
}

TEST(schemas, every_kind_is_there_and_every_reference_leads_somewhere) {
    const auto schemas = parse_json(render_schemas());
    ASSERT_TRUE(schemas) << schemas.error().message;
    for (std::string_view kind : model::EnumNames<model::Kind>::values) {
        EXPECT_TRUE(schemas->find(kind)) << kind;
        EXPECT_TRUE(schemas->find(std::string(kind) + "List")) << kind;
    }
    std::size_t references = 0;
    const std::function<void(const Value&)> walk = [&](const Value& value) {
        for (std::size_t i = 0; i < value.items.size(); ++i) {
            if (i < value.names.size() && value.names[i] == "$ref") {
                ++references;
                const std::string& target = value.items[i].text;
                ASSERT_TRUE(target.starts_with("#/components/schemas/"));
                EXPECT_TRUE(schemas->find(target.substr(21))) << target;
            }
            walk(value.items[i]);
        }
    };
    walk(*schemas);
    EXPECT_GT(references, 50u);
}

TEST(schemas, ranges_defaults_and_required_fields_come_from_the_descriptions) {
    const auto schemas = parse_json(render_schemas());
    ASSERT_TRUE(schemas);
    const Value& job = at(*schemas, {"JobSpec", "properties"});
    EXPECT_EQ(at(job, {"priority", "minimum"}).text, "-1000");
    EXPECT_EQ(at(job, {"queue", "default"}).text, "default");
    EXPECT_EQ(at(job, {"template", "enum"}).items.size(), 2u);
    EXPECT_EQ(at(job, {"grace", "default"}).text, "30s");
    EXPECT_EQ(at(*schemas, {"JobRole", "properties", "replicas", "maximum"}).text, "10000");
    EXPECT_TRUE(at(*schemas, {"Metadata", "properties", "uid", "readOnly"}).boolean);
    EXPECT_EQ(at(*schemas, {"Job", "required"}).items.size(), 3u);
    EXPECT_EQ(at(*schemas, {"Job", "properties", "kind", "const"}).text, "Job");
}

TEST(schemas, internal_members_stay_inside) {
    const std::string text = render_schemas();
    EXPECT_EQ(text.find("ownerId"), text.npos);
    EXPECT_EQ(at(*parse_json(text), {"ApiKeySpec", "properties", "digest"}).type, ValueType::null);
}

}  // namespace
}  // namespace tandem::codec

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "model/check.h"

namespace tandem::model {
namespace {

TEST(check_placing, each_mistake_names_its_field) {
    Job good;
    good.meta = {.name = "train", .project = "default", .name_space = "default"};
    good.spec.command = {"python3", "train.py"};
    good.spec.roles = {{.resources = {.devices = 1000}}};
    ASSERT_TRUE(check_spec(good));
    const std::vector<std::pair<std::string, std::function<void(Job&)>>> mistakes{
        {"spec.roles[0].resources.deviceMemory",
         [](Job& j) { j.spec.roles[0].resources.device_memory_bytes = 1 << 30; }},
        {"spec.roles[0].resources.nodeAffinity.required[0].label",
         [](Job& j) {
             j.spec.roles[0].resources.node_affinity.required = {{.op = LabelOp::exists}};
         }},
        {"spec.roles[0].resources.nodeAffinity.required[0].values",
         [](Job& j) { j.spec.roles[0].resources.node_affinity.required = {{.label = "disk"}}; }},
        {"spec.roles[0].resources.nodeAffinity.required[0].values",
         [](Job& j) {
             j.spec.roles[0].resources.node_affinity.required = {{"gen", LabelOp::gt, {"new"}}};
         }},
        {"spec.roles[0].resources.nodeAffinity.required[0].values",
         [](Job& j) {
             j.spec.roles[0].resources.node_affinity.required = {{"gen", LabelOp::exists, {"3"}}};
         }},
        {"spec.roles[0].resources.nodeAffinity.preferred[0].weight",
         [](Job& j) {
             j.spec.roles[0].resources.node_affinity.preferred = {
                 {.weight = 101, .match = {{"gen", LabelOp::exists, {}}}}};
         }},
        {"spec.placing.topology",
         [](Job& j) { j.spec.placing = {.topology = {.required = "rack", .preferred = "rack"}}; }},
        {"spec.placing.topology.balanced",
         [](Job& j) { j.spec.placing = {.topology = {.required = "rack", .balanced = true}}; }},
        {"spec.placing.topology.required",
         [](Job& j) { j.spec.placing = {.topology = {.required = "Rack!"}}; }},
        {"spec.placing.topology.slice.size",
         [](Job& j) { j.spec.placing = {.topology = {.slice = {.size = 2, .required = "host"}}}; }},
        {"spec.placing.spread.maxSkew",
         [](Job& j) { j.spec.placing = {.spread = {.level = "host", .max_skew = 0}}; }},
        {"spec.placing.spread.level",
         [](Job& j) {
             j.spec.placing = {.topology = {.required = "rack"}, .spread = {.level = "rack"}};
         }},
        {"spec.placing.apart[0].labels", [](Job& j) { j.spec.placing = {.apart = {{}}}; }},
    };
    for (const auto& [field, spoil] : mistakes) {
        Job job = good;
        spoil(job);
        const auto status = check_spec(job);
        ASSERT_FALSE(status) << field;
        EXPECT_EQ(status.error().field, field) << status.error().message;
    }
}

TEST(check_pool, levels_are_labels_with_names_of_their_own) {
    Pool pool;
    pool.meta.name = "default";
    pool.spec.topology = {"tandem.dev/zone", "tandem.dev/block", "rack"};
    EXPECT_TRUE(check_spec(pool));
    for (const std::vector<std::string>& levels :
         {std::vector<std::string>{"a/rack", "b/rack"}, {"tandem.dev/host"}, {"a/"}, {""}}) {
        pool.spec.topology = levels;
        const auto status = check_spec(pool);
        ASSERT_FALSE(status);
        EXPECT_TRUE(status.error().field.starts_with("spec.topology[")) << status.error().field;
    }
}

}  // namespace
}  // namespace tandem::model

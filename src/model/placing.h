// SPDX-License-Identifier: Apache-2.0
// What a job may ask of the places of its replicas, beyond what each of them needs: topology,
// spread, company, sharing; and which nodes a replica may go to, by their labels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/enum_names.h"
#include "model/meta.h"

namespace tandem::model {

// One label of a node against values. exists and does_not_exist take none, gt and lt one whole
// number.
enum class LabelOp : std::uint8_t { in, not_in, exists, does_not_exist, gt, lt };
template <>
struct EnumNames<LabelOp> {
    static constexpr std::string_view values[] = {"In",           "NotIn", "Exists",
                                                  "DoesNotExist", "Gt",    "Lt"};
};
struct NodeExpression {
    std::string label{};
    LabelOp op = LabelOp::in;
    std::vector<std::string> values{};
    bool operator==(const NodeExpression&) const = default;
};
struct NodePreference {
    std::int64_t weight = 1;  // 1..100; of the nodes with room those of the largest sum come first
    std::vector<NodeExpression> match{};  // all of them
    bool operator==(const NodePreference&) const = default;
};
struct NodeAffinity {
    std::vector<NodeExpression> required{};  // all of them
    std::vector<NodePreference> preferred{};
    bool empty() const { return required.empty() && preferred.empty(); }
    bool operator==(const NodeAffinity&) const = default;
};

// Levels are named as their pool declares them (PoolSpec::topology); "host", one node, is always
// there.
inline constexpr std::string_view host_level = "host";
// "tandem.dev/rack" is the label of level "rack".
constexpr std::string_view level_name(std::string_view label) {
    const std::size_t slash = label.rfind('/');
    return slash == std::string_view::npos ? label : label.substr(slash + 1);
}
// So many replicas of consecutive ranks inside one domain of a level. 0: no slices.
struct TopologySlice {
    std::int64_t size = 0;
    std::string required{};
    bool operator==(const TopologySlice&) const = default;
};
struct JobTopology {
    std::string required{};   // all replicas inside one domain of this level
    std::string preferred{};  // if one has room; else of the next wider level, at last anywhere
    bool balanced = false;    // preferred: where several domains are needed, evenly over the fewest
    TopologySlice slice{};
    bool operator==(const JobTopology&) const = default;
};
// Numbers of replicas in any two domains of a level differ by at most max_skew. Empty level: none.
struct JobSpread {
    std::string level{};
    std::int64_t max_skew = 1;
    bool operator==(const JobSpread&) const = default;
};
// Placed work of the same project that has all these of JobPlacing::labels.
struct WorkSelector {
    std::string level = std::string(host_level);
    Labels labels{};
    bool operator==(const WorkSelector&) const = default;
};
// Whether replicas of one gang may have shares of one device.
enum class Sharing : std::uint8_t { none, allowed };
template <>
struct EnumNames<Sharing> {
    static constexpr std::string_view values[] = {"none", "allowed"};
};

struct JobPlacing {
    JobTopology topology{};
    JobSpread spread{};
    Labels labels{};                   // by which affinity and antiAffinity of others select it
    std::vector<WorkSelector> near{};  // only into domains where such work is
    std::vector<WorkSelector>
        apart{};  // never into domains where such work is, nor it beside this one
    Sharing sharing = Sharing::none;
    bool operator==(const JobPlacing&) const = default;
};

}  // namespace tandem::model

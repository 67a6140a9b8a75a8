// SPDX-License-Identifier: Apache-2.0
// Machines, devices and pools. Device amounts are milli-devices (1000 = one whole device).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/meta.h"
#include "model/reason.h"

namespace tandem::model {

// A fact keeps where it was read, and whether the carrier layer or the product owns it.
struct Fact {
    std::string name{};
    std::string value{};
    std::string source{};
    bool operator==(const Fact&) const = default;
};

struct Device {
    std::int64_t index = 0;
    std::string uuid{};
    std::string flavor{};          // "cpu-slice", "nvidia-h200"
    std::string model{};           // as the vendor's tool names it
    std::int64_t memory_bytes = 0;
    std::vector<std::int64_t> cores{};  // a slice is pinned to these
    bool over_committed = false;   // shares its cores with other slices
    bool healthy = true;
    std::string taken_by{};        // task of before a restore that sits on it without a row
    bool operator==(const Device&) const = default;
};

struct NodeSpec {
    bool unschedulable = false;
    std::vector<std::string> taints{};  // keep away all work that doesn't tolerate each of them
    bool operator==(const NodeSpec&) const = default;
};
// The maintenance that is next, or at hand.
struct NodeClosing {
    std::string maintenance{};
    std::string reason{};
    Instant from{};
    Instant until{};
    bool operator==(const NodeClosing&) const = default;
};
struct NodeStatus {
    bool ready = false;
    std::string executor{};        // "local"
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    std::vector<Device> devices{};
    std::vector<Fact> facts{};
    std::optional<NodeClosing> closing{};
    bool operator==(const NodeStatus&) const = default;
};
struct Node {
    static constexpr Kind kind = Kind::node;
    Meta meta{};
    NodeSpec spec{};
    NodeStatus status{};
    bool operator==(const Node&) const = default;
};

enum class Form : std::uint8_t { physical_dedicated, virtual_dedicated, reserved, shared, spot };
template <>
struct EnumNames<Form> {
    static constexpr std::string_view values[] = {"physical-dedicated", "virtual-dedicated", "reserved", "shared", "spot"};
};

// How a pool's nodes are filled.
//   tandem  so that what stays free is of use to the work that is typical here, and devices of a
//           model that much of it insists on are kept for that
//   fgd     by the fragmentation gradient alone
//   pack    the fullest node that has room
//   spread  the emptiest
enum class PlacementPolicy : std::uint8_t { tandem, fgd, pack, spread };
template <>
struct EnumNames<PlacementPolicy> {
    static constexpr std::string_view values[] = {"tandem", "fgd", "pack", "spread"};
};

// A reserved pool draws `devices` of `flavor` out of pool `from` and keeps them, also while idle.
// A shared pool owns every device that no other pool holds. This release delivers shared and reserved.
struct PoolSpec {
    Form form = Form::shared;
    std::vector<std::string> projects{};  // who may use it; empty: everybody
    std::string from{};                   // reserved: the shared pool it draws from
    std::string flavor{};                 // reserved
    std::int64_t devices = 0;             // reserved: whole devices
    PlacementPolicy placement = PlacementPolicy::tandem;
    std::vector<std::string> topology{};  // labels of nodes that make levels, widest first
    bool operator==(const PoolSpec&) const = default;
};
struct HeldDevice {
    std::string node{};
    std::int64_t index = 0;
    auto operator<=>(const HeldDevice&) const = default;
};
struct PoolStatus {
    bool ready = false;
    Reason reason{};
    std::vector<HeldDevice> held{};  // reserved: the very devices
    bool operator==(const PoolStatus&) const = default;
};
struct Pool {
    static constexpr Kind kind = Kind::pool;
    Meta meta{};
    PoolSpec spec{};
    PoolStatus status{};
    bool operator==(const Pool&) const = default;
};

}  // namespace tandem::model

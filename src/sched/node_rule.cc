// SPDX-License-Identifier: Apache-2.0
// Which nodes work may go to: labels that it selects, taints that it tolerates.
#include <algorithm>

#include "sched/affinity.h"
#include "sched/inside.h"

namespace tandem::sched {

bool NodeRule::admits(const model::Labels& labels, const std::vector<std::string>& taints) const {
    for (const auto& [label, value] : selector) {
        const auto at = labels.find(label);
        if (at == labels.end() || at->second != value) return false;
    }
    if (!matches(affinity.required, labels)) return false;
    return std::ranges::all_of(taints, [this](const std::string& taint) {
        return std::ranges::any_of(tolerations, [&taint](const std::string& tolerated) {
            return tolerated == "*" || tolerated == taint;
        });
    });
}

// A rule goes by a text that says all of it; no_name: selects nothing and tolerates nothing.
int Planner::Inside::intern_rule(const model::Resources& each) {
    if (each.node_selector.empty() && each.tolerations.empty() && each.node_affinity.empty())
        return no_name;
    std::string text = "rule";
    for (const auto& [label, value] : each.node_selector) text += '\n' + label + '\n' + value;
    text += "\n\n";
    for (const std::string& taint : each.tolerations) text += taint + '\n';
    text += '\n' + text_of(each.node_affinity);
    const int number = names.intern(text);
    rules.try_emplace(number, NodeRule{each.node_selector, each.tolerations, each.node_affinity});
    return number;
}

const NodeRule& Planner::Inside::rule_of(int rule) const {
    static const NodeRule none{};
    const auto found = rules.find(rule);
    return found == rules.end() ? none : found->second;
}

// Null: all nodes.
const NodeBitmap* Planner::Inside::admitted_nodes(int rule) const {
    if (rule == no_name && tainted_nodes == 0) return nullptr;
    const auto [entry, added] = admitted.try_emplace(rule);
    if (!added) return &entry->second;
    const NodeRule& judged = rule_of(rule);
    for (const auto& [name, facts] : nodes) {
        const int position = capacity.find(name);
        if (position >= 0 && judged.admits(facts)) entry->second.insert(position);
    }
    return &entry->second;
}

bool Planner::Inside::rule_admits(int rule, int position) const {
    const NodeBitmap* within = admitted_nodes(rule);
    return within == nullptr || within->contains(position);
}

// A node came, changed, or (without facts) goes: what is known of rules follows.
void Planner::Inside::readmit(int node_name, const NodeFacts* facts) {
    const int position = capacity.find(node_name);
    if (dirty || position < 0) return admitted.clear();
    for (auto& [rule, within] : admitted) {
        if (facts != nullptr && rule_of(rule).admits(*facts))
            within.insert(position);
        else
            within.erase(position);
    }
}

bool Planner::Inside::has_amounts(int position, const model::Resources& each, View view) const {
    const NodeState& node = capacity.node(position);
    return node.cpu.free(view) >= each.cpu_milli && node.memory.free(view) >= each.memory_bytes;
}

bool Planner::Inside::fits(int position, const model::Resources& each, int rule, View view) const {
    return has_amounts(position, each, view) && rule_admits(rule, position);
}

}  // namespace tandem::sched

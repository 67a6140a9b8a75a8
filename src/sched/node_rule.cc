// SPDX-License-Identifier: Apache-2.0
// Which nodes work may go to: labels that it selects, taints that it tolerates.
#include <algorithm>
#include <utility>

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

// The same for work that stays so long and can't be asked to leave.
int Planner::Inside::intern_lasting(int rule, std::int64_t lasts_ms) {
    NodeRule lasting = rule_of(rule);
    lasting.lasts_ms = lasts_ms;
    const std::string text = rule == no_name ? "rule" : names.text(rule);
    const int number = names.intern(text + "\n" + std::to_string(lasts_ms));
    rules.try_emplace(number, std::move(lasting));
    return number;
}

// What was known of rules that ask for a time is of another time.
void Planner::Inside::forget_lasting() {
    if (closing_nodes == 0) return;
    std::erase_if(admitted, [this](const auto& entry) {
        const std::int64_t lasts = rule_of(entry.first).lasts_ms;
        return lasts > 0 && lasts != ends_never;
    });
}

// Where it would have had a place, were it not for a node that closes.
std::optional<Finding> Planner::Inside::find_closing(int class_index, const Demand& demand,
                                                     Plan& plan) {
    const ClassKey& key = waiting.group(class_index).key;
    if (closing_nodes == 0 || !key.lasts()) return std::nullopt;
    ClassView& view = views[static_cast<std::size_t>(class_index)];
    const std::vector<PartView> parts = view.parts;
    if (view.closed != model::ReasonCode::none) return std::nullopt;
    for (std::size_t i = 0; i < parts.size(); ++i) view.parts[i].rule = key.shape[i].rule;
    const std::size_t mark = journal.size();
    const bool shows = std::exchange(unshown.on, false);
    Attempt attempt;
    std::optional<Finding> finding;
    if (place(class_index, demand, attempt, plan)) {
        finding = Finding{.code = model::ReasonCode::node_closes, .queue = key.queue};
        for (const Attempt::Placed& placed : attempt.placed) {
            const NodeFacts& node = nodes.at(slots[static_cast<std::size_t>(placed.slot)].node);
            if (!node.closes || finding->booking != no_name) continue;
            finding->booking = node.closing;
            finding->start = *node.closes;
        }
    }
    undo_to(mark);
    unshown.on = shows;
    view.parts = parts;
    return finding && finding->booking != no_name ? finding : std::nullopt;
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
        if (position >= 0 && judged.admits(facts, time)) entry->second.insert(position);
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
        if (facts != nullptr && rule_of(rule).admits(*facts, time))
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

// SPDX-License-Identifier: Apache-2.0
#include "sched/affinity.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tandem::sched {
namespace {

std::optional<std::int64_t> number_of(const std::string& text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || at != end) return std::nullopt;
    return value;
}

bool matches_one(const model::NodeExpression& one, const model::Labels& node) {
    const auto label = node.find(one.label);
    const bool has = label != node.end();
    const auto listed = [&] {
        return std::ranges::find(one.values, label->second) != one.values.end();
    };
    switch (one.op) {
        case model::LabelOp::in:
            return has && listed();
        case model::LabelOp::not_in:
            return !has || !listed();
        case model::LabelOp::exists:
            return has;
        case model::LabelOp::does_not_exist:
            return !has;
        case model::LabelOp::gt:
        case model::LabelOp::lt:
            break;
    }
    if (!has || one.values.empty()) return false;
    const auto is = number_of(label->second);
    const auto bound = number_of(one.values.front());
    if (!is || !bound) return false;
    return one.op == model::LabelOp::gt ? *is > *bound : *is < *bound;
}

std::string text_of(const model::NodeExpression& one) {
    std::string text = one.label + '\n' + std::string(model::name_of(one.op));
    for (const std::string& value : one.values) text += '\n' + value;
    return text + "\n\n";
}

}  // namespace

bool matches(std::span<const model::NodeExpression> all, const model::Labels& node) {
    return std::ranges::all_of(
        all, [&](const model::NodeExpression& one) { return matches_one(one, node); });
}

std::int64_t worth_of(const model::NodeAffinity& affinity, const model::Labels& node) {
    std::int64_t sum = 0;
    for (const model::NodePreference& preference : affinity.preferred)
        sum += matches(preference.match, node) ? preference.weight : 0;
    return sum;
}

bool selects(const model::Labels& selector, const model::Labels& work) {
    return std::ranges::all_of(selector, [&](const auto& label) {
        const auto found = work.find(label.first);
        return found != work.end() && found->second == label.second;
    });
}

std::string text_of(const model::NodeAffinity& affinity) {
    std::string text;
    for (const model::NodeExpression& one : affinity.required) text += text_of(one);
    for (const model::NodePreference& preference : affinity.preferred) {
        text += '\n' + std::to_string(preference.weight) + '\n';
        for (const model::NodeExpression& one : preference.match) text += text_of(one);
    }
    return text;
}

std::string shown(std::span<const model::NodeExpression> all) {
    std::string text;
    for (const model::NodeExpression& one : all) {
        text += (text.empty() ? "" : "; ") + one.label + " " + std::string(model::name_of(one.op));
        for (std::size_t i = 0; i < one.values.size(); ++i)
            text += (i == 0 ? " " : ",") + one.values[i];
    }
    return text;
}

std::string shown(const model::Labels& labels) {
    std::string text;
    for (const auto& [name, value] : labels) text += (text.empty() ? "" : ",") + name + "=" + value;
    return text;
}

}  // namespace tandem::sched

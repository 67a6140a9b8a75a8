// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include "base/quantity.h"
#include "codec/document.h"
#include "recount/recount.h"

namespace tandem::recount {
namespace {

using codec::Value;

void add_number(Value& object, std::string name, std::int64_t number) {
    object.add(std::move(name),
               Value{.type = codec::ValueType::number, .text = std::to_string(number)});
}

std::map<std::string, std::int64_t> by_state(const Count& count) {
    std::map<std::string, std::int64_t> sums;
    for (const auto& [key, milli_ms] : count.milli_ms) sums[key.state] += milli_ms;
    return sums;
}

std::string state_here(const std::string& state) {
    return state == "failedRerun" || state == "lostToPreemption" || state == "lostToRequest"
               ? "running"
               : state;
}

// No device was its own.
bool is_waiting(std::string_view state) {
    return state == "queued" || state == "suspended";
}

}  // namespace

std::string render_count(const Count& count) {
    Value document = codec::make_object();
    document.add("from", codec::make_text(render_instant(count.from)));
    document.add("to", codec::make_text(render_instant(count.to)));
    Value rows{.type = codec::ValueType::array};
    for (const auto& [key, milli_ms] : count.milli_ms) {
        Value row = codec::make_object();
        row.add("node", codec::make_text(key.node));
        add_number(row, "device", key.device);
        row.add("state", codec::make_text(key.state));
        row.add("pool", codec::make_text(key.pool));
        row.add("project", codec::make_text(key.project));
        add_number(row, "deviceMs", milli_ms / 1000);
        add_number(row, "deviceMsRestMilli", milli_ms % 1000);
        rows.items.push_back(std::move(row));
    }
    document.add("devices", std::move(rows));
    Value totals = codec::make_object();
    for (const auto& [state, milli_ms] : by_state(count))
        add_number(totals, state, milli_ms / 1000);
    document.add("totals", std::move(totals));
    return codec::render_json_pretty(document);
}

Result<std::string> find_difference(const Count& count, std::string_view report) {
    TANDEM_LET(document, codec::parse_json(report));
    const Value* rows = document.find("devices");
    if (rows == nullptr || rows->type != codec::ValueType::array) {
        return invalid_field("devices", "must be the list of a usage report");
    }
    std::map<std::string, std::int64_t> told;
    for (const Value& row : rows->items) {
        const Value* state = row.find("state");
        const Value* device_ms = row.find("deviceMs");
        if (state == nullptr || device_ms == nullptr)
            return invalid_field("devices", "each row must have state and deviceMs");
        TANDEM_LET(ms, parse_integer(device_ms->text_or_empty()));
        const Value* rest = row.find("deviceMsRestMilli");
        const std::int64_t milli =
            rest == nullptr ? 0 : parse_integer(rest->text_or_empty()).value_or(0);
        if (!is_waiting(state->text)) told[state_here(state->text)] += ms * 1000 + milli;
    }
    std::map<std::string, std::int64_t> counted = by_state(count);
    for (const auto& [state, milli_ms] : told) counted.try_emplace(state, 0);
    for (const auto& [state, milli_ms] : counted) {
        if (told[state] / 1000 == milli_ms / 1000) continue;
        return state + ": " + std::to_string(milli_ms / 1000) + " device-ms counted, " +
               std::to_string(told[state] / 1000) + " reported";
    }
    return std::string{};
}

}  // namespace tandem::recount

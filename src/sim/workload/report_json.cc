// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/report_json.h"

#include <algorithm>

namespace tandem::sim {
namespace {

using codec::JsonWriter;

std::int64_t device_seconds(Wide milli_ms) {
    return static_cast<std::int64_t>(milli_ms / 1'000'000);
}

void number(JsonWriter& json, std::string_view name, std::int64_t value) {
    json.key(name);
    json.number(value);
}

void words(JsonWriter& json, std::string_view name, std::string_view text) {
    json.key(name);
    json.text(text);
}

void curve(JsonWriter& json, std::string_view name, const std::vector<std::int64_t>& values) {
    json.key(name);
    json.begin_array();
    for (const std::int64_t value : values) json.number(value);
    json.end_array();
}

void write_flavor(JsonWriter& json, const FlavorFigures& one) {
    json.begin_object();
    words(json, "flavor", one.flavor);
    curve(json, "capacityMilli", one.capacity);
    curve(json, "usedMilli", one.used);
    curve(json, "fragmentedMilli", one.fragmented);
    number(json, "usedPerMille", per_mille(one.used_ms, one.capacity_ms));
    number(json, "fragmentedPerMille", per_mille(one.fragmented_ms, one.capacity_ms));
    json.end_object();
}

void write_queue(JsonWriter& json, const QueueFigures& one) {
    json.begin_object();
    words(json, "queue", one.queue);
    words(json, "parent", one.parent);
    words(json, "flavor", one.flavor);
    number(json, "nominalMilli", one.nominal);
    number(json, "weight", one.weight);
    curve(json, "usedMilli", one.used);
    number(json, "deviceSeconds", device_seconds(one.used_ms));
    number(json, "borrowedDeviceSeconds", device_seconds(one.borrowed_ms));
    number(json, "shareOfUsePerMille", one.share_of_use);
    number(json, "shareOfBorrowedPerMille", one.share_of_borrowed);
    number(json, "shareByWeightPerMille", one.share_by_weight);
    json.end_object();
}

void write_class(JsonWriter& json, const ClassFigures& one, Wide capacity) {
    json.begin_object();
    words(json, "class", one.name);
    number(json, "jobs", one.jobs);
    number(json, "started", one.started);
    number(json, "ended", one.ended);
    number(json, "evictions", one.evictions);
    number(json, "deviceSeconds", device_seconds(one.used_ms));
    number(json, "usedPerMille", per_mille(one.used_ms, capacity));
    json.key("waitSeconds");
    write_waits(json, one.waits_ms);
    json.key("waits");
    json.begin_array();
    const auto spread = spread_of(one.waits_ms);
    for (std::size_t i = 0; i < spread.size(); ++i) {
        json.begin_object();
        if (i < wait_bounds.size()) number(json, "underSeconds", wait_bounds[i]);
        number(json, "jobs", spread[i]);
        json.end_object();
    }
    json.end_array();
    json.end_object();
}

}  // namespace

std::array<std::int64_t, wait_bounds.size() + 1> spread_of(
    const std::vector<std::int64_t>& waits_ms) {
    std::array<std::int64_t, wait_bounds.size() + 1> spread{};
    for (const std::int64_t wait : waits_ms) {
        const auto* range = std::ranges::find_if(
            wait_bounds, [wait](std::int64_t bound) { return wait < bound * 1000; });
        spread[static_cast<std::size_t>(range - wait_bounds.begin())] += 1;
    }
    return spread;
}

void write_waits(JsonWriter& json, const std::vector<std::int64_t>& ascending_ms) {
    json.begin_object();
    number(json, "mean", mean_of(ascending_ms) / 1000);
    for (const auto& [name, percent] :
         {std::pair{"p50", 50}, {"p95", 95}, {"p99", 99}, {"max", 100}})
        number(json, name, percentile_of(ascending_ms, percent) / 1000);
    json.end_object();
}

std::vector<std::int64_t> all_waits(const ChronicleFigures& figures) {
    std::vector<std::int64_t> waits;
    for (const ClassFigures& one : figures.classes)
        waits.insert(waits.end(), one.waits_ms.begin(), one.waits_ms.end());
    std::ranges::sort(waits);
    return waits;
}

Wide capacity_of(const ChronicleFigures& figures) {
    Wide capacity = 0;
    for (const FlavorFigures& one : figures.flavors) capacity += one.capacity_ms;
    return capacity;
}

void write_chronicle(JsonWriter& json, const ChronicleFigures& figures) {
    const Wide capacity = capacity_of(figures);
    number(json, "lengthSeconds", figures.length.ms / 1000);
    number(json, "bucketMilliseconds", figures.bucket.ms);
    curve(json, "waiting", figures.waiting);
    const auto list = [&](std::string_view name, const auto& rows, const auto& write) {
        json.key(name);
        json.begin_array();
        for (const auto& one : rows) write(one);
        json.end_array();
    };
    list("flavors", figures.flavors, [&](const auto& one) { write_flavor(json, one); });
    list("queues", figures.queues, [&](const auto& one) { write_queue(json, one); });
    list("classes", figures.classes, [&](const auto& one) { write_class(json, one, capacity); });
}

}  // namespace tandem::sim

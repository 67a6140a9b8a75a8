// SPDX-License-Identifier: Apache-2.0
// What a replay found, in JSON, as a table and as a page.
#include <fmt/format.h>

#include <set>

#include "sim/workload/replay_history.h"
#include "sim/workload/report_json.h"

namespace tandem::sim {
namespace {

const ClassFigures* find_class(const ReplayFigures& figures, const std::string& name) {
    for (const ClassFigures& one : figures.chronicle.classes)
        if (one.name == name) return &one;
    return nullptr;
}

std::int64_t total(const ReplayFigures& figures, std::int64_t ClassFigures::* member) {
    std::int64_t sum = 0;
    for (const ClassFigures& one : figures.chronicle.classes) sum += one.*member;
    return sum;
}

std::int64_t use_of(const ReplayFigures& figures) {
    Wide used = 0;
    for (const ClassFigures& one : figures.chronicle.classes) used += one.used_ms;
    return per_mille(used, capacity_of(figures.chronicle));
}

std::string percent(std::int64_t per_mille) {
    return fmt::format("{}.{} %", per_mille / 10, per_mille % 10);
}

std::string time(std::int64_t ms) {
    return render_duration(seconds(ms / 1000));
}

std::string row(const std::string& head, const std::string& before, const std::string& after) {
    return fmt::format("{:<30} {:>16} {:>16}\n", head, before, after);
}

std::string class_rows(const ClassFigures* before, const ClassFigures* after, Wide capacity_before,
                       Wide capacity_after, const std::string& name) {
    const auto of = [](const ClassFigures* one, auto text) {
        return one == nullptr ? std::string() : text(*one);
    };
    const auto wait = [](std::int64_t percent_of_all) {
        return [percent_of_all](const ClassFigures& one) {
            return time(percentile_of(one.waits_ms, percent_of_all));
        };
    };
    const auto each = [&](const std::string& head, auto text) {
        return row("  " + head, of(before, text), of(after, text));
    };
    std::string text = name + "\n";
    text += each("started of jobs", [](const ClassFigures& one) {
        return fmt::format("{} of {}", one.started, one.jobs);
    });
    text += each("mean wait", [](const auto& one) { return time(mean_of(one.waits_ms)); });
    text += each("95 % wait at most", wait(95)) + each("longest wait", wait(100));
    text += each("evictions", [](const auto& one) { return std::to_string(one.evictions); });
    const auto use = [](const ClassFigures* one, Wide capacity) {
        return one == nullptr ? std::string() : percent(per_mille(one->used_ms, capacity));
    };
    return text +
           row("  of all device-time", use(before, capacity_before), use(after, capacity_after));
}

}  // namespace

std::vector<ReportSum> sums_of(const ReplayFigures& one) {
    return {{"refused", "not taken by these queues", "被拒绝", one.refused},
            {"cutOff", "ran still at the export", "导出时仍在运行", one.cut_off},
            {"guessed", "run time is a guess", "时长为估计", one.guessed},
            {"devices", "devices", "设备数", one.devices},
            {"makespanSeconds", "seconds to the last end", "总时长（秒）", one.makespan_ms / 1000}};
}

void write_replay(codec::JsonWriter& json, const ReplayFigures& one) {
    std::vector<ReportSum> sums{
        {.key = "jobs", .value = total(one, &ClassFigures::jobs) + one.refused},
        {.key = "started", .value = total(one, &ClassFigures::started)},
        {.key = "finished", .value = total(one, &ClassFigures::ended)},
        {.key = "evictions", .value = one.evictions},
        {.key = "usedPerMille", .value = use_of(one)}};
    for (const std::vector<ReportSum>& list : {sums, sums_of(one)})
        for (const ReportSum& sum : list) {
            json.key(sum.key);
            json.number(sum.value);
        }
    if (!one.first_refusal.empty()) {
        json.key("firstRefusal");
        json.text(one.first_refusal);
    }
    json.key("waitSeconds");
    write_waits(json, all_waits(one.chronicle));
    write_chronicle(json, one.chronicle);
}

std::string render_replay(const ReplayFigures& before, const ReplayFigures* after) {
    std::string text;
    codec::JsonWriter json(text);
    json.begin_object();
    for (const auto& [name, one] : {std::pair{"before", &before}, {"after", after}}) {
        if (one == nullptr) continue;
        json.key(name);
        json.begin_object();
        write_replay(json, *one);
        json.end_object();
    }
    json.end_object();
    return text;
}

std::string render_table(const ReplayFigures& before, const ReplayFigures* after) {
    const auto line = [&](const std::string& head, auto text_of) {
        return row(head, text_of(before), after != nullptr ? text_of(*after) : "");
    };
    std::string text = row("", "as it was", after != nullptr ? "with the change" : "");
    text += line("started of jobs", [](const ReplayFigures& one) {
        return fmt::format("{} of {}", total(one, &ClassFigures::started),
                           total(one, &ClassFigures::jobs) + one.refused);
    });
    text += line("evictions", [](const auto& one) { return std::to_string(one.evictions); });
    text += line("device-time in use", [](const auto& one) { return percent(use_of(one)); });
    text +=
        line("mean wait", [](const auto& one) { return time(mean_of(all_waits(one.chronicle))); });
    for (const auto& [head, part] :
         {std::pair{"median wait", 50}, {"95 % wait at most", 95}, {"longest wait", 100}})
        text += line(head, [part](const auto& one) {
            return time(percentile_of(all_waits(one.chronicle), part));
        });
    const std::vector<ReportSum> sums = sums_of(before);
    for (std::size_t i = 0; i < sums.size(); ++i)
        text += line(sums[i].title,
                     [i](const auto& one) { return std::to_string(sums_of(one)[i].value); });
    std::set<std::string> names;
    for (const ClassFigures& one : before.chronicle.classes) names.insert(one.name);
    if (after != nullptr)
        for (const ClassFigures& one : after->chronicle.classes) names.insert(one.name);
    for (const std::string& name : names)
        text += "\n" + class_rows(find_class(before, name),
                                  after != nullptr ? find_class(*after, name) : nullptr,
                                  capacity_of(before.chronicle),
                                  after != nullptr ? capacity_of(after->chronicle) : 0, name);
    const ReplayFigures& last = after != nullptr ? *after : before;
    if (!last.first_refusal.empty())
        text += "\nfirst that was not taken: " + last.first_refusal + "\n";
    return text;
}

ReportPage page_of(const ReplayFigures& before, const ReplayFigures* after) {
    ReportPage page{.title = "An exported history, replayed",
                    .about =
                        "Every job at its time and for as long as it really ran; "
                        "tandem sim what-if",
                    .parts = {{"as it was", "原样", &before.chronicle, sums_of(before)}}};
    if (after != nullptr)
        page.parts.push_back({"with the change", "更改后", &after->chronicle, sums_of(*after)});
    return page;
}

}  // namespace tandem::sim

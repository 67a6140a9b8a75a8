// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/quantity.h"
#include "sim/workload/chart.h"
#include "sim/workload/report_json.h"

namespace tandem::sim {
namespace {

constexpr std::size_t queues_drawn_max = 9;  // one colour each; the rest together
constexpr std::size_t classes_drawn_max = 12;
constexpr std::array<const char*, queues_drawn_max> colours{"#2f6fb0", "#e08a2c", "#4a9a62",
                                                            "#b6515f", "#7d6bb0", "#8a6a52",
                                                            "#3a9ca6", "#c277a8", "#a3a33c"};
constexpr const char* other_colour = "#b9bec6";
constexpr const char* style = R"(
body{font:15px/1.5 system-ui,"Noto Sans CJK SC","PingFang SC",sans-serif;color:#23272e;background:#fbfbfa;
  margin:0 auto;max-width:1240px;padding:28px 24px 60px}
h1{font-size:24px;margin:0 0 4px}h2{font-size:17px;margin:36px 0 8px}h3{font-size:14px;margin:6px 0;color:#4a515c}
p{margin:4px 0 10px;color:#4a515c}small{color:#6d7580;font-weight:normal}
.parts{display:grid;grid-template-columns:repeat(auto-fit,minmax(420px,1fr));gap:20px}
figure{margin:0;background:#fff;border:1px solid #e4e6e9;border-radius:6px;padding:10px 12px}
figcaption{font-size:12px;color:#4a515c}figcaption i{display:inline-block;width:11px;height:11px;border-radius:2px;
  margin:0 4px 0 12px;vertical-align:-1px}
svg{width:100%;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:#5b636e}
.grid{stroke:#e9ebee;stroke-width:1}.tick{stroke:#c3c8cf;stroke-width:1}.mark{stroke:#23272e;stroke-width:2}
.bar{fill:#2f6fb0}
.wide{overflow-x:auto}table{border-collapse:collapse;background:#fff;font-size:13px;margin:8px 0}
th,td{border:1px solid #e4e6e9;padding:4px 10px;text-align:right;white-space:nowrap}
th{background:#f4f5f6;font-weight:600}th:first-child,td:first-child{text-align:left}
.problems{border:1px solid #d9a5a5;background:#fdf3f3;border-radius:6px;padding:8px 14px}
)";

std::string both(std::string_view english, std::string_view chinese) {
    return fmt::format("{} <small lang=\"zh\">{}</small>", escape_xml(english),
                       escape_xml(chinese));
}

std::string cell(std::string_view key, std::int64_t value, std::string_view text) {
    return fmt::format("<td data-of=\"{}\" data-value=\"{}\">{}</td>", key, value,
                       escape_xml(text));
}
std::string count_cell(std::string_view key, std::int64_t value) {
    return cell(key, value, std::to_string(value));
}
std::string percent_cell(std::string_view key, std::int64_t per_mille) {
    return cell(key, per_mille, fmt::format("{}.{} %", per_mille / 10, per_mille % 10));
}
std::string time_cell(std::string_view key, std::int64_t whole_seconds) {
    return cell(key, whole_seconds, render_duration(seconds(whole_seconds)));
}
std::string devices_cell(std::string_view key, std::int64_t milli) {
    return cell(key, milli, milli == model::unlimited ? "-" : render_milli(milli));
}

std::string wait_cells(const std::vector<std::int64_t>& waits) {
    std::string cells = time_cell("mean", mean_of(waits) / 1000);
    for (const auto& [key, percent] :
         {std::pair{"p50", 50}, {"p95", 95}, {"p99", 99}, {"max", 100}})
        cells += time_cell(key, percentile_of(waits, percent) / 1000);
    return cells;
}
constexpr std::string_view wait_heads =
    "<th>mean wait <small lang=\"zh\">平均等待</small></th><th>p50</th><th>p95</th><th>p99</th>"
    "<th>longest <small lang=\"zh\">最长</small></th>";

// The parts of a topic side by side.
template <class Draw>
std::string topic(const ReportPage& page, std::string_view title, std::string_view title_zh,
                  std::string_view about, Draw draw) {
    std::string html = fmt::format("<h2>{}</h2>\n<p>{}</p>\n<div class=\"parts\">\n",
                                   both(title, title_zh), about);
    for (const ReportPart& part : page.parts) {
        html += "<figure>\n";
        if (page.parts.size() > 1)
            html += fmt::format("<h3>{}</h3>\n", both(part.name, part.name_zh));
        html += draw(part) + "</figure>\n";
    }
    return html + "</div>\n";
}

std::string legend(const std::vector<ChartLine>& lines) {
    std::string html = "<figcaption>";
    for (const ChartLine& line : lines)
        html +=
            fmt::format("<i style=\"background:{}\"></i>{}", line.colour, escape_xml(line.label));
    return html + "</figcaption>\n";
}

std::int64_t highest_in(const std::vector<std::int64_t>& values) {
    return values.empty() ? 0 : std::ranges::max(values);
}

// Axes that hold all parts.
ChartFrame frame_of(const ReportPage& page, const ReportPart& part, std::string title,
                    std::int64_t highest) {
    ChartFrame frame{.title = std::move(title), .bucket = part.figures->bucket, .top = highest};
    for (const ReportPart& one : page.parts)
        frame.length = std::max(frame.length, one.figures->length);
    return frame;
}

std::string sums_table(const ReportPage& page) {
    std::vector<std::pair<std::string, std::string>> rows;  // head, cells
    const auto row = [&](std::string_view title, std::string_view title_zh, const auto& cell_of) {
        std::string cells;
        for (const ReportPart& part : page.parts) cells += cell_of(part);
        rows.emplace_back(both(title, title_zh), std::move(cells));
    };
    const auto classes = [](const ReportPart& part, auto member) {
        std::int64_t sum = 0;
        for (const ClassFigures& one : part.figures->classes) sum += one.*member;
        return sum;
    };
    const auto share = [](const ReportPart& part, auto member) {
        Wide sum = 0;
        for (const FlavorFigures& one : part.figures->flavors) sum += one.*member;
        return per_mille(sum, capacity_of(*part.figures));
    };
    const auto wait = [](const ReportPart& part, std::int64_t percent) {
        return percentile_of(all_waits(*part.figures), percent) / 1000;
    };
    row("jobs", "作业",
        [&](const auto& p) { return count_cell("jobs", classes(p, &ClassFigures::jobs)); });
    row("started", "已启动",
        [&](const auto& p) { return count_cell("started", classes(p, &ClassFigures::started)); });
    row("ended", "已结束",
        [&](const auto& p) { return count_cell("ended", classes(p, &ClassFigures::ended)); });
    row("evictions", "驱逐", [&](const auto& p) {
        return count_cell("evictions", classes(p, &ClassFigures::evictions));
    });
    row("time looked at", "时长",
        [&](const auto& p) { return time_cell("lengthSeconds", p.figures->length.ms / 1000); });
    row("devices in use", "设备利用率", [&](const auto& p) {
        return percent_cell("usedPerMille", share(p, &FlavorFigures::used_ms));
    });
    row("free and of no use", "碎片率", [&](const auto& p) {
        return percent_cell("fragmentedPerMille", share(p, &FlavorFigures::fragmented_ms));
    });
    row("mean wait", "平均等待", [&](const auto& p) {
        return time_cell("waitMean", mean_of(all_waits(*p.figures)) / 1000);
    });
    row("median wait", "等待中位数",
        [&](const auto& p) { return time_cell("waitP50", wait(p, 50)); });
    row("95 % wait at most", "95 % 等待不超过",
        [&](const auto& p) { return time_cell("waitP95", wait(p, 95)); });
    row("longest wait", "最长等待",
        [&](const auto& p) { return time_cell("waitMax", wait(p, 100)); });
    for (std::size_t i = 0; i < page.parts.front().sums.size(); ++i)
        row(page.parts.front().sums[i].title, page.parts.front().sums[i].title_zh,
            [i](const auto& p) { return count_cell(p.sums[i].key, p.sums[i].value); });
    std::string html = "<table id=\"sums\">\n<tr><th></th>";
    for (const ReportPart& part : page.parts)
        html += fmt::format("<th>{}</th>", both(part.name, part.name_zh));
    html += "</tr>\n";
    for (const auto& [head, cells] : rows)
        html += fmt::format("<tr><th>{}</th>{}</tr>\n", head, cells);
    return html + "</table>\n";
}

std::string flavors_topic(const ReportPage& page) {
    std::int64_t highest = 0;
    for (const ReportPart& part : page.parts)
        for (const FlavorFigures& one : part.figures->flavors)
            highest = std::max(highest, highest_in(one.capacity));
    return topic(
        page, "Devices by flavor", "各型号设备占用",
        both("In use, and free but of no use to typical work; dashed: all there are.",
             "已占用，以及空闲但常见作业用不上的；虚线为总量。"),
        [&](const ReportPart& part) {
            std::string html;
            for (const FlavorFigures& one : part.figures->flavors) {
                const std::vector<ChartLine> lines{
                    {.label = "in use 占用",
                     .values = one.used,
                     .colour = "#9cc3e6",
                     .filled = true},
                    {.label = "of no use 碎片", .values = one.fragmented, .colour = "#c05a4a"},
                    {.label = "all 总量",
                     .values = one.capacity,
                     .colour = "#4a515c",
                     .dashed = true}};
                html += fmt::format("<h3>{}</h3>\n", escape_xml(one.flavor));
                html +=
                    draw_lines(frame_of(page, part, "devices of " + one.flavor, highest), lines);
                html += legend(lines);
            }
            return html;
        });
}

// The largest users of a flavor, the rest together; queues without children alone, or they'd count
// twice.
std::vector<ChartLine> queue_lines_of(const ChronicleFigures& figures, const std::string& flavor) {
    std::vector<const QueueFigures*> leaves;
    for (const QueueFigures& one : figures.queues) {
        const bool inner = std::ranges::any_of(
            figures.queues, [&](const QueueFigures& other) { return other.parent == one.queue; });
        if (!inner && one.flavor == flavor && one.used_ms > 0) leaves.push_back(&one);
    }
    std::ranges::sort(leaves, [](const auto* a, const auto* b) {
        return a->used_ms != b->used_ms ? a->used_ms > b->used_ms : a->queue < b->queue;
    });
    std::vector<ChartLine> lines;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (i < queues_drawn_max) {
            lines.push_back(
                {.label = leaves[i]->queue, .values = leaves[i]->used, .colour = colours[i]});
            continue;
        }
        if (i == queues_drawn_max)
            lines.push_back({.label = "others 其他", .values = {}, .colour = other_colour});
        std::vector<std::int64_t>& sum = lines.back().values;
        sum.resize(std::max(sum.size(), leaves[i]->used.size()));
        for (std::size_t at = 0; at < leaves[i]->used.size(); ++at) sum[at] += leaves[i]->used[at];
    }
    return lines;
}

std::string queues_topic(const ReportPage& page) {
    std::int64_t highest = 0;
    for (const ReportPart& part : page.parts)
        for (const FlavorFigures& one : part.figures->flavors)
            highest = std::max(highest, highest_in(one.capacity));
    return topic(page, "Devices by queue", "各队列设备占用",
                 both("What each queue's quota is charged with, one on the other.",
                      "各队列配额占用，逐层叠加。"),
                 [&](const ReportPart& part) {
                     std::string html;
                     for (const FlavorFigures& one : part.figures->flavors) {
                         const auto lines = queue_lines_of(*part.figures, one.flavor);
                         if (lines.empty()) continue;
                         html += fmt::format("<h3>{}</h3>\n", escape_xml(one.flavor));
                         html += draw_stack(
                             frame_of(page, part, "queues on " + one.flavor, highest), lines);
                         html += legend(lines);
                     }
                     return html;
                 });
}

std::string waiting_topic(const ReportPage& page) {
    std::int64_t highest = 0;
    for (const ReportPart& part : page.parts)
        highest = std::max(highest, highest_in(part.figures->waiting));
    return topic(page, "Jobs that wait", "等待中的作业", both("Over time.", "随时间变化。"),
                 [&](const ReportPart& part) {
                     return draw_lines(frame_of(page, part, "jobs that wait", highest),
                                       {{.label = "waiting 等待",
                                         .values = part.figures->waiting,
                                         .colour = "#e8b67a",
                                         .filled = true}});
                 });
}

std::vector<std::string> range_names() {
    std::vector<std::string> names;
    for (const std::int64_t bound : wait_bounds)
        names.push_back("<" + render_duration(seconds(bound)));
    names.emplace_back("more");
    return names;
}

std::string class_table(const ChronicleFigures& figures) {
    std::string html =
        "<div class=\"wide\"><table class=\"classes\">\n<tr><th>class <small "
        "lang=\"zh\">类别</small></th>"
        "<th>jobs <small lang=\"zh\">作业</small></th><th>started <small "
        "lang=\"zh\">已启动</small></th>"
        "<th>ended <small lang=\"zh\">已结束</small></th><th>evictions <small "
        "lang=\"zh\">驱逐</small></th>"
        "<th>use <small lang=\"zh\">利用率</small></th>";
    html += std::string(wait_heads) + "</tr>\n";
    for (const ClassFigures& one : figures.classes) {
        html += fmt::format("<tr data-class=\"{0}\"><td>{0}</td>", escape_xml(one.name));
        html += count_cell("jobs", one.jobs) + count_cell("started", one.started) +
                count_cell("ended", one.ended) + count_cell("evictions", one.evictions) +
                percent_cell("usedPerMille", per_mille(one.used_ms, capacity_of(figures))) +
                wait_cells(one.waits_ms) + "</tr>\n";
    }
    return html + "</table></div>\n";
}

std::string classes_topic(const ReportPage& page) {
    return topic(
        page, "Waits by class", "各类作业等待时间",
        both("How many jobs waited how long from submission to first start; a class is the label "
             "\"class\", or else the queue.",
             "从提交到首次启动的等待时间分布；类别取标签 class，否则取队列。"),
        [&](const ReportPart& part) {
            std::vector<const ClassFigures*> largest;
            for (const ClassFigures& one : part.figures->classes) largest.push_back(&one);
            std::ranges::sort(largest, [](const auto* a, const auto* b) {
                return a->jobs != b->jobs ? a->jobs > b->jobs : a->name < b->name;
            });
            std::vector<BarRow> rows;
            for (const ClassFigures* one : largest) {
                if (rows.size() == classes_drawn_max) break;
                const auto spread = spread_of(one->waits_ms);
                rows.push_back({one->name, {spread.begin(), spread.end()}});
            }
            return draw_spreads("waits by class", range_names(), rows) + class_table(*part.figures);
        });
}

std::string fairness_table(const ChronicleFigures& figures) {
    std::string html =
        "<div class=\"wide\"><table class=\"queues\">\n<tr><th>queue <small "
        "lang=\"zh\">队列</small></th>"
        "<th>flavor <small lang=\"zh\">型号</small></th><th>nominal <small "
        "lang=\"zh\">配额</small></th>"
        "<th>weight <small lang=\"zh\">权重</small></th>"
        "<th>by weight <small lang=\"zh\">应得</small></th>"
        "<th>of use <small lang=\"zh\">占用份额</small></th>"
        "<th>of borrowed <small lang=\"zh\">借用份额</small></th>"
        "<th>device-seconds <small lang=\"zh\">设备秒</small></th></tr>\n";
    for (const QueueFigures& one : figures.queues) {
        html += fmt::format("<tr data-queue=\"{0}\" data-flavor=\"{1}\"><td>{0}</td><td>{1}</td>",
                            escape_xml(one.queue), escape_xml(one.flavor));
        html += devices_cell("nominalMilli", one.nominal) + count_cell("weight", one.weight) +
                percent_cell("shareByWeightPerMille", one.share_by_weight) +
                percent_cell("shareOfUsePerMille", one.share_of_use) +
                percent_cell("shareOfBorrowedPerMille", one.share_of_borrowed) +
                count_cell("deviceSeconds", static_cast<std::int64_t>(one.used_ms / 1'000'000)) +
                "</tr>\n";
    }
    return html + "</table></div>\n";
}

std::string fairness_topic(const ReportPage& page) {
    return topic(
        page, "Shares against weights", "公平性：份额与权重",
        both("Of what siblings used (blue) and borrowed (orange) while one of them waited; black: "
             "what its weight says.",
             "同级队列有等待时的占用份额（蓝）与借用份额（橙）；黑线为按权重应得。"),
        [&](const ReportPart& part) {
            std::vector<ShareRow> rows;
            for (const QueueFigures& one : part.figures->queues)
                if (one.contested_ms > 0 && rows.size() < 40)
                    rows.push_back({one.queue + " · " + one.flavor,
                                    {one.share_of_use, one.share_of_borrowed},
                                    one.share_by_weight});
            return draw_shares("shares by queue", {"#9cc3e6", "#e8b67a"}, rows) +
                   fairness_table(*part.figures);
        });
}

std::string problems_of(const ReportPage& page) {
    if (page.problems.empty()) return "";
    std::string html = fmt::format("<div class=\"problems\"><h2>{}</h2><ul>",
                                   both("Not as expected", "与预期不符"));
    for (const std::string& problem : page.problems)
        html += fmt::format("<li>{}</li>", escape_xml(problem));
    return html + "</ul></div>\n";
}

}  // namespace

std::string render_page(const ReportPage& page) {
    std::string html = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
        "<meta charset=\"utf-8\"/>\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
        "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p>{2}</p>\n",
        escape_xml(page.title), style, escape_xml(page.about));
    html += problems_of(page) + sums_table(page) + flavors_topic(page) + queues_topic(page) +
            waiting_topic(page) + classes_topic(page) + fairness_topic(page);
    return html + "</body>\n</html>\n";
}

}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/quantity.h"
#include "base/wide.h"

namespace tandem::sim {
namespace {

// Of the canvas, in tenths of a unit.
constexpr std::int64_t width = 6400;
constexpr std::int64_t height = 2200;
constexpr std::int64_t left = 560;
constexpr std::int64_t right = 140;
constexpr std::int64_t top = 100;
constexpr std::int64_t bottom = 260;
constexpr std::int64_t plot_width = width - left - right;
constexpr std::int64_t plot_height = height - top - bottom;
constexpr std::int64_t ticks_max = 6;
constexpr std::int64_t time_ticks_max = 8;

std::string tenths(std::int64_t value) {
    return value % 10 == 0 ? std::to_string(value / 10)
                           : fmt::format("{}.{}", value / 10, value % 10);
}

std::int64_t part_of(std::int64_t room, std::int64_t part, std::int64_t whole) {
    return whole <= 0 ? 0 : static_cast<std::int64_t>(Wide{room} * part / whole);
}

std::string open_svg(std::int64_t high, const std::string& title) {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\">"
        "<title>{}</title>\n",
        width / 10, high / 10, escape_xml(title));
}

std::string text_at(std::int64_t x, std::int64_t y, const char* anchor, std::string_view text) {
    return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", tenths(x),
                       tenths(y), anchor, escape_xml(text));
}

std::string line_at(std::int64_t x1, std::int64_t y1, std::int64_t x2, std::int64_t y2,
                    const char* kind) {
    return fmt::format("<line class=\"{}\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", kind,
                       tenths(x1), tenths(y1), tenths(x2), tenths(y2));
}

// 1, 2 or 5 times a power of ten.
std::int64_t round_step(std::int64_t most) {
    for (std::int64_t power = 1;; power *= 10)
        for (const std::int64_t digit : {1, 2, 5})
            if (digit * power * ticks_max >= most) return digit * power;
}

Duration time_step(Duration length) {
    constexpr std::array<std::int64_t, 20> steps{
        1,    2,    5,    10,     15,     30,     60,     120,     300,     600,
        1800, 3600, 7200, 14'400, 21'600, 43'200, 86'400, 172'800, 604'800, 2'592'000};
    for (const std::int64_t step : steps)
        if (length.ms <= step * 1000 * time_ticks_max) return seconds(step);
    return {(length.ms / (steps.back() * 1000 * time_ticks_max) + 1) * steps.back() * 1000};
}

struct Axes {
    explicit Axes(const ChartFrame& asked) : frame(asked) {
        const std::int64_t step = round_step(std::max<std::int64_t>(frame.top, 1));
        highest = (std::max<std::int64_t>(frame.top, 1) + step - 1) / step * step;
        tick = step;
    }
    std::int64_t x(std::size_t bucket) const {
        const std::int64_t at =
            std::min(frame.length.ms, static_cast<std::int64_t>(bucket) * frame.bucket.ms);
        return left + part_of(plot_width, at, frame.length.ms);
    }
    std::int64_t y(std::int64_t value) const {
        return top + plot_height - part_of(plot_height, value, highest);
    }
    std::string draw() const {
        std::string svg;
        for (std::int64_t value = 0; value <= highest; value += tick) {
            svg += line_at(left, y(value), width - right, y(value), "grid");
            svg += text_at(left - 60, y(value) + 40, "end", render_milli(value));
        }
        const Duration step = time_step(frame.length);
        for (Duration at{}; at <= frame.length; at = at + step) {
            const std::int64_t place = left + part_of(plot_width, at.ms, frame.length.ms);
            svg += line_at(place, y(0), place, y(0) + 50, "tick");
            svg += text_at(place, y(0) + 180, "middle", render_duration(at));
        }
        return svg;
    }

    const ChartFrame& frame;
    std::int64_t highest = 1;
    std::int64_t tick = 1;
};

std::string steps_of(const Axes& axes, const std::vector<std::int64_t>& values, bool filled) {
    if (values.empty()) return "M0 0";
    std::string path =
        filled ? fmt::format("M{} {}V{}", tenths(axes.x(0)), tenths(axes.y(0)),
                             tenths(axes.y(values.front())))
               : fmt::format("M{} {}", tenths(axes.x(0)), tenths(axes.y(values.front())));
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0 && values[i] != values[i - 1])
            path += fmt::format("V{}", tenths(axes.y(values[i])));
        if (i + 1 == values.size() || values[i + 1] != values[i])
            path += fmt::format("H{}", tenths(axes.x(i + 1)));
    }
    if (filled) path += fmt::format("V{}Z", tenths(axes.y(0)));
    return path;
}

std::string join(const std::vector<std::int64_t>& values) {
    std::string text;
    for (const std::int64_t value : values)
        text += (text.empty() ? "" : " ") + std::to_string(value);
    return text;
}

std::string draw_line(const Axes& axes, const ChartLine& line,
                      const std::vector<std::int64_t>& shown) {
    const std::string look =
        line.filled ? fmt::format("fill=\"{}\" stroke=\"none\"", line.colour)
                    : fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"{}", line.colour,
                                  line.dashed ? " stroke-dasharray=\"4 3\"" : "");
    return fmt::format(
        "<path {} d=\"{}\" data-label=\"{}\" data-values=\"{}\"><title>{}</title>"
        "</path>\n",
        look, steps_of(axes, shown, line.filled), escape_xml(line.label), join(line.values),
        escape_xml(line.label));
}

}  // namespace

std::string escape_xml(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '&')
            safe += "&amp;";
        else if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '"')
            safe += "&quot;";
        else if (byte < 0x20 && c != '\n' && c != '\t')
            safe += "\xEF\xBF\xBD";
        else
            safe += c;
    }
    return safe;
}

std::string draw_lines(const ChartFrame& frame, const std::vector<ChartLine>& lines) {
    const Axes axes(frame);
    std::string svg = open_svg(height, frame.title) + axes.draw();
    for (const ChartLine& line : lines) svg += draw_line(axes, line, line.values);
    return svg + "</svg>\n";
}

std::string draw_stack(const ChartFrame& frame, std::vector<ChartLine> lines) {
    const Axes axes(frame);
    std::string svg = open_svg(height, frame.title) + axes.draw();
    std::vector<std::vector<std::int64_t>> sums;
    std::vector<std::int64_t> sum;
    for (ChartLine& line : lines) {
        sum.resize(std::max(sum.size(), line.values.size()));
        for (std::size_t i = 0; i < line.values.size(); ++i) sum[i] += line.values[i];
        sums.push_back(sum);
        line.filled = true;
    }
    // The highest first, so that each covers what is not its own.
    for (std::size_t i = lines.size(); i-- > 0;) svg += draw_line(axes, lines[i], sums[i]);
    return svg + "</svg>\n";
}

std::string draw_spreads(const std::string& title, const std::vector<std::string>& ranges,
                         const std::vector<BarRow>& rows) {
    constexpr std::int64_t row_height = 620;
    constexpr std::int64_t label_width = 1300;
    constexpr std::int64_t bar_room = 400;
    const auto columns = static_cast<std::int64_t>(std::max<std::size_t>(ranges.size(), 1));
    const std::int64_t column = (width - label_width - right) / columns;
    const std::int64_t high = static_cast<std::int64_t>(rows.size()) * row_height + 300;
    std::string svg = open_svg(high, title);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const std::int64_t base = static_cast<std::int64_t>(r + 1) * row_height;
        svg += text_at(label_width - 100, base - 100, "end", rows[r].label);
        svg += line_at(label_width, base, width - right, base, "grid");
        std::int64_t most = 1;
        for (const std::int64_t count : rows[r].counts) most = std::max(most, count);
        for (std::size_t i = 0; i < rows[r].counts.size(); ++i) {
            const std::int64_t count = rows[r].counts[i];
            if (count == 0) continue;
            const std::int64_t x = label_width + static_cast<std::int64_t>(i) * column;
            const std::int64_t bar = std::max<std::int64_t>(10, part_of(bar_room, count, most));
            svg +=
                fmt::format("<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                            tenths(x + 30), tenths(base - bar), tenths(column - 60), tenths(bar));
            svg += text_at(x + column / 2, base - bar - 40, "middle", std::to_string(count));
        }
    }
    for (std::size_t i = 0; i < ranges.size(); ++i)
        svg += text_at(label_width + static_cast<std::int64_t>(i) * column + column / 2, high - 120,
                       "middle", ranges[i]);
    return svg + "</svg>\n";
}

std::string draw_shares(const std::string& title, const std::vector<std::string>& colours,
                        const std::vector<ShareRow>& rows) {
    constexpr std::int64_t bar_height = 110;
    constexpr std::int64_t label_width = 2000;
    const std::int64_t row_height = static_cast<std::int64_t>(colours.size()) * bar_height + 140;
    const std::int64_t room = width - label_width - right - 300;
    const std::int64_t high = static_cast<std::int64_t>(rows.size()) * row_height + 240;
    std::string svg = open_svg(high, title);
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const std::int64_t y = static_cast<std::int64_t>(r) * row_height + 60;
        svg += text_at(label_width - 100, y + row_height / 2, "end", rows[r].label);
        for (std::size_t i = 0; i < rows[r].shares.size(); ++i)
            svg += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n",
                               tenths(label_width),
                               tenths(y + static_cast<std::int64_t>(i) * bar_height),
                               tenths(part_of(room, rows[r].shares[i], 1000)),
                               tenths(bar_height - 20), colours[i]);
        const std::int64_t mark = label_width + part_of(room, rows[r].mark, 1000);
        svg += line_at(mark, y - 30, mark, y + row_height - 110, "mark");
    }
    for (std::int64_t percent = 0; percent <= 100; percent += 25)
        svg += text_at(label_width + part_of(room, percent, 100), high - 60, "middle",
                       fmt::format("{} %", percent));
    return svg + "</svg>\n";
}

}  // namespace tandem::sim

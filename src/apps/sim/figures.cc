// SPDX-License-Identifier: Apache-2.0
#include "apps/sim/figures.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/wide.h"
#include "sim/workload/report_json.h"

namespace tandem::apps {

void print_figures(const std::vector<Figure>& figures, bool as_json) {
    if (!as_json) {
        for (const Figure& figure : figures)
            std::fputs(fmt::format("{:<16} {:>20}\n", figure.key, figure.text).c_str(), stdout);
        return;
    }
    std::string line;
    for (const Figure& figure : figures) {
        line += line.empty() ? "{" : ", ";
        const char* quote = figure.is_text ? "\"" : "";
        line += fmt::format("\"{}\": {}{}{}", figure.key, quote, figure.text, quote);
    }
    std::fputs((line + "}\n").c_str(), stdout);
}

std::string render_fraction(std::int64_t numerator, std::int64_t denominator, int digits) {
    Wide scale = 1;
    for (int i = 0; i < digits; ++i) scale *= 10;
    if (denominator == 0) denominator = 1;
    const bool negative = numerator < 0;
    const Wide top = static_cast<Wide>(negative ? -numerator : numerator) * scale;
    const Wide scaled = (top * 2 + denominator) / (static_cast<Wide>(denominator) * 2);
    const auto whole = static_cast<std::int64_t>(scaled / scale);
    const auto rest = static_cast<std::int64_t>(scaled % scale);
    return fmt::format("{}{}.{:0{}}", negative ? "-" : "", whole, rest, digits);
}

Status write_text(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    const bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = file && std::fclose(file) == 0;
    if (written && closed) return {};
    return fail(ErrorCode::invalid, fmt::format("{}: {}", path, std::strerror(errno)));
}

void add_html(CLI::App& app, std::string& path) {
    app.add_option("--html", path, "also writes a page with plots of it, a file on its own");
}

Status write_page(const std::string& path, const sim::ReportPage& page) {
    return path.empty() ? Status{} : write_text(path, sim::render_page(page));
}

std::string series_of(const sim::ChronicleFigures& figures) {
    std::string text;
    codec::JsonWriter json(text);
    json.begin_object();
    sim::write_chronicle(json, figures);
    json.end_object();
    return text;
}

}  // namespace tandem::apps

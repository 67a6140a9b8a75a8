// SPDX-License-Identifier: Apache-2.0
// What a verb of tandem-sim found: exact figures, on the terminal or as JSON, and files of rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/workload/report_html.h"

namespace CLI {
class App;
}

namespace tandem::apps {

// Printed as one JSON object, or as a table.
struct Figure {
    std::string key{};
    std::string text{};
    bool is_text = false;  // quoted in JSON
};
void print_figures(const std::vector<Figure>& figures, bool as_json);
// An exact fraction, rounded half away from zero to `digits` places: "9.516326".
std::string render_fraction(std::int64_t numerator, std::int64_t denominator, int digits);
// Writes a file whole; the error names it.
Status write_text(const std::string& path, const std::string& text);

// The option --html FILE, and what it asks for; nothing when the path is empty.
void add_html(CLI::App& app, std::string& path);
Status write_page(const std::string& path, const sim::ReportPage& page);
// The figures of a chronicle as one JSON object.
std::string series_of(const sim::ChronicleFigures& figures);

}  // namespace tandem::apps

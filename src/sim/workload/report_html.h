// SPDX-License-Identifier: Apache-2.0
// A report as one page: HTML that is well-formed XML too, without anything from outside, charts of
// chart.h and tables of all figures, English with Chinese beside it. The parts (as it was, under a
// change) stand side by side on equal axes. Every cell of the tables has its exact number of
// report_json.h in `data-value`. Names from files are escaped. Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "sim/workload/chronicle.h"

namespace tandem::sim {

struct ReportSum {
    std::string key{};  // as in the JSON
    std::string title{};
    std::string title_zh{};
    std::int64_t value = 0;
};
struct ReportPart {
    std::string name{};
    std::string name_zh{};
    const ChronicleFigures* figures = nullptr;
    std::vector<ReportSum> sums{};  // beside those that every part has; the same in all parts
};
struct ReportPage {
    std::string title{};
    std::string about{};
    std::vector<ReportPart> parts{};
    std::vector<std::string> problems{};
};

std::string render_page(const ReportPage& page);

}  // namespace tandem::sim

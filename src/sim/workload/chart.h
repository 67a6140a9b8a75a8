// SPDX-License-Identifier: Apache-2.0
// Charts as inline SVG, drawn by integers alone, so that the same figures give the same bytes.
// Used by report_html.h. What is written is well-formed XML; texts are escaped here. The numbers
// that a chart shows stand in its `data-values` attributes. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace tandem::sim {

// Text as content of an element or of a quoted attribute; what XML does not allow becomes U+FFFD.
std::string escape_xml(std::string_view text);

struct ChartLine {
    std::string label{};
    std::vector<std::int64_t> values{};  // means of buckets, in thousandths
    std::string colour{};
    bool filled = false;
    bool dashed = false;
};
// Equal axes make charts comparable: what both show, at most.
struct ChartFrame {
    std::string title{};  // for those who do not see it
    Duration length{};
    Duration bucket{};
    std::int64_t top = 0;  // thousandths
};
// Steps over time, each line over the ones before it.
std::string draw_lines(const ChartFrame& frame, const std::vector<ChartLine>& lines);
// The same, each standing on the one before it.
std::string draw_stack(const ChartFrame& frame, std::vector<ChartLine> lines);

struct BarRow {
    std::string label{};
    std::vector<std::int64_t> counts{};  // by range
};
// A histogram for each row, by the same ranges; each is as high as its own largest count.
std::string draw_spreads(const std::string& title, const std::vector<std::string>& ranges,
                         const std::vector<BarRow>& rows);

struct ShareRow {
    std::string label{};
    std::vector<std::int64_t> shares{};  // per mille, a bar each
    std::int64_t mark = 0;               // per mille, a line across them
};
std::string draw_shares(const std::string& title, const std::vector<std::string>& colours,
                        const std::vector<ShareRow>& rows);

}  // namespace tandem::sim

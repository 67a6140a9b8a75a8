// SPDX-License-Identifier: Apache-2.0
// CsvReader: comma-separated rows under a header line. Fields may stand in double quotes (then with
// commas, and "" for a quote; a field does not span lines). Rows of blanks alone are skipped. A row
// with another number of fields than the header is an error.
//
//   TANDEM_LET(csv, CsvReader::open(trace));
//   TANDEM_LET(cpu, csv.column("cpu_milli"));
//   while (true) { TANDEM_LET(more, csv.next()); if (!more) break; ... csv.integer(cpu) ... }
//
// All errors name file, line and column. The trace must outlive the reader.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/text.h"

namespace tandem::sim {

struct CsvColumn {
    std::size_t index = 0;
};

class CsvReader {
  public:
    static Result<CsvReader> open(const TraceText& trace);

    const std::vector<std::string>& header() const { return header_; }
    std::optional<CsvColumn> find(std::string_view name) const;
    // Of a header that must be there; the error says which ones are.
    Result<CsvColumn> column(std::string_view name) const;
    // The first of these names that is there.
    Result<CsvColumn> any_of(const std::vector<std::string_view>& names) const;

    Result<bool> next();  // false: no further row
    std::int64_t line() const { return lines_.number(); }

    // Of the present row.
    std::string_view text(CsvColumn column) const { return fields_[column.index]; }
    Result<std::int64_t> integer(
        CsvColumn column, std::int64_t low = 0,
        std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
    // Decimal times 10^digits, within [low, high] in that unit.
    Result<std::int64_t> decimal(
        CsvColumn column, int digits, std::int64_t low = 0,
        std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
    [[nodiscard]] std::unexpected<Error> error(CsvColumn column, std::string_view message) const {
        return lines_.error(header_[column.index], message);
    }

  private:
    explicit CsvReader(const TraceText& trace) : trace_(&trace), lines_(trace) {}
    Status split(std::string_view line);

    const TraceText* trace_;
    TraceLines lines_;
    std::vector<std::string> header_{};
    std::vector<std::string> fields_{};
};

}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
// The text of a trace file: what every reader of a public format starts from. Plain or gzip, told
// apart by content. Errors name file, line and column in the caller's words ("jobs.csv:7: column
// num_gpu: must be a number, is "x""). No I/O: the bytes come from the caller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tandem::sim {

inline constexpr std::size_t trace_text_max = std::size_t{1} << 30;  // bytes, unpacked

struct TraceText {
    std::string name{};  // of the file, as it was asked for; "-" reads "standard input"
    std::string text{};
};

// Unpacks gzip (also of several members), takes anything else as it is, drops a byte order mark.
Result<TraceText> open_trace(std::string name, std::string bytes);

// "FILE:LINE: column COLUMN: MESSAGE"; line 0 and an empty column are left out.
[[nodiscard]] std::unexpected<Error> trace_error(const TraceText& trace, std::int64_t line,
                                                 std::string_view column, std::string_view message);

// The lines of a trace, without their ends ("\n" or "\r\n"). The trace must outlive it.
class TraceLines {
  public:
    explicit TraceLines(const TraceText& trace) : trace_(&trace), rest_(trace.text) {}
    bool next(std::string_view& line);
    std::int64_t number() const { return number_; }  // of the line that next gave; from 1
    [[nodiscard]] std::unexpected<Error> error(std::string_view column,
                                               std::string_view message) const {
        return trace_error(*trace_, number_, column, message);
    }

  private:
    const TraceText* trace_;
    std::string_view rest_;
    std::int64_t number_ = 0;
};

// Decimal text ("-12", "3.25", "1e3") times 10^digits, exact; what is finer is rounded half away
// from zero. Surrounding blanks are ignored. The error says what would be right; the caller adds
// the place.
Result<std::int64_t> parse_decimal(std::string_view text, int digits);

}  // namespace tandem::sim

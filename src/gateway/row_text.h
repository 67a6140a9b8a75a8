// SPDX-License-Identifier: Apache-2.0
// RowText: usage rows as JSON, as codec's record of RequestUsage reads them, for the one place that
// writes them by the ten thousand a second: members with nothing to say (empty, 0, false) are left
// out, a second's text is made once. Thread rule: one owner.
#pragma once

#include <string>

#include "model/usage.h"

namespace tandem::gateway {

class RowText {
  public:
    void append(std::string& out, const model::RequestUsage& row);

  private:
    void append_time(std::string& out, Instant at);

    std::int64_t second_ = -1;
    std::string second_text_;  // up to the dot
};

}  // namespace tandem::gateway

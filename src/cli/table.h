// SPDX-License-Identifier: Apache-2.0
// Table: rows under headers, columns as wide as their widest cell on a terminal (CJK counts two);
// colours for phases on terminals alone. Control bytes of values never reach a terminal. Thread
// rule: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codec/document.h"
#include "codec/reasons.h"

namespace tandem::cli {

struct Table {
    std::vector<std::string> headers{};
    std::vector<std::vector<std::string>> rows{};
};
std::string render_table(const Table& table, bool colour);

// Any answer as text: single values as "name: value", each list of groups as a table. Names become
// headers ("borrowedMilli" -> "BORROWED", amounts in devices; "deviceMs" -> "DEVICE SECONDS"), and
// with another language what cli/words.h has for them.
struct Look {
    bool colour = false;
    codec::Language language = codec::Language::en;
};
std::string render_generic(const codec::Value& value, Look look);

std::size_t display_width(std::string_view text);
// Without control bytes; line feeds become spaces.
std::string printable(std::string_view text);

}  // namespace tandem::cli

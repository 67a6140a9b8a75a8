// SPDX-License-Identifier: Apache-2.0
// How the verbs of this host answer: people by text, programs by -o json or yaml; errors on
// standard error, with the exit codes of the whole command line.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/document.h"

namespace tandem::apps {

// "-o json", "-ojson", "--output=json": the last one given; "table" when none is.
std::string output_of(const std::vector<std::string>& arguments);
// `text` for a table, else the value in the form that was asked for.
void answer(const std::string& output, const codec::Value& value, const std::string& text);
codec::Value make_flag(bool flag);
codec::Value make_number(std::int64_t number);
codec::Value make_list(std::vector<codec::Value> items);
// "tandem VERB: FIELD: MESSAGE"; the exit code.
int complain(const std::string& verb, const Error& error);

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
// Parameters: what a route takes in its query. One declaration checks requests and writes the
// OpenAPI document. A name that no route declares, a name given twice, and a value of another type
// are refused: what is misspelt must not pass for what was meant.
//   flag    true or false, nothing else
//   number  a whole number in low..high
//   choice  one of `choices`
// Errors are `invalid` with the parameter as their field. Thread rule: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/http/message.h"

namespace tandem::api {

enum class ParameterType : std::uint8_t { text, flag, number, choice };

struct Parameter {
    std::string name{};
    std::string note{};  // for OpenAPI
    ParameterType type = ParameterType::text;
    std::int64_t low = 0;
    std::int64_t high = INT64_MAX;
    std::vector<std::string> choices{};
};
using Parameters = std::vector<Parameter>;

Status check_query(const http::Query& query, const Parameters& known);

// Those that several routes share.
Parameter dry_run_parameter();
Parameter language_parameter();

}  // namespace tandem::api

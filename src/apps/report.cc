// SPDX-License-Identifier: Apache-2.0
#include "apps/report.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "cli/session.h"

namespace tandem::apps {

std::string output_of(const std::vector<std::string>& arguments) {
    std::string output = "table";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        if ((word == "-o" || word == "--output") && i + 1 < arguments.size())
            output = arguments[i + 1];
        if (word.starts_with("-o") && word.size() > 2) output = word.substr(word[2] == '=' ? 3 : 2);
        if (word.starts_with("--output=")) output = word.substr(9);
    }
    return output;
}

void answer(const std::string& output, const codec::Value& value, const std::string& text) {
    fmt::print("{}", output == "json"   ? codec::render_json_pretty(value)
                     : output == "yaml" ? codec::render_yaml(value)
                                        : text);
}

codec::Value make_flag(bool flag) {
    return {.type = codec::ValueType::boolean, .boolean = flag};
}

codec::Value make_number(std::int64_t number) {
    return {.type = codec::ValueType::number, .text = std::to_string(number)};
}

codec::Value make_list(std::vector<codec::Value> items) {
    codec::Value list{.type = codec::ValueType::array};
    list.items = std::move(items);
    return list;
}

int complain(const std::string& verb, const Error& error) {
    fmt::print(stderr, "tandem {}: {}\n", verb, cli::render_error(error));
    return cli::exit_code_of(error.code);
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
#include "executor/local/checkpoints.h"

#include <gtest/gtest.h>

#include "executor/local/task_spec.h"

namespace tandem::executor {
namespace {

TEST(Progress, step_is_read_from_json_or_a_bare_number) {
    EXPECT_EQ(parse_progress("{\"step\": 12, \"time\": 99.5}\n"), 12);
    EXPECT_EQ(parse_progress("{\"time\": 99.5, \"step\":3}"), 3);
    EXPECT_EQ(parse_progress("41 1764500000\n"), 41);
    for (std::string_view text :
         {"", "\n", "{}", "{\"step\": \"x\"}", "{\"step\":", "-4", "99999999999999999999"}) {
        EXPECT_EQ(parse_progress(text), -1) << text;
    }
}

TEST(Expand, only_known_names_are_placeholders) {
    std::map<std::string, std::string> values{{"port", "41"}, {"model", ""}};
    EXPECT_EQ(expand("--port={port}", values, true), "--port=41");
    EXPECT_EQ(expand("f'{x} {port} {', ${HOME} {}", values, true), "f'{x} 41 {', ${HOME} {}");
    EXPECT_EQ(expand("{model}", values, false), "{model}");
    EXPECT_EQ(expand("{model}", values, true).error().message,
              "{model} has no value for this task");
}

}  // namespace
}  // namespace tandem::executor

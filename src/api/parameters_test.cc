// SPDX-License-Identifier: Apache-2.0
#include "api/parameters.h"

#include <gtest/gtest.h>

namespace tandem::api {
namespace {

const Parameters known{{.name = "limit", .type = ParameterType::number, .low = 1, .high = 500},
                       {.name = "after", .type = ParameterType::number},
                       {.name = "about"},
                       dry_run_parameter(),
                       language_parameter()};

std::string refusal(const http::Query& query, const Parameters& parameters = known) {
    const Status status = check_query(query, parameters);
    return status ? "" : status.error().field + ": " + status.error().message;
}

TEST(check_query, known_names_with_right_values_pass) {
    EXPECT_EQ(refusal({}), "");
    EXPECT_EQ(refusal({{"limit", "500"}, {"about", "job/a/b/c"}, {"dryRun", "true"}}), "");
    EXPECT_EQ(refusal({{"dryRun", "false"}, {"lang", "zh"}, {"after", "0"}}), "");
}

TEST(check_query, an_unknown_name_is_refused_with_the_known_ones) {
    EXPECT_EQ(refusal({{"dryrun", "true"}}),
              "dryrun: is no parameter here; there are limit, after, about, dryRun, lang");
    EXPECT_EQ(refusal({{"x", ""}}, {}), "x: is no parameter; this path takes none");
    EXPECT_LT(refusal({{std::string(9000, 'x'), ""}}, {}).size(), 100u);
}

TEST(check_query, flags_are_true_or_false_and_nothing_else) {
    for (const char* value : {"True", "1", "yes", "", "TRUE", "true "})
        EXPECT_EQ(refusal({{"dryRun", value}}),
                  std::string("dryRun: must be true or false, is \"") + value + "\"");
}

TEST(check_query, numbers_are_whole_and_in_their_range) {
    for (const char* value : {"0", "501", "-1", "1.5", "", "9999999999999999999999"})
        EXPECT_EQ(refusal({{"limit", value}}),
                  std::string("limit: must be 1..500, is \"") + value + "\"");
    EXPECT_EQ(refusal({{"after", "-1"}}), "after: must be a whole number from 0 on, is \"-1\"");
}

TEST(check_query, choices_are_named_and_nothing_is_given_twice) {
    EXPECT_EQ(refusal({{"lang", "fr"}}), "lang: must be en or zh, is \"fr\"");
    EXPECT_EQ(refusal({{"lang", "en"}, {"lang", "en"}}), "lang: is given twice");
}

}  // namespace
}  // namespace tandem::api

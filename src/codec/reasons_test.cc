// SPDX-License-Identifier: Apache-2.0
#include "codec/reasons.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "codec/document.h"

namespace tandem::codec {
namespace {

using model::Reason;
using model::ReasonCode;

std::set<std::string> placeholders(std::string_view text) {
    std::set<std::string> names;
    for (std::size_t at = 0; (at = text.find('{', at)) != text.npos; ++at)
        names.emplace(text.substr(at + 1, text.find('}', at) - at - 1));
    return names;
}

TEST(reasons, every_code_has_both_languages_with_the_same_parameters) {
    for (std::size_t i = 1; i < std::size(model::EnumNames<ReasonCode>::values); ++i) {
        const auto code = static_cast<ReasonCode>(i);
        const std::string_view en = reason_template(code, Language::en);
        const std::string_view zh = reason_template(code, Language::zh);
        EXPECT_FALSE(en.empty()) << name_of(code);
        EXPECT_FALSE(zh.empty()) << name_of(code);
        EXPECT_EQ(placeholders(en), placeholders(zh)) << name_of(code);
        EXPECT_EQ(std::ranges::count(en, '|'), std::ranges::count(zh, '|')) << name_of(code);
        for (std::string_view text : {en, zh}) {
            EXPECT_EQ(find_broken_utf8(text), text.npos);
            EXPECT_EQ(std::ranges::count(text, '['), std::ranges::count(text, ']')) << text;
            EXPECT_EQ(std::ranges::count(text, '{'), std::ranges::count(text, '}')) << text;
        }
        EXPECT_TRUE(std::ranges::any_of(zh, [](char c) {
            return static_cast<unsigned char>(c) >= 0x80;
        })) << zh;
    }
}

TEST(reasons, numbers_are_filled_in) {
    const Reason reason{ReasonCode::no_capacity,
                        {{"flavor", "cpu-slice"}, {"needed", "2"}, {"free", "1"}, {"total", "4"}}};
    EXPECT_EQ(
        render_reason(reason),
        "no room now: needs 2 of cpu-slice, 1 of 4 are free; starts when enough is free again");
    EXPECT_EQ(render_reason(reason, Language::zh),
              "目前资源不足：需要 2 个 cpu-slice，共 4 个中空闲 1 个；有足够空闲时启动");
}

TEST(reasons, missing_numbers_drop_their_part_or_show_a_question_mark) {
    EXPECT_EQ(render_reason({ReasonCode::start_failed, {{"detail", "no such file"}}}),
              "could not be started: no such file");
    EXPECT_EQ(render_reason({ReasonCode::exit_code, {{"rank", "1"}}}),
              "rank 1 ended with exit code ?");
    EXPECT_EQ(render_reason({}), "");
}

TEST(reasons, remedies_have_a_form_of_their_own) {
    EXPECT_EQ(render_reason({ReasonCode::quota_exhausted,
                             {{"queue", "team"},
                              {"flavor", "*"},
                              {"missing", "1"},
                              {"bound", "borrowLimit"}}}),
              "1 more borrowLimit of any flavor in queue team");
    EXPECT_EQ(render_reason({ReasonCode::places, {{"places", "2"}, {"cpu", "4"}}}),
              "room for 2 more replicas of 4 cores each");
    EXPECT_EQ(render_reason({ReasonCode::preempted, {{"by", "default/urgent"}}}),
              "gave way to default/urgent");
    EXPECT_EQ(render_reason({ReasonCode::pool_unavailable, {{"pool", "held"}}}),
              "pool held does not exist or is not ready");
}

TEST(reasons, what_can_never_fit_says_how_many_replicas_would) {
    const Reason reason{ReasonCode::never_fits,
                        {{"flavor", "cpu-slice"},
                         {"needed", "4"},
                         {"largest", "0"},
                         {"members", "1"},
                         {"membersThatFit", "0"}}};
    EXPECT_EQ(render_reason(reason),
              "can never start on today's machines: needs 4 of cpu-slice; of its 1 replicas 0 "
              "would fit, each on one node");
}

TEST(reasons, hold_and_suspension_have_words_of_their_own_in_chinese) {
    const auto said = [](ReasonCode code) {
        return render_reason({code, {{"by", "ann"}}}, Language::zh);
    };
    EXPECT_EQ(said(ReasonCode::held), "被 ann 搁置：放行后方可排队");
    EXPECT_EQ(said(ReasonCode::released), "由 ann 放行");
    EXPECT_EQ(said(ReasonCode::suspended_by_request), "由 ann 挂起");
}

TEST(reasons, values_are_not_read_as_templates) {
    EXPECT_EQ(render_reason({ReasonCode::undecided, {{"what", "[{rank}]"}}}),
              "not known: [{rank}]");
}


TEST(reasons, sleep_after_a_failed_start_tells_both) {
    EXPECT_EQ(render_reason({ReasonCode::asleep_idle, {{"idle", "30s"}}}),
              "asleep: no request for 30s; the next one wakes it");
    EXPECT_EQ(render_reason({ReasonCode::asleep_idle,
                             {{"idle", "30s"},
                              {"failure", "replicaEnded"},
                              {"replica", "chat-server-4"},
                              {"code", "7"},
                              {"ran", "1s100ms"}}}),
              "asleep: no request for 30s; the last start failed: replica chat-server-4 ended with "
              "exit code 7 after 1s100ms; the next request tries again");
    EXPECT_EQ(
        render_reason({ReasonCode::asleep_idle, {{"failure", "outOfMemory"}, {"rank", "0"}}}),
        "asleep: no request; the last start failed (outOfMemory); the next request tries again");
}

}  // namespace
}  // namespace tandem::codec

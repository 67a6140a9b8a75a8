// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "codec/manifest.h"
#include "sim/workload/replay_history.h"
#include "sim/workload/report_json.h"

namespace tandem::sim {
namespace {

constexpr Instant noon{1'700'000'000'000};

std::string object_line(const model::Object& object) {
    return fmt::format(R"({{"object":{},"id":7}})", codec::render_object(object));
}
std::string change_line(const model::Object& object, Instant at) {
    return fmt::format(R"({{"change":{{"version":1,"type":"modified","now":"{}","object":{}}}}})",
                       render_instant(at), codec::render_object(object));
}
Uid uid(std::uint8_t number) {
    Uid uid{};
    uid.bytes[11] = number;
    return uid;
}

model::Node node(std::int64_t devices) {
    model::Node node;
    node.meta = {.uid = uid(1), .name = "n", .version = 1, .created = noon};
    node.status = {.ready = true, .cpu_milli = 64'000, .memory_bytes = std::int64_t{1} << 40};
    for (std::int64_t i = 0; i < devices; ++i)
        node.status.devices.push_back({.index = i, .flavor = "card"});
    return node;
}
model::Queue queue() {
    model::Queue queue;
    queue.meta = {.uid = uid(2), .name = "default", .version = 2, .created = noon};
    return queue;
}
// Submitted at `at`, and ran from then for so long.
model::Job job(std::uint8_t number, Duration at, Duration ran) {
    model::Job job;
    job.meta = {.uid = uid(number),
                .name = "train",
                .project = "default",
                .name_space = "default",
                .version = number,
                .created = noon + at};
    job.spec.command = {"work"};
    job.spec.roles = {{.replicas = 1, .resources = {.devices = 1000}}};
    job.status.phase = model::Phase::succeeded;
    job.status.epoch = 1;
    job.status.started = noon + at;
    job.status.finished = noon + at + ran;
    return job;
}

const std::string segment_line = R"({"segment":{"number":1}})";

Result<History> read(const std::vector<std::string>& lines) {
    HistoryReader reader;
    TANDEM_TRY(reader.take(segment_line));
    for (const std::string& line : lines) TANDEM_TRY(reader.take(line));
    return reader.finish();
}

TEST(History, jobs_have_their_times_and_unique_names) {
    const auto history =
        read({object_line(node(2)), object_line(queue()),
              change_line(job(11, minutes(5), hours(1)), noon + hours(2)),
              change_line(job(10, Duration{}, hours(2)), noon + hours(2)),
              R"({"batch":{"sequence":1,"now":"2024-01-01T00:00:00.000Z","inputs":[{}]}})"});
    ASSERT_TRUE(history) << history.error().message;
    ASSERT_EQ(history->work.size(), 2u);
    EXPECT_EQ(history->work[0].run_time, hours(2));
    EXPECT_EQ(history->work[1].run_time, hours(1));
    EXPECT_EQ(history->work[1].submitted, noon + minutes(5));
    EXPECT_NE(history->work[0].job.meta.name, history->work[1].job.meta.name);
}

TEST(History, work_with_checkpoints_ran_as_long_as_all_of_its_attempts) {
    model::Job first = job(10, Duration{}, hours(1));
    first.spec.checkpoint.enabled = true;
    model::Job second = first;
    second.meta.version += 1;
    second.status.epoch = 2;
    second.status.started = noon + hours(2);
    second.status.finished = noon + hours(2) + minutes(30);
    const auto history = read({object_line(node(1)), change_line(first, noon + hours(1)),
                               change_line(second, noon + hours(3))});
    ASSERT_TRUE(history);
    EXPECT_EQ(history->work.at(0).run_time, hours(1) + minutes(30));
}

TEST(History, wrong_lines_are_named) {
    const auto message = [](const std::vector<std::string>& lines) {
        const auto history = read(lines);
        return history ? std::string("accepted") : history.error().message;
    };
    EXPECT_EQ(message({object_line(node(1)), "{"}), "line 3: is no line of an exported history");
    EXPECT_EQ(message({R"({"colour":1})"}), "line 2: is no line of an exported history");
    EXPECT_EQ(message({R"({"change":{"object":{}}})"}), "line 2: change.now: is missing");
    EXPECT_EQ(message({R"({"batch":{"sequence":1,"now":"x"}})"}).substr(0, 26),
              "line 2: batch.now: must be");
    EXPECT_EQ(message({R"({"batch":{"sequence":1,"now":"2024-01)"}),
              "line 2: ends in the middle of an object");
    EXPECT_EQ(message({R"({"object":{"apiVersion":"tandem/v1","kind":"Job"},"id":7})"}),
              "line 2: metadata.name: is missing");
    EXPECT_EQ(message({object_line(node(1))}), "the history names no job");
    EXPECT_EQ(message({}), "the history names no node");
}

TEST(ReplayHistory, a_card_more_ends_the_wait_and_the_same_machines_give_the_same) {
    std::vector<std::string> lines{object_line(node(1)), object_line(queue())};
    for (std::uint8_t i = 0; i < 4; ++i)
        lines.push_back(change_line(job(static_cast<std::uint8_t>(10 + i), Duration{}, hours(1)),
                                    noon + hours(1)));
    const auto history = read(lines);
    ASSERT_TRUE(history);
    const auto before = replay_history(*history, {});
    ASSERT_TRUE(before) << before.error().message << before.error().field;
    EXPECT_EQ(before->refused, 0) << before->first_refusal;
    const std::vector<std::int64_t> waits = all_waits(before->chronicle);
    ASSERT_EQ(waits.size(), 4u);
    EXPECT_NEAR(static_cast<double>(waits.back()), 3 * 3'600'000, 5'000);
    ASSERT_EQ(before->chronicle.classes.size(), 1u);
    EXPECT_EQ(before->chronicle.classes.front().name, "default");
    EXPECT_GE(per_mille(before->chronicle.classes.front().used_ms, capacity_of(before->chronicle)),
              990);
    model::WhatIf change;
    change.add_nodes = {{.name = "more", .count = 3, .like = "n"}};
    const auto after = replay_history(*history, change);
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(all_waits(after->chronicle).back() / 1000, 0);
    EXPECT_EQ(after->devices, 4);
    EXPECT_EQ(render_replay(*before, nullptr),
              render_replay(*replay_history(*history, {}), nullptr));
}

TEST(ReplayHistory, wrong_changes_are_named) {
    const auto history = read({object_line(node(1)), object_line(queue()),
                               change_line(job(10, Duration{}, hours(1)), noon)});
    ASSERT_TRUE(history);
    const auto field_of = [&](const model::WhatIf& change) {
        const auto told = replay_history(*history, change);
        return told ? std::string("accepted") : told.error().field;
    };
    EXPECT_EQ(field_of({.drain = {"nowhere"}}), "drain[0]");
    EXPECT_EQ(field_of({.add_nodes = {{.name = "x", .like = "nowhere"}}}), "addNodes[0].like");
    EXPECT_EQ(field_of({.add_nodes = {{.name = "n", .like = "n"}}}), "addNodes[0].name");
    EXPECT_EQ(field_of({.priorities = {{.name = "nobody", .priority = 1}}}), "priorities[0].name");
    EXPECT_EQ(field_of({.actions = {model::ApplyObject{.object = model::Job{}}}}), "actions[0]");
    model::Queue lost = queue();
    lost.spec.parent = "nowhere";
    EXPECT_EQ(field_of({.actions = {model::ApplyObject{.object = lost}}}),
              "actions[0].spec.parent");
}

}  // namespace
}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
#include "codec/record.h"

#include <gtest/gtest.h>

#include "codec/describe_feed.h"
#include "codec/describe_identity.h"
#include "codec/describe_record.h"
#include "codec/describe_service.h"
#include "codec/describe_window.h"
#include "codec/manifest.h"
#include "codec/test_random_fields.h"

namespace tandem::codec {
namespace {

template <class T>
void expect_round_trip(const char* name) {
    Random random(seed_from(7));
    for (int i = 0; i < 40; ++i) {
        T record{};
        RandomFields(random).fill(record);
        const std::string text = encode(record);
        const auto back = decode<T>(text);
        ASSERT_TRUE(back) << name << ": " << back.error().field << ": " << back.error().message
                          << "\n"
                          << text;
        EXPECT_EQ(encode(*back), text) << name;
        if constexpr (!is_variant<T> && !is_vector<T> && std::equality_comparable<T>)
            EXPECT_EQ(*back, record) << name << ": " << text;
    }
}

TEST(record, random_values_round_trip) {
#define TANDEM_ROUND_TRIP(T) expect_round_trip<model::T>(#T);
    TANDEM_CODEC_RECORDS(TANDEM_ROUND_TRIP)
#undef TANDEM_ROUND_TRIP
    expect_round_trip<std::vector<model::LeaseGrant>>("list of LeaseGrant");
}

// --- a member that its description forgets would be lost without a word: count both
// --------------------------
struct Anything {
    template <class T>
    operator T() const {  // only named, never called
        return T{};
    }
};
template <class T, class... A>
consteval std::size_t count_members() {
    if constexpr (requires { T{A{}..., Anything{}}; })
        return count_members<T, A..., Anything>();
    else
        return sizeof...(A);
}
struct CountFields {
    std::size_t count = 0;
    void named(std::string_view) {}
    void field(std::string_view, auto&, const Hint& = {}) { ++count; }
    void server_set(std::string_view, auto&, const Hint& = {}) { ++count; }
    void internal(std::string_view, auto&, const Hint& = {}) { ++count; }
    void milli(std::string_view, auto&, const Hint& = {}) { ++count; }
    void bytes(std::string_view, auto&, const Hint& = {}) { ++count; }
    void quota(std::string_view, auto&, const Hint& = {}) { ++count; }
};
template <class T>
void expect_complete(std::size_t unwritten = 0) {
    CountFields counter;
    T value{};
    describe(counter, value);
    EXPECT_EQ(counter.count + unwritten, count_members<T>()) << typeid(T).name();
}
template <class... T>
void expect_all_complete() {
    (expect_complete<T>(), ...);
}

TEST(description, names_every_member) {
    using namespace model;
    expect_all_complete<Meta, ObjectKey, Reason, ProjectSpec, NamespaceSpec, UserSpec,
                        RoleBindingSpec, ApiKeySpec, Fact, Device, NodeSpec, NodeStatus, PoolSpec,
                        HeldDevice, PoolStatus, FlavorQuota, QueuePreemption, QueueSpec, FlavorUse,
                        QueueStatus, Resources, DeviceShare, ReplicaSpec, TaskExit, AttemptEnd,
                        ReplicaStatus, JobRole, JobRetries, JobCheckpoint, JobOutput, JobArray,
                        ArrayElement, ElementCounts, PriorityOverride, WorkLimits, LicenseSpec,
                        NodeClosing, Recurrence, ReservationSpec, ReservationStatus,
                        MaintenanceSpec, MaintenanceStatus,
                        JobSpec, CheckpointRecord, OutputRecord, JobStatus, ModelSpec, ModelFacts,
                        ModelVersionSpec, RuntimeSpec, ServiceScale, ServiceSpec, ServiceStatus>();
    expect_all_complete<ApplyObject, DeleteObject, ActOnJob, AdoptTask, EndTask, Caller, Outcome,
                        IdempotencyRow, Tick, TaskStarted, TaskExited, TaskGone, TaskProgress,
                        CheckpointSeen, OutputStored, ListedTask, TasksListed, NodeReported,
                        ReplicaProbed, ServiceLoad, GatewayLoad, DenialSeen, TimerFired,
                        ClockJumped, ErrandDone, StartTask,
                        StopTask, ProbeReplica, CollectOutputs, Intent, EventRecord, AuditRecord,
                        CoreMeta, GatewayCursor, LiveTask, LiveStray, LiveLoad, LiveRequest,
                        LiveDenial, LiveScale, LiveWake, LiveMemory, Change, Verdict, Preview,
                        PreviewEviction, UsageRecord, RequestUsage, LeaseAsk, LeaseGrant, FeedKey,
                        FeedReplica, FeedService, FeedUpdate>();
    // Their tickets find a waiting caller again and are not written.
    expect_complete<Command>(1);
    expect_complete<LeaseRequested>(1);
    expect_complete<UsageShipped>(1);
}

TEST(record, input_text_is_stable) {
    const model::Input input = model::TaskGone{
        .task = {.generation = 1, .uid = Uid{{9}}, .epoch = 2, .rank = 3}, .detail = "x"};
    EXPECT_EQ(encode_input(input),
              R"({"type":"taskGone","task":"g1-090000000000000000000000-e2-r3","detail":"x"})");
}

TEST(record, unknown_or_wrong_input_is_refused_by_field) {
    EXPECT_EQ(decode_input(R"({"type":"nothing"})").error().field, "type");
    EXPECT_EQ(decode_input(R"({"task":"x"})").error().field, "type");
    EXPECT_EQ(decode_input(R"({"type":"taskGone","task":"x"})").error().field, "task");
    EXPECT_EQ(decode_input(R"({"type":"timerFired","more":1})").error().field, "more");
    EXPECT_EQ(decode_intent(R"({"id":1.5})").error().field, "id");
}

TEST(record, command_keeps_key_digest_and_drops_ticket) {
    model::ApiKey key;
    key.meta.name = "k";
    key.spec.digest = "d1";
    const model::Input input =
        model::Command{.ticket = 5, .actions = {model::ApplyObject{.object = key}}};
    const auto back = decode_input(encode_input(input));
    ASSERT_TRUE(back);
    const auto& command = std::get<model::Command>(*back);
    EXPECT_EQ(command.ticket, 0);
    EXPECT_EQ(std::get<model::ApiKey>(std::get<model::ApplyObject>(command.actions[0]).object)
                  .spec.digest,
              "d1");
}

TEST(audit, body_is_the_row_without_its_hash) {
    model::AuditRecord row{.sequence = 3, .action = "jobs.create", .object = "default/default/a"};
    const std::string body = render_audit_body(row);
    row.hash = "abc";
    EXPECT_EQ(render_audit_body(row), body);
    EXPECT_NE(encode(row), body);
    row.object = "default/default/b";
    EXPECT_NE(render_audit_body(row), body);
}

TEST(object, stored_text_and_internal_part_restore_everything) {
    Random random(seed_from(11));
    for (int i = 0; i < 300; ++i) {
        model::Object object;
        RandomFields(random).fill(object);
        const std::string text = render_object(object);
        const auto back = parse_stored_object(text, render_internal(object), meta_of(object).id);
        ASSERT_TRUE(back) << back.error().field << ": " << back.error().message << "\n" << text;
        EXPECT_EQ(encode(*back), encode(object)) << text;
    }
}

TEST(object, shown_text_holds_no_row_id_and_no_digest) {
    model::ApiKey key;
    key.meta = {.id = RowId{77}, .name = "k"};
    key.spec.digest = "5ecret";
    const std::string text = render_object(key);
    EXPECT_EQ(text.find("5ecret"), std::string::npos);
    EXPECT_EQ(text.find("77"), std::string::npos);
    const auto back = parse_stored_object(text, render_internal(key), RowId{77});
    ASSERT_TRUE(back);
    EXPECT_EQ(std::get<model::ApiKey>(*back).spec.digest, "5ecret");
}

}  // namespace
}  // namespace tandem::codec

// SPDX-License-Identifier: Apache-2.0
// What every store must answer to readers.
#include <gtest/gtest.h>

#include <algorithm>

#include "codec/manifest.h"
#include "codec/record.h"
#include "store/contract/test_beds.h"
#include "store/contract/test_samples.h"

namespace tandem::store {
namespace {

using core::CommitOutcome;
using model::ChangeType;
using model::Kind;

class ReadContract : public testing::TestWithParam<std::string> {
  protected:
    std::unique_ptr<Bed> bed = make_bed(GetParam());
    Writer writer;
    std::vector<model::Job> jobs = [] {
        std::vector<model::Job> none;
        none.reserve(4096);
        return none;
    }();

    void commit() { ASSERT_EQ(bed->store().commit(writer.take()), CommitOutcome::committed); }
    // Names of all pages, in order.
    std::vector<std::string> names(core::ListQuery query) {
        std::vector<std::string> found;
        for (int pages = 0; pages < 1000; ++pages) {
            const auto page = bed->reader().list(query);
            EXPECT_TRUE(page.has_value()) << (page ? "" : page.error().message);
            if (!page) break;
            for (const auto& item : page->items) {
                const auto document = codec::parse_json(item.json);
                const auto object =
                    document ? codec::parse_shown_object(*document) : pass_on(document.error());
                EXPECT_TRUE(object.has_value()) << item.json;
                if (!object) return found;
                found.push_back(meta_of(*object).name);
                EXPECT_EQ(meta_of(*object).version, item.version);
            }
            EXPECT_EQ(page->continue_token.empty(), page->remaining == 0);
            if (page->continue_token.empty()) break;
            query.continue_token = page->continue_token;
        }
        return found;
    }
    core::ListQuery query(std::string fields = "", std::string labels = "") {
        return {.kind = Kind::job,
                .scope = everything,
                .label_selector = std::move(labels),
                .field_selector = std::move(fields)};
    }
};

using Names = std::vector<std::string>;

TEST_P(ReadContract, find_gives_the_shown_object_or_nothing) {
    writer.add(jobs, sample_job("a", "vision"));
    commit();
    const auto found = bed->reader().find(key_of(model::Object(jobs[0])));
    ASSERT_TRUE(found.has_value() && found->has_value());
    EXPECT_EQ((*found)->version, 1);
    EXPECT_EQ((*found)->json, codec::render_object(jobs[0]));
    const auto absent = bed->reader().find(
        {.kind = Kind::job, .project = "vision", .name_space = "other", .name = "a"});
    ASSERT_TRUE(absent.has_value());
    EXPECT_FALSE(absent->has_value());
}

TEST_P(ReadContract, shown_key_has_no_digest) {
    std::vector<model::ApiKey> keys;
    model::ApiKey key;
    key.meta.name = "k1";
    key.spec = {.subject = "user:a", .key_id = "abcdefghijkl", .digest = std::string(64, 'd')};
    writer.add(keys, key);
    commit();
    const auto found = bed->reader().find({.kind = Kind::api_key, .name = "k1"});
    ASSERT_TRUE(found.has_value() && found->has_value());
    EXPECT_EQ((*found)->json.find("dddd"), std::string::npos);
}

TEST_P(ReadContract, list_goes_through_pages_in_order_of_ids) {
    Names want;
    for (int i = 0; i < 23; ++i) {
        writer.add(jobs,
                   sample_job("j" + std::to_string(100 - i), i % 2 == 0 ? "vision" : "audio"));
        want.push_back(jobs.back().meta.name);
    }
    commit();
    for (std::int64_t limit : {1, 5, 22, 23, 500}) {
        core::ListQuery asked = query();
        asked.limit = limit;
        EXPECT_EQ(names(asked), want) << limit;
    }
    core::ListQuery first = query();
    first.limit = 10;
    const auto page = bed->reader().list(first);
    ASSERT_TRUE(page.has_value());
    EXPECT_EQ(page->remaining, 13);
    EXPECT_EQ(page->version, 23);
}

TEST_P(ReadContract, page_after_writes_carries_the_first_pages_version) {
    for (int i = 0; i < 4; ++i) writer.add(jobs, sample_job("j" + std::to_string(i)));
    commit();
    core::ListQuery asked = query();
    asked.limit = 2;
    const auto first = bed->reader().list(asked);
    ASSERT_TRUE(first.has_value());
    writer.change(jobs[3], ChangeType::deleted);
    writer.add(jobs, sample_job("later"));
    commit();
    asked.continue_token = first->continue_token;
    const auto second = bed->reader().list(asked);
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(second->version, first->version);
    EXPECT_EQ(second->items.size(), 2u);  // j2 and later; the watch from `version` tells of j3
}

TEST_P(ReadContract, scope_bounds_every_list) {
    writer.add(jobs, sample_job("a", "vision"));
    writer.add(jobs, sample_job("b", "audio"));
    writer.add(jobs, sample_job("c", "text"));
    std::vector<model::Node> nodes(1);
    nodes.clear();
    model::Node node;
    node.meta.name = "n1";
    writer.add(nodes, node);
    std::vector<model::Project> projects;
    for (const char* name : {"vision", "audio"}) {
        model::Project project;
        project.meta.name = name;
        writer.add(projects, project);
    }
    commit();
    const auto scoped = [](std::vector<std::string> in, Kind kind = Kind::job,
                           std::string project = "") {
        return core::ListQuery{
            .kind = kind, .scope = {.projects = std::move(in)}, .project = std::move(project)};
    };
    EXPECT_EQ(names(scoped({})), Names{});
    EXPECT_EQ(names(scoped({"audio"})), Names{"b"});
    EXPECT_EQ(names(scoped({"text", "vision", "none"})), (Names{"a", "c"}));
    EXPECT_EQ(names(scoped({"audio", "text"}, Kind::job, "vision")), Names{});
    EXPECT_EQ(names(scoped({"audio", "text"}, Kind::job, "text")), Names{"c"});
    EXPECT_EQ(names(scoped({"vision"}, Kind::node)), Names{});
    EXPECT_EQ(names(scoped({"vision"}, Kind::project)), Names{"vision"});
    core::ListQuery all = query();
    all.project = "audio";
    EXPECT_EQ(names(all), Names{"b"});
    all = query();
    all.name_space = "other";
    EXPECT_EQ(names(all), Names{});
}

TEST_P(ReadContract, remaining_counts_what_the_scope_allows) {
    for (int i = 0; i < 9; ++i)
        writer.add(jobs, sample_job("j" + std::to_string(i), i < 4   ? "vision"
                                                             : i < 7 ? "audio"
                                                                     : "text"));
    commit();
    const auto remaining = [&](core::ReadScope scope, std::string project) {
        const auto page = bed->reader().list({.kind = Kind::job,
                                              .scope = std::move(scope),
                                              .project = std::move(project),
                                              .limit = 1});
        return page ? page->remaining : -1;
    };
    EXPECT_EQ(remaining(everything, ""), 8);
    EXPECT_EQ(remaining(everything, "vision"), 3);
    EXPECT_EQ(remaining({.projects = {"audio", "text", "audio"}}, ""), 4);
    EXPECT_EQ(remaining({.projects = {"audio", "text"}}, "text"), 1);
}

TEST_P(ReadContract, selectors_pick_by_labels_and_fields) {
    struct Row {
        const char* name;
        const char* project;
        const char* queue;
        model::Phase phase;
        model::Labels labels;
    };
    for (const Row& row :
         {Row{"a", "vision", "day", model::Phase::running, {{"team", "blue"}}},
          {"b", "vision", "night", model::Phase::succeeded, {{"team", "red"}, {"gpu", ""}}},
          {"c", "audio", "day", model::Phase::succeeded, {}},
          {"d", "audio", "night", model::Phase::running, {{"team", "blue"}, {"gpu", "x"}}}}) {
        model::Job job = sample_job(row.name, row.project, row.labels);
        job.spec.queue = row.queue;
        job.status.phase = row.phase;
        writer.add(jobs, job);
    }
    commit();
    struct Case {
        const char* fields;
        const char* labels;
        Names want;
    };
    for (const Case& c : std::vector<Case>{{"status.phase=running", "", {"a", "d"}},
                                           {"status.phase=succeeded", "", {"b", "c"}},
                                           {"status.phase!=running", "", {"b", "c"}},
                                           {"spec.queue=day", "", {"a", "c"}},
                                           {"spec.queue=day,status.phase=succeeded", "", {"c"}},
                                           {"metadata.name=d", "", {"d"}},
                                           {"metadata.project=audio", "", {"c", "d"}},
                                           {"", "team=blue", {"a", "d"}},
                                           {"", "team!=blue", {"b", "c"}},
                                           {"", "gpu", {"b", "d"}},
                                           {"", "!gpu,team", {"a"}},
                                           {"status.phase=running", "gpu=x", {"d"}}}) {
        for (std::int64_t limit : {1, 500}) {
            core::ListQuery asked = query(c.fields, c.labels);
            asked.limit = limit;
            EXPECT_EQ(names(asked), c.want) << c.fields << " " << c.labels << " " << limit;
        }
        core::ListQuery narrow = query(c.fields, c.labels);
        narrow.project = "audio";
        Names want;
        for (const std::string& name : c.want)
            if (name >= "c") want.push_back(name);
        EXPECT_EQ(names(narrow), want) << c.fields << " " << c.labels;
    }
}

TEST_P(ReadContract, replicas_are_found_by_owner) {
    writer.add(jobs, sample_job("train"));
    std::vector<model::Replica> replicas;
    for (int rank = 0; rank < 3; ++rank) {
        model::Replica replica;
        replica.meta = {.name = "train-worker-" + std::to_string(rank),
                        .project = "default",
                        .name_space = "default"};
        replica.spec.owner_uid = rank < 2 ? jobs[0].meta.uid : Uid{{99}};
        writer.add(replicas, replica);
    }
    commit();
    core::ListQuery asked = query("owner=" + jobs[0].meta.uid.text());
    asked.kind = Kind::replica;
    EXPECT_EQ(names(asked), (Names{"train-worker-0", "train-worker-1"}));
}

TEST_P(ReadContract, bad_queries_name_what_is_wrong) {
    const auto field_of = [&](core::ListQuery asked) {
        const auto page = bed->reader().list(asked);
        return page ? std::string("accepted") : page.error().field;
    };
    core::ListQuery asked = query();
    asked.limit = 0;
    EXPECT_EQ(field_of(asked), "limit");
    asked.limit = 501;
    EXPECT_EQ(field_of(asked), "limit");
    EXPECT_EQ(field_of(query("status.colour=red")), "fieldSelector");
    EXPECT_EQ(field_of(query("", "a=b,,")), "labelSelector");
    asked = query();
    asked.continue_token = "c1-1-1-1-1";
    EXPECT_EQ(field_of(asked), "continue");
}

TEST_P(ReadContract, changes_come_in_order_with_old_labels_and_bodies_of_their_time) {
    writer.add(jobs, sample_job("a", "vision", {{"team", "blue"}}));
    commit();
    jobs[0].meta.labels = {{"team", "red"}};
    writer.change(jobs[0], ChangeType::modified, {{"team", "blue"}});
    commit();
    writer.change(jobs[0], ChangeType::deleted, {{"team", "red"}});
    commit();
    const auto all = bed->reader().changes(0, 100);
    ASSERT_TRUE(all.has_value());
    ASSERT_EQ(all->size(), 3u);
    EXPECT_EQ((*all)[0].type, ChangeType::added);
    EXPECT_EQ((*all)[1].labels, (model::Labels{{"team", "red"}}));
    EXPECT_EQ((*all)[1].old_labels, (model::Labels{{"team", "blue"}}));
    EXPECT_EQ((*all)[1].version, 2);
    EXPECT_NE((*all)[0].json.find("blue"), std::string::npos);
    EXPECT_EQ((*all)[2].type, ChangeType::deleted);
    EXPECT_EQ((*all)[2].kind, Kind::job);
    EXPECT_EQ((*all)[2].project, "vision");
    EXPECT_EQ((*all)[2].name, "a");
    EXPECT_EQ(bed->reader().changes(1, 1)->front().version, 2);
    EXPECT_TRUE(bed->reader().changes(3, 10)->empty());
}

TEST_P(ReadContract, changes_that_are_no_longer_kept_are_gone) {
    bed = make_bed(GetParam(), {.change_rows_max = 100});
    writer.add(jobs, sample_job("a"));
    commit();
    core::ListQuery asked = query();
    writer.add(jobs, sample_job("b"));
    commit();
    asked.limit = 1;
    const auto page = bed->reader().list(asked);
    ASSERT_TRUE(page.has_value());
    for (int i = 0; i < 1500; ++i) {
        writer.change(jobs[0], ChangeType::modified);
        if (i % 50 == 49) commit();
    }
    writer.now.ms += 2000;
    writer.change(jobs[0], ChangeType::modified);
    commit();
    const auto old = bed->reader().changes(1, 10);
    ASSERT_FALSE(old.has_value());
    EXPECT_EQ(old.error().code, ErrorCode::gone);
    EXPECT_EQ(bed->reader().changes(writer.meta.version + 1, 10).error().code, ErrorCode::gone);
    const auto kept = bed->reader().changes(writer.meta.version - 100, 1000);
    ASSERT_TRUE(kept.has_value());
    EXPECT_EQ(kept->size(), 100u);
    asked.continue_token = page->continue_token;
    EXPECT_EQ(bed->reader().list(asked).error().code, ErrorCode::gone);
}

TEST_P(ReadContract, changes_older_than_a_day_are_gone) {
    writer.add(jobs, sample_job("a"));
    commit();
    writer.now.ms += hours(25).ms;
    writer.add(jobs, sample_job("b"));
    commit();
    EXPECT_FALSE(bed->reader().changes(0, 10).has_value());
    EXPECT_EQ(bed->reader().changes(1, 10)->size(), 1u);
}

TEST_P(ReadContract, usage_is_chosen_by_time_scope_and_owner) {
    const Uid owner{{1, 2}};
    writer.record.usage = {
        sample_usage(RowId{10}, 0, 10, "vision", owner), sample_usage(RowId{11}, 10, 20, "vision"),
        sample_usage(RowId{12}, 20, 30, "audio", owner), sample_usage(RowId{13}, 5, 40, "")};
    writer.record.open_intervals_put = {sample_usage(RowId{14}, 30, 30, "vision", owner),
                                        sample_usage(RowId{15}, 90, 90, "audio")};
    commit();
    const auto ids = [&](core::UsageQuery asked) {
        std::vector<std::int64_t> found;
        const auto rows = bed->reader().usage(asked);
        EXPECT_TRUE(rows.has_value());
        for (const auto& row : *rows) found.push_back(row.id.value);
        return found;
    };
    using Ids = std::vector<std::int64_t>;
    EXPECT_EQ(ids({.scope = everything, .from = Instant{0}, .to = Instant{100}}),
              (Ids{10, 11, 12, 13, 14, 15}));
    EXPECT_EQ(ids({.scope = everything, .from = Instant{10}, .to = Instant{20}}), (Ids{11, 13}));
    EXPECT_EQ(ids({.scope = everything, .from = Instant{35}, .to = Instant{36}}), (Ids{13, 14}));
    EXPECT_EQ(ids({.scope = {.projects = {"audio"}}, .from = Instant{0}, .to = Instant{100}}),
              (Ids{12, 15}));
    EXPECT_EQ(
        ids({.scope = everything, .from = Instant{0}, .to = Instant{100}, .project = "vision"}),
        (Ids{10, 11, 14}));
    EXPECT_EQ(ids({.scope = everything, .from = Instant{0}, .to = Instant{100}, .owner = owner}),
              (Ids{10, 12, 14}));
    EXPECT_EQ(ids({.from = Instant{0}, .to = Instant{100}}), Ids{});
    const auto rows =
        bed->reader().usage({.scope = everything, .from = Instant{0}, .to = Instant{1}});
    ASSERT_EQ(rows->size(), 1u);
    EXPECT_EQ(codec::encode(rows->front()),
              codec::encode(sample_usage(RowId{10}, 0, 10, "vision", owner)));
}

TEST_P(ReadContract, requests_are_chosen_by_time_scope_and_service) {
    std::vector<model::Service> services;
    model::Service service;
    service.meta = {.name = "chat", .project = "default", .name_space = "default"};
    writer.add(services, service);
    const auto of_service = [&](model::RequestUsage row) {
        row.service_uid = services[0].meta.uid;
        return row;
    };
    writer.record.requests = {
        of_service(sample_request(1, Instant{5})), of_service(sample_request(2, Instant{9})),
        sample_request(3, Instant{20}, "other"), sample_request(4, Instant{21})};
    commit();
    const auto rows =
        bed->reader().requests({.scope = everything, .from = Instant{5}, .to = Instant{20}});
    ASSERT_TRUE(rows.has_value());
    ASSERT_EQ(rows->size(), 2u);
    EXPECT_EQ(codec::encode((*rows)[0]), codec::encode(of_service(sample_request(1, Instant{5}))));
    EXPECT_EQ(
        bed->reader().requests({.scope = {.projects = {"other"}}, .to = Instant{100}})->size(), 1u);
    EXPECT_EQ(
        bed->reader()
            .requests({.scope = everything, .to = Instant{100}, .owner = services[0].meta.uid})
            ->size(),
        2u);
    EXPECT_EQ(bed->reader()
                  .requests({.scope = everything, .to = Instant{100}, .owner = Uid{{250}}})
                  ->size(),
              0u);
}

TEST_P(ReadContract, events_come_newest_first_within_scope) {
    const auto event = [&](std::string project, Uid uid) {
        const model::Reason reason{.code = model::ReasonCode::exit_code,
                                   .params = {{"rank", "0"}, {"code", "1"}}};
        writer.record.events.push_back({.id = writer.next_id(),
                                        .at = writer.now,
                                        .about = {.kind = Kind::job,
                                                  .project = std::move(project),
                                                  .name_space = "default",
                                                  .name = "t"},
                                        .uid = uid,
                                        .reason = reason});
    };
    event("vision", Uid{{1}});
    event("audio", Uid{{2}});
    event("vision", Uid{{1}});
    const std::vector<model::EventRecord> sent = writer.record.events;
    commit();
    const auto all = bed->reader().events(everything, {}, 10);
    ASSERT_TRUE(all.has_value());
    ASSERT_EQ(all->size(), 3u);
    EXPECT_EQ(codec::encode(all->front()), codec::encode(sent.back()));
    EXPECT_EQ(bed->reader().events({.projects = {"audio"}}, {}, 10)->size(), 1u);
    EXPECT_EQ(bed->reader().events(everything, Uid{{1}}, 10)->size(), 2u);
    EXPECT_EQ(bed->reader().events(everything, Uid{{1}}, 1)->front().id, sent[2].id);
    EXPECT_EQ(bed->reader().events({}, Uid{{1}}, 10)->size(), 0u);
}

TEST_P(ReadContract, audit_rows_come_back_whole_and_in_order) {
    for (std::int64_t i = 1; i <= 3; ++i)
        writer.record.audit.push_back(
            {.sequence = i,
             .at = writer.now,
             .caller = {.subject = "user:a", .key_id = "k", .request_id = "r"},
             .action = "jobs.create",
             .object = "default/default/x",
             .allowed = i != 2,
             .rule = "admin",
             .count = i,
             .hash = "h" + std::to_string(i)});
    const auto sent = writer.record.audit;
    commit();
    const auto rows = bed->reader().audit(1, 10);
    ASSERT_TRUE(rows.has_value());
    ASSERT_EQ(rows->size(), 2u);
    EXPECT_EQ(codec::encode(rows->front()), codec::encode(sent[1]));
    EXPECT_EQ(bed->reader().audit(0, 2)->size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(stores, ReadContract, testing::Values("memory", "sqlite"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tandem::store

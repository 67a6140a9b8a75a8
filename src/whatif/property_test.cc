// SPDX-License-Identifier: Apache-2.0
// What is foreseen for at once is what the server then does: on random small worlds the change is
// asked for and then really made; who starts, who keeps a claim and who is asked to leave must be
// the same.
#include "base/random.h"
#include "whatif/test_town.h"

namespace tandem::whatif {
namespace {

class Story {
  public:
    explicit Story(std::uint64_t seed) : random_(seed_from(seed)) {
        const std::int64_t nodes = 1 + draw(3);
        std::vector<model::Input> reports;
        for (std::int64_t i = 0; i < nodes; ++i)
            reports.push_back(Town::node("n" + std::to_string(i), 1 + draw(4)));
        nodes_ = nodes;
        town.run(std::move(reports));
        town.apply(Town::queue("cohort", "", 0));
        town.apply(Town::queue("a", "cohort", draw(4)));
        town.apply(Town::queue("b", "cohort", draw(4)));
        const std::int64_t jobs = 2 + draw(8);
        for (std::int64_t i = 0; i < jobs; ++i) {
            town.now = town.now + seconds(1 + draw(600));
            town.apply(job_drawn());
            town.settle();
        }
        town.now = town.now + seconds(1 + draw(600));
    }

    // One change, as a question and as what is really done.
    void choose() {
        switch (draw(6)) {
            case 0:
                add_job();
                break;
            case 1:
                add_node();
                break;
            case 2:
                drain();
                break;
            case 3:
                set_priority();
                break;
            case 4:
                set_quota();
                break;
            default:
                remove_job();
                break;
        }
    }

    Town town;
    model::WhatIf question;
    std::vector<model::Action> actions;
    std::vector<model::Input> inputs;

  private:
    std::int64_t draw(std::int64_t below) {
        return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(below)));
    }
    model::Job job_drawn() {
        const std::string queue = draw(2) == 0 ? "a" : "b";
        const std::int64_t replicas = 1 + draw(4);
        model::Job job = Town::job("j" + std::to_string(++jobs_), queue, replicas, draw(3));
        job.spec.preemptible = draw(4) != 0;
        if (draw(2) == 0) job.spec.max_run_time = minutes(1 + draw(120));
        return job;
    }
    std::string some_job() { return "j" + std::to_string(1 + draw(jobs_)); }

    void add_job() {
        const model::Job job = job_drawn();
        question.actions = actions = {model::ApplyObject{.object = job}};
    }
    void add_node() {
        question.add_nodes = {{.name = "extra", .like = "n0"}};
        model::NodeReported report{.name = "extra"};
        report.status = town.driver.state().table<model::Node>().find_named("n0")->status;
        inputs = {report};
    }
    void drain() {
        const std::string name = "n" + std::to_string(draw(nodes_));
        question.drain = {name};
        model::Node node = *town.driver.state().table<model::Node>().find_named(name);
        node.spec.unschedulable = true;
        actions = {model::ApplyObject{.object = node}};
        std::set<RowId> on;
        for (const auto& [id, replica] : town.driver.state().table<model::Replica>().rows())
            if (replica.status.node == name && model::holds_capacity(replica.status.phase))
                on.insert(replica.spec.owner_id);
        for (RowId id : on)
            actions.push_back(
                model::ActOnJob{core::key_of_row(town.driver.state().table<model::Job>().get(id)),
                                model::JobAct::requeue});
    }
    void set_priority() {
        const std::string name = some_job();
        if (town.phase_of(name) != "pending")
            return add_job();  // of others only a what-if changes it
        model::Job job = *town.job_named(name);
        job.spec.priority = draw(10);
        question.priorities = {{.project = "default",
                                .name_space = "default",
                                .name = job.meta.name,
                                .priority = job.spec.priority}};
        actions = {model::ApplyObject{.object = job}};
    }
    void set_quota() {
        question.actions = actions = {
            model::ApplyObject{.object = Town::queue(draw(2) == 0 ? "a" : "b", "cohort", draw(6))}};
    }
    void remove_job() {
        question.actions =
            actions = {model::DeleteObject{{model::Kind::job, "default", "default", some_job()}}};
    }

    Random random_;
    std::int64_t nodes_ = 0;
    std::int64_t jobs_ = 0;
};

struct Outcome {
    std::set<std::string> started, evicted;
    bool operator==(const Outcome&) const = default;
};
void PrintTo(const Outcome& outcome, std::ostream* out) {
    *out << "starts:";
    for (const std::string& name : outcome.started) *out << ' ' << name;
    *out << "; leave:";
    for (const std::string& name : outcome.evicted) *out << ' ' << name;
}

Outcome foreseen(const model::Foresight& told) {
    Outcome outcome;
    for (const model::ForeseenWork& work : told.work) {
        if (work.start && work.start->at == told.at) outcome.started.insert(work.object.name);
        for (const model::ForeseenEviction& eviction : work.evictions)
            if (eviction.at == told.at) outcome.evicted.insert(work.object.name);
    }
    return outcome;
}

TEST(what_if_property, what_is_foreseen_for_at_once_is_what_is_then_done) {
    std::size_t starts = 0;
    std::size_t evictions = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Story story(seed);
        story.choose();
        const auto told = story.town.ask(story.question, {.touched_only = false});
        ASSERT_TRUE(told) << seed << ": " << told.error().message;
        const auto refused = story.town.submit(story.actions, story.inputs);
        ASSERT_FALSE(refused) << seed << ": " << refused->message;
        const Outcome done{story.town.started, story.town.evicted};
        EXPECT_EQ(foreseen(*told), done) << "seed " << seed;
        starts += done.started.size();
        evictions += done.evicted.size();
    }
    EXPECT_GT(starts, 20u);
    EXPECT_GT(evictions, 50u);
}

}  // namespace
}  // namespace tandem::whatif

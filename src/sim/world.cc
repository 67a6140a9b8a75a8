// SPDX-License-Identifier: Apache-2.0
#include "sim/world.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/digest.h"
#include "core/jobs.h"
#include "sim/replay.h"

namespace tandem::sim {
namespace {

constexpr Duration chaos = minutes(4);
constexpr Duration heal_bound = hours(4);
constexpr Duration list_period = seconds(30);
constexpr Duration node_period = seconds(15);
constexpr std::int64_t devices_per_node = 2;
constexpr std::string_view core_version = "sim";

model::NodeReported node_report(std::int64_t number, bool healthy) {
    model::NodeReported report{.name = fmt::format("node-{}", number), .status = {}};
    report.status.ready = healthy;
    report.status.executor = "sim";
    report.status.cpu_milli = 64'000;
    report.status.memory_bytes = std::int64_t{1} << 40;
    for (std::int64_t i = 0; i < devices_per_node; ++i)
        report.status.devices.push_back({.index = i, .uuid = fmt::format("n{}d{}", number, i), .flavor = "card", .model = "card"});
    return report;
}

std::optional<std::set<Strike>> strikes_of(const Case* only) {
    if (only == nullptr) return {};
    return std::set<Strike>(only->strikes.begin(), only->strikes.end());
}

std::optional<std::set<std::int64_t>> operations_of(const Case* only) {
    if (only == nullptr) return {};
    std::set<std::int64_t> numbers;
    for (const Operation& one : only->operations) numbers.insert(one.number);
    return numbers;
}

}  // namespace

World::World(std::uint64_t seed, Rule rule) : World(seed, nullptr, std::move(rule)) {}

World::World(const Case& only, Rule rule) : World(only.seed, &only, std::move(rule)) {}

World::World(std::uint64_t seed, const Case* only, Rule rule)
    : random_(seed_from(seed)),
      faults_(random_, strikes_of(only)),
      executor_(agenda_, faults_, random_.fork("executor")),
      clients_(agenda_, faults_, random_.fork("clients"), [this](model::Input input) { post(std::move(input)); },
               operations_of(only)),
      // Small segments, so that each life has several.
      disk_(std::make_shared<store::MemoryDisk>(store::MemoryOptions{.segment_batches_max = 97})),
      rule_(std::move(rule)) {
    result_.seed = seed;
    result_.happened.seed = seed;
    nodes_ = random_.between(4, 6);
    const auto operations = operations_of(only);
    crash_wanted_ = !operations || operations->contains(sure_crash);
}

std::string World::hash(std::string_view previous, const model::AuditRecord& record) {
    Digest digest;
    digest.add(previous);
    digest.add(record.sequence);
    digest.add(record.action);
    digest.add(record.object);
    return fmt::format("{:016x}", digest.value());
}

void World::boot() {
    ++life_;
    store_ = std::make_unique<store::MemoryStore>(disk_);
    driver_ = std::make_unique<core::Driver>(core::Driver::Ports{*store_, executor_, *this, *this});
    driver_->set_digests(true);
    const Status started = driver_->start(core_version);
    if (!started) {
        result_.violation = "start: " + started.error().message;
        return;
    }
    executor_.connect([this](model::Input input) { post(std::move(input)); });
    report_nodes();
    list_tasks();
}

void World::crash() {
    result_.crashes += 1;
    executor_.disconnect();
    mailbox_.clear();
    driver_.reset();
    store_.reset();
    clients_.on_server_lost();
    agenda_.in(milliseconds(100 + static_cast<std::int64_t>(random_.below(20'000))), [this] { boot(); });
}

void World::post(model::Input input) {
    if (!driver_) return;
    mailbox_.push_back(std::move(input));
    schedule_batch();
}

void World::schedule_batch() {
    if (batch_scheduled_) return;
    batch_scheduled_ = true;
    const std::int64_t wait = 1 + static_cast<std::int64_t>(random_.below(20));
    agenda_.in(milliseconds(wait), [this, life = life_] {
        batch_scheduled_ = false;
        if (driver_ && life == life_) run_batch();
        else if (driver_ && !mailbox_.empty()) schedule_batch();
    });
}

void World::run_batch() {
    if (!result_.violation.empty()) return;
    if (faults_.strikes(Fault::crash_between_batches)) return crash();
    if (faults_.strikes(Fault::crash_before_commit)) disk_->arm(store::CommitFault::fatal_before_write);
    else if (faults_.strikes(Fault::crash_after_commit)) disk_->arm(store::CommitFault::fatal_after_write);
    else if (faults_.strikes(Fault::store_full)) disk_->arm(store::CommitFault::full);
    std::vector<model::Input> inputs = std::exchange(mailbox_, {});
    std::vector<model::Input> retry = driver_->take_retry();
    inputs.insert(inputs.begin(), retry.begin(), retry.end());
    if (inputs.empty()) inputs.push_back(model::TimerFired{});
    result_.inputs += static_cast<std::int64_t>(inputs.size());
    result_.batches += 1;
    const core::BatchResult done = driver_->run(std::move(inputs), {.now = agenda_.now(), .seed = random_.draw_seed()});
    if (done == core::BatchResult::fatal) return crash();
    if (done != core::BatchResult::committed) return schedule_batch();
    if (!executor_.violation().empty()) result_.violation = "D18: " + executor_.violation();
    if (const auto wake = driver_->next_wake())
        agenda_.at(*wake, [this, life = life_] {
            if (driver_ && life == life_) schedule_batch();
        });
}

void World::publish(const model::BatchRecord& record, const core::State& state) {
    if (!result_.violation.empty()) return;
    result_.violation = checker_.after_batch(record, state, disk_->rows());
    if (result_.violation.empty() && rule_) result_.violation = rule_(record, state);
    result_.digest = record.digest;
}

void World::answer(const model::Answer& answer) {
    agenda_.in(milliseconds(1), [this, answer, life = life_] {
        if (life == life_) clients_.on_answer(answer);
    });
}

void World::acknowledge(std::int64_t, std::int64_t sequence) { clients_.on_acknowledged(sequence); }

void World::report_nodes() {
    for (std::int64_t i = 0; i < nodes_; ++i) {
        const bool flaps = faults_.strikes(Fault::node_flaps);
        post(node_report(i, !flaps));
    }
    agenda_.in(node_period, [this, life = life_] {
        if (driver_ && life == life_) report_nodes();
    });
}

void World::list_tasks() {
    post(executor_.list());
    agenda_.in(list_period, [this, life = life_] {
        if (driver_ && life == life_) list_tasks();
    });
}

bool World::all_work_done() const {
    if (!driver_ || !clients_.settled()) return false;
    for (const auto& [id, job] : driver_->state().table<model::Job>().rows())
        if (!model::is_terminal(job.status.phase) || job.meta.deletion_requested) return false;
    for (const auto& [id, service] : driver_->state().table<model::Service>().rows())
        if (service.status.phase != model::ServicePhase::asleep) return false;
    return executor_.live_tasks() == 0;
}

std::string World::unfinished() const {
    if (!driver_) return "the server is down";
    std::string text;
    for (const auto& [id, job] : driver_->state().table<model::Job>().rows())
        if (!model::is_terminal(job.status.phase) || job.meta.deletion_requested)
            text += fmt::format(" {}={}({})", job.meta.name, model::name_of(job.status.phase),
                                model::name_of(job.status.reason.code));
    for (const auto& [id, service] : driver_->state().table<model::Service>().rows())
        if (service.status.phase != model::ServicePhase::asleep)
            text += fmt::format(" {}={}", service.meta.name, model::name_of(service.status.phase));
    return text + fmt::format(" live tasks: {}", executor_.live_tasks());
}

void World::advance_until(Instant end, bool stop_when_done) {
    std::int64_t looked = 0;
    while (result_.violation.empty() && !agenda_.empty() && agenda_.next_at() <= end) {
        agenda_.advance();
        if (stop_when_done && ++looked % 64 == 0 && all_work_done()) return;
    }
    if (result_.violation.empty() && !stop_when_done) agenda_.move_to(end);
}

// Every seed has one crash at least, whatever its plan allows.
void World::plan_sure_crash(bool wanted) {
    const Duration when = milliseconds(random_.between(20'000, 120'000));
    if (!wanted) return;
    agenda_.in(when, [this] {
        if (!driver_) return;
        result_.happened.operations.push_back({sure_crash, "crash"});
        crash();
    });
}

SeedResult World::run() {
    const Instant begin = agenda_.now();
    boot();
    clients_.plan();
    plan_sure_crash(crash_wanted_);
    advance_until(begin + chaos, false);
    faults_.heal();
    clients_.stop_calling();
    advance_until(agenda_.now() + heal_bound, true);
    result_.virtual_ms = (agenda_.now() - begin).ms;
    result_.jobs = clients_.jobs();
    result_.starts = executor_.starts();
    result_.faults = faults_.struck();
    if (result_.violation.empty() && !all_work_done()) result_.violation = "liveness: not done after healing:" + unfinished();
    if (result_.violation.empty()) result_.violation = clients_.check(disk_->rows());
    for (const store::Segment& segment : disk_->segments())
        if (result_.violation.empty()) result_.violation = replay(segment);
    if (result_.violation.empty()) result_.violation = checker_.ledger_adds_up(disk_->rows(), driver_->state().meta.time);
    const std::vector<Operation>& done = clients_.operations();
    std::vector<Operation>& happened = result_.happened.operations;
    happened.insert(happened.end(), done.begin(), done.end());
    result_.happened.strikes = faults_.strikes_made();
    result_.happened.rule = result_.violation.substr(0, result_.violation.find(':'));
    return result_;
}

}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codec/manifest.h"

namespace tandem::sim {
namespace {

using model::Job;
using model::Phase;

constexpr std::string_view other_lines[] = {"segment",     "intent", "interval", "cursor",
                                            "idempotency", "live",   "batch"};

bool is_over(const Job& job) {
    return model::is_terminal(job.status.phase);
}

std::vector<model::Queue> parents_first(std::vector<model::Queue> queues) {
    std::ranges::sort(queues, {}, [](const auto& queue) { return queue.meta.name; });
    std::vector<model::Queue> ordered;
    std::set<std::string> placed;
    const auto ready = [&](const model::Queue& queue) {
        const bool known = std::ranges::any_of(
            queues, [&](const auto& one) { return one.meta.name == queue.spec.parent; });
        return queue.spec.parent.empty() || !known || placed.contains(queue.spec.parent);
    };
    for (bool moved = true; moved;) {
        moved = false;
        for (const model::Queue& queue : queues) {
            if (placed.contains(queue.meta.name) || !ready(queue)) continue;
            ordered.push_back(queue);
            placed.insert(queue.meta.name);
            moved = true;
        }
    }
    return ordered;
}

// On a stage names of jobs alone tell them apart, whatever project they are of.
void make_names_unique(std::vector<PastWork>& work) {
    std::set<std::string> taken;
    std::map<std::string, std::int64_t> times;
    for (const PastWork& one : work) taken.insert(one.job.meta.name);
    for (PastWork& one : work) {
        const std::string name = one.job.meta.name;
        if (times[name]++ == 0) continue;
        for (std::int64_t number = times[name]; !taken.insert(one.job.meta.name).second; ++number) {
            const std::string suffix = fmt::format("-again-{}", number);
            one.job.meta.name = name.substr(0, 63 - suffix.size()) + suffix;
        }
    }
}

// A manifest: nothing that a server gave it.
template <class T>
T as_manifest(const T& object) {
    T bare{.meta = {.name = object.meta.name,
                    .project = object.meta.project,
                    .name_space = object.meta.name_space,
                    .labels = object.meta.labels},
           .spec = object.spec};
    return bare;
}

}  // namespace

Status HistoryReader::take(std::string_view line) {
    line_ += 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
    const Status taken = take_line(line);
    if (taken) return {};
    const Error& error = taken.error();
    return fail(ErrorCode::invalid, fmt::format("line {}: {}{}{}", line_, error.field,
                                                error.field.empty() ? "" : ": ", error.message));
}

Status HistoryReader::take_line(std::string_view line) {
    const bool told = line.starts_with(R"({"object")") || line.starts_with(R"({"change")");
    if (!told) return take_other(line);
    TANDEM_LET(document, codec::parse_json(line));
    if (const codec::Value* change = document.find("change")) return take_change(*change);
    const codec::Value* object = document.find("object");
    return take_object(*object, false);
}

Status HistoryReader::take_change(const codec::Value& change) {
    for (const char* name : {"object", "now", "type"})
        if (change.find(name) == nullptr)
            return invalid_field(std::string("change.") + name, "is missing");
    const auto at = parse_instant(change.find("now")->text_or_empty());
    if (!at) return invalid_field("change.now", at.error().message);
    until_ = std::max(until_, *at);
    return take_object(*change.find("object"), change.find("type")->text_or_empty() == "deleted");
}

// These may be larger than any document, and what they hold is not asked for, except when a batch
// was.
Status HistoryReader::take_other(std::string_view line) {
    const auto* known = std::ranges::find_if(other_lines, [&](std::string_view name) {
        return line.starts_with(fmt::format("{{\"{}\":", name));
    });
    if (known == std::end(other_lines))
        return fail(ErrorCode::invalid, "is no line of an exported history");
    if (!line.ends_with("}}")) return fail(ErrorCode::invalid, "ends in the middle of an object");
    if (*known == "segment") segment_ += 1;
    constexpr std::string_view mark = R"("now":")";
    const std::size_t now = line.find(mark);
    if (*known != "batch") return {};
    const std::string_view rest =
        now == std::string_view::npos ? "" : line.substr(now + mark.size());
    const auto at = parse_instant(rest.substr(0, rest.find('"')));
    if (!at) return invalid_field("batch.now", "must be a time such as 2026-12-01T08:00:00.000Z");
    until_ = std::max(until_, *at);
    return {};
}

Status HistoryReader::take_object(const codec::Value& document, bool deleted) {
    TANDEM_LET(object, codec::parse_shown_object(document));
    const model::Meta meta = model::meta_of(object);
    const std::pair<const char*, bool> missing[] = {
        {"metadata.name", meta.name.empty()},
        {"metadata.uid", meta.uid == Uid{}},
        {"metadata.createdAt", meta.created == Instant{}},
        {"metadata.resourceVersion", meta.version == 0}};
    for (const auto& [field, is_missing] : missing)
        if (is_missing) return invalid_field(field, "is missing");
    if (const Job* job = std::get_if<Job>(&object)) note_attempt(*job);
    const auto [place, added] = objects_.try_emplace({model::kind_of(object), meta.uid});
    Seen& seen = place->second;
    if (added) seen.first_version = meta.version;
    seen.segment = segment_;
    if (!added && meta.version < model::meta_of(seen.object).version) return {};
    seen.object = std::move(object);
    seen.deleted = deleted;
    return {};
}

void HistoryReader::note_attempt(const Job& job) {
    if (!job.status.started) return;
    Attempts& attempts = attempts_[job.meta.uid];
    if (job.status.epoch > attempts.epoch) {
        if (job.spec.checkpoint.enabled)
            attempts.before = Duration{attempts.before.ms + attempts.last.ms};
        attempts.epoch = job.status.epoch;
        attempts.last = {};
    }
    if (job.status.epoch == attempts.epoch && job.status.finished)
        attempts.last = std::max(attempts.last, *job.status.finished - *job.status.started);
}

PastWork HistoryReader::past_job(const Job& job) const {
    PastWork work{.job = as_manifest(job),
                  .of = {Job::kind, job.meta.project, job.meta.name_space, job.meta.name},
                  .submitted = job.meta.created};
    work.job.spec.after.clear();
    work.job.spec.outputs.clear();
    work.job.spec.suspend = false;
    if (const auto attempts = attempts_.find(job.meta.uid); attempts != attempts_.end()) {
        work.cut_off = !is_over(job);
        Duration last = attempts->second.last;
        if (work.cut_off && job.status.started) last = std::max(last, until_ - *job.status.started);
        work.run_time = std::max(Duration{attempts->second.before.ms + last.ms}, milliseconds(1));
    } else {
        work.guessed = true;
        if (is_over(job)) work.withdrawn = job.status.finished.value_or(until_);
    }
    return work;
}

std::optional<PastWork> HistoryReader::past_replica(const model::Replica& replica) const {
    if (replica.spec.owner_kind != model::Kind::service || !replica.status.started) return {};
    const auto owner = objects_.find({model::Kind::service, replica.spec.owner_uid});
    PastWork work{.of = {model::Kind::service, replica.meta.project, replica.meta.name_space,
                         replica.spec.owner_name},
                  .submitted = replica.meta.created,
                  .cut_off = !replica.status.finished};
    work.job.meta = {.name = replica.meta.name,
                     .project = replica.meta.project,
                     .name_space = replica.meta.name_space};
    work.job.spec.queue = replica.spec.queue;
    work.job.spec.priority = replica.spec.priority;
    work.job.spec.preemptible =
        owner != objects_.end() && std::get<model::Service>(owner->second.object).spec.preemptible;
    work.job.spec.command = {"serve"};
    work.job.spec.roles = {{.name = "server", .replicas = 1, .resources = replica.spec.resources}};
    work.run_time = std::max(replica.status.finished.value_or(until_) - *replica.status.started,
                             milliseconds(1));
    return work;
}

// Work of which nothing at all can be said is left out.
void HistoryReader::guess_run_times(std::vector<PastWork>& work) {
    std::map<std::string, std::vector<Duration>> known;
    for (const PastWork& one : work) {
        if (one.guessed) continue;
        known[one.job.spec.queue].push_back(one.run_time);
        known[{}].push_back(one.run_time);
    }
    for (auto& [queue, times] : known) std::ranges::sort(times);
    for (PastWork& one : work) {
        if (!one.guessed) continue;
        const auto queue = known.find(one.job.spec.queue);
        const auto like = queue != known.end() ? queue : known.find({});
        if (one.job.spec.max_run_time)
            one.run_time = *one.job.spec.max_run_time;
        else if (like != known.end())
            one.run_time = like->second[(like->second.size() - 1) / 2];
    }
    std::erase_if(work, [](const PastWork& one) { return one.run_time.ms == 0; });
}

void HistoryReader::add_base(History& history, const Seen& seen) const {
    if (!is_there(seen)) return;
    const auto add = [&]<class T>(std::vector<T>& list) {
        if (const T* one = std::get_if<T>(&seen.object)) list.push_back(as_manifest(*one));
    };
    add(history.projects);
    add(history.namespaces);
    add(history.licenses);
    add(history.pools);
    add(history.queues);
    if (const auto* node = std::get_if<model::Node>(&seen.object)) history.nodes.push_back(*node);
}

Result<History> HistoryReader::finish() {
    if (segment_ == 0)
        return fail(ErrorCode::invalid, "line 1: an exported history begins with a segment");
    History history;
    Placed placed;
    for (const auto& [key, seen] : objects_)
        until_ = std::max(until_, model::meta_of(seen.object).created);
    for (const auto& [key, seen] : objects_) {
        add_base(history, seen);
        std::optional<PastWork> work;
        if (const auto* one = std::get_if<Job>(&seen.object); one != nullptr && !one->spec.array)
            work = past_job(*one);
        if (const auto* one = std::get_if<model::Replica>(&seen.object)) work = past_replica(*one);
        if (work) placed[{work->submitted, seen.first_version, key.second}] = *std::move(work);
    }
    history.until = until_;
    if (history.nodes.empty()) return fail(ErrorCode::invalid, "the history names no node");
    if (placed.empty()) return fail(ErrorCode::invalid, "the history names no job");
    std::ranges::sort(history.nodes, {}, [](const auto& node) { return node.meta.name; });
    history.queues = parents_first(std::move(history.queues));
    for (auto& [place, work] : placed) history.work.push_back(std::move(work));
    guess_run_times(history.work);
    if (history.work.empty())
        return fail(ErrorCode::invalid, "the history names no job that ran or states how long");
    make_names_unique(history.work);
    return history;
}

}  // namespace tandem::sim

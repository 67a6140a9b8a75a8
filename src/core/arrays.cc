// SPDX-License-Identifier: Apache-2.0
#include "core/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/dependencies.h"
#include "core/jobs.h"
#include "core/work_limits.h"

namespace tandem::core {
namespace {

using model::ElementCounts;
using model::Job;
using model::Phase;
using model::ReasonCode;

// Made, or erased, in one batch.
constexpr std::int64_t elements_at_once = 1000;

std::string element_name(const Job& array, std::int64_t index) {
    return fmt::format("{}-{}", array.meta.name, index);
}

std::vector<std::int64_t> indices_of(const Job& array) {
    auto indices = model::array_indices(*array.spec.array, "spec.array");
    TANDEM_ASSERT(indices.has_value(), "a stored array was checked");
    return std::move(*indices);
}

const Job* find_element(const State& state, const Job& array, std::int64_t index) {
    const Job* found = state.table<Job>().find_named(array.meta.project, array.meta.name_space,
                                                     element_name(array, index));
    return found && found->status.element ? found : nullptr;
}

std::int64_t& counted_as(ElementCounts& counts, Phase phase) {
    switch (phase) {
        case Phase::pending:
            return counts.pending;
        case Phase::succeeded:
            return counts.succeeded;
        case Phase::failed:
            return counts.failed;
        case Phase::cancelled:
            return counts.cancelled;
        default:
            return counts.running;
    }
}

Job element_from(Turn& turn, const Job& array, std::int64_t index) {
    Job job;
    job.meta = {.id = turn.state.next_id(),
                .uid = turn.random.draw_uid(),
                .name = element_name(array, index),
                .project = array.meta.project,
                .name_space = array.meta.name_space,
                .labels = array.meta.labels,
                .annotations = {},
                .generation = 1,
                .created = turn.now};
    job.spec = array.spec;
    job.spec.array.reset();
    job.spec.after.clear();
    job.spec.suspend = false;
    job.spec.command.clear();
    job.spec.env.clear();
    job.spec.working_directory.clear();
    job.status.observed_generation = 1;
    job.status.submitted_by = array.status.submitted_by;
    job.status.order = queued_at(array);
    job.status.element = model::ArrayElement{.array = array.meta.name, .index = index};
    return job;
}

void make_elements(Turn& turn, RowId id) {
    const Job array = turn.state.table<Job>().get(id);
    const std::vector<std::int64_t> indices = indices_of(array);
    const std::int64_t from = array.status.elements->made;
    const std::int64_t to = std::min(array.status.elements->total, from + elements_at_once);
    for (std::int64_t i = from; i < to; ++i) {
        Job element = element_from(turn, array, indices[static_cast<std::size_t>(i)]);
        const RowId element_id = element.meta.id;
        turn.table<Job>().insert(element_id, std::move(element));
        touch(turn, model::Kind::job, element_id);
    }
    ElementCounts& counts = *turn.table<Job>().edit(id).status.elements;
    counts.made = to;
    counts.pending += to - from;
    if (to < counts.total) set_wake(turn.state.live, id, turn.now);
}

void set_state(Turn& turn, RowId id, Phase phase, model::Reason reason) {
    const Job& array = turn.state.table<Job>().get(id);
    if (array.status.phase == phase && array.status.reason == reason) return;
    Job& edited = turn.table<Job>().edit(id);
    const bool starts = phase == Phase::running && edited.status.phase != Phase::running;
    edited.status.phase = phase;
    edited.status.reason = std::move(reason);
    if (!starts) return;
    if (!edited.status.started) edited.status.started = turn.now;
    turn.note(key_of_row(edited), edited.meta.uid, reason_of(ReasonCode::started));
    tell_dependents(turn, edited);
}

void finish_array(Turn& turn, RowId id) {
    const Job& array = turn.state.table<Job>().get(id);
    const ElementCounts& counts = *array.status.elements;
    const std::string total = std::to_string(counts.total);
    count_submitted(turn.state, array, -unfinished_in(array));
    if (counts.failed > 0)
        return finish_job(turn, id, Phase::failed,
                          reason_of(ReasonCode::elements_failed,
                                    {{"failed", std::to_string(counts.failed)}, {"total", total}}));
    const std::int64_t cancelled = counts.cancelled + counts.total - counts.made;
    if (cancelled > 0)
        return finish_job(turn, id, Phase::cancelled,
                          reason_of(ReasonCode::elements_cancelled,
                                    {{"cancelled", std::to_string(cancelled)}, {"total", total}}));
    finish_job(turn, id, Phase::succeeded, reason_of(ReasonCode::completed));
}

void cancel_elements(Turn& turn, RowId id) {
    for (RowId element : elements_of(turn.state, turn.state.table<Job>().get(id))) {
        const Job& job = turn.state.table<Job>().get(element);
        if (model::is_terminal(job.status.phase) || job.status.cancel_requested) continue;
        Job& edited = turn.table<Job>().edit(element);
        edited.status.cancel_requested = true;
        if (edited.status.phase != Phase::stopping)
            edited.status.reason = turn.state.table<Job>().get(id).status.reason;
        touch(turn, model::Kind::job, element);
    }
}

void erase_array(Turn& turn, RowId id) {
    std::int64_t left = elements_at_once;
    for (RowId element : elements_of(turn.state, turn.state.table<Job>().get(id))) {
        if (left-- == 0) return set_wake(turn.state.live, id, turn.now);
        for (RowId replica : replicas_of(turn.state, element))
            turn.table<model::Replica>().erase(replica);
        turn.table<Job>().erase(element);
    }
    turn.table<Job>().erase(id);
}

void show_progress(Turn& turn, RowId id) {
    const Job& array = turn.state.table<Job>().get(id);
    const ElementCounts& counts = *array.status.elements;
    set_state(turn, id, counts.running > 0 ? Phase::running : Phase::pending,
              reason_of(ReasonCode::elements_running,
                        {{"running", std::to_string(counts.running)},
                         {"pending", std::to_string(counts.pending + counts.total - counts.made)},
                         {"over", std::to_string(counts.over())},
                         {"total", std::to_string(counts.total)}}));
}

}  // namespace

const Job* array_of(const State& state, const Job& job) {
    if (!job.status.element) return nullptr;
    const Job* array = state.table<Job>().find_named(job.meta.project, job.meta.name_space,
                                                     job.status.element->array);
    TANDEM_ASSERT(array && is_array(*array), "an array stays as long as its elements");
    return array;
}

const Job& sharer_of(const State& state, const Job& job) {
    const Job* array = array_of(state, job);
    return array ? *array : job;
}

std::int64_t priority_of(const State& state, const Job& job) {
    if (job.status.priority_override) return job.status.priority_override->priority;
    if (const Job* array = array_of(state, job)) return priority_of(state, *array);
    return job.spec.priority;
}

bool is_suspended(const State& state, const Job& job) {
    return job.spec.suspend || sharer_of(state, job).spec.suspend;
}

bool is_forced(const State& state, const Job& job) {
    return !job.status.forced_by.empty() || !sharer_of(state, job).status.forced_by.empty();
}

std::string holder_of_job(const State& state, const Job& job) {
    return job.status.held_by.empty() ? sharer_of(state, job).status.held_by : job.status.held_by;
}

Status check_element_names(const State& state, const Job& wanted) {
    const auto find = [&](const std::string& name) {
        return state.table<Job>().find_named(wanted.meta.project, wanted.meta.name_space, name);
    };
    const std::size_t dash = wanted.meta.name.rfind('-');
    if (dash != std::string::npos) {
        const Job* array = find(wanted.meta.name.substr(0, dash));
        const std::string tail = wanted.meta.name.substr(dash + 1);
        std::int64_t index = -1;
        const auto [end, error] = std::from_chars(tail.data(), tail.data() + tail.size(), index);
        if (array && is_array(*array) && error == std::errc{} && end == tail.data() + tail.size() &&
            std::ranges::binary_search(indices_of(*array), index) &&
            element_name(*array, index) == wanted.meta.name)
            return fail(ErrorCode::conflict,
                        fmt::format("is the name of an element of array \"{}\"", array->meta.name),
                        "metadata.name");
    }
    if (!is_array(wanted)) return {};
    for (std::int64_t index : indices_of(wanted))
        if (find(element_name(wanted, index)))
            return fail(ErrorCode::conflict,
                        fmt::format("its element {} would be called \"{}\", which another job is",
                                    index, element_name(wanted, index)),
                        "metadata.name");
    return {};
}

Status check_array_change(const Job& wanted, const Job& old) {
    if (is_array(wanted) != is_array(old))
        return fail(ErrorCode::conflict, "can't be changed: make another job", "spec.array");
    if (!is_array(old)) return {};
    Job same = wanted;
    same.spec.suspend = old.spec.suspend;
    same.spec.priority = old.spec.priority;
    same.spec.array->max_running = old.spec.array->max_running;
    if (same.spec == old.spec) return {};
    return fail(ErrorCode::conflict,
                "can't be changed: of an array only priority, suspend and array.maxRunning change; "
                "make another",
                "spec");
}

std::vector<RowId> elements_of(const State& state, const Job& array) {
    std::vector<RowId> elements;
    if (!array.status.elements || array.status.elements->made == 0) return elements;
    for (std::int64_t index : indices_of(array))
        if (const Job* element = find_element(state, array, index))
            elements.push_back(element->meta.id);
    return elements;
}

void touch_elements(Turn& turn, const Job& array) {
    for (RowId element : elements_of(turn.state, array))
        if (!model::is_terminal(turn.state.table<Job>().get(element).status.phase))
            touch(turn, model::Kind::job, element);
}

void reconcile_array(Turn& turn, RowId id) {
    const Job& array = turn.state.table<Job>().get(id);
    if (model::is_terminal(array.status.phase)) {
        if (array.meta.deletion_requested) erase_array(turn, id);
        return;
    }
    TANDEM_ASSERT(array.status.elements, "an array counts its elements from its start");
    const ElementCounts& counts = *array.status.elements;
    if (array.status.cancel_requested || array.meta.deletion_requested) {
        cancel_elements(turn, id);
        if (counts.over() == counts.made) finish_array(turn, id);
        return;
    }
    Waiting waiting = look_at_dependencies(turn, id);
    if (waiting.never) {
        count_submitted(turn.state, array, -unfinished_in(array));
        return finish_job(turn, id, Phase::cancelled, std::move(waiting.reason));
    }
    if (waiting.reason.code != ReasonCode::none)
        return set_state(turn, id, Phase::pending, std::move(waiting.reason));
    if (counts.made < counts.total) make_elements(turn, id);
    const ElementCounts& now = *turn.state.table<Job>().get(id).status.elements;
    if (now.over() == now.total) return finish_array(turn, id);
    show_progress(turn, id);
}

void count_element(Turn& turn, RowId id) {
    const Job* element = turn.state.table<Job>().find(id);
    if (!element || !element->status.element) return;
    const Job& array = *array_of(turn.state, *element);
    ElementCounts places = *array.status.elements;
    const Phase before = element->status.element->counted;
    const Phase now = element->status.phase;
    if (&counted_as(places, before) == &counted_as(places, now)) return;
    ElementCounts& counts = *turn.table<Job>().edit(array.meta.id).status.elements;
    counted_as(counts, before) -= 1;
    counted_as(counts, now) += 1;
    turn.table<Job>().edit(id).status.element->counted = now;
    touch(turn, model::Kind::job, array.meta.id);
}

}  // namespace tandem::core

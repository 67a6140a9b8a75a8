// SPDX-License-Identifier: Apache-2.0
#include "core/job_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/arrays.h"
#include "core/jobs.h"
#include "core/work_limits.h"

namespace tandem::core {
namespace {

using model::Job;
using model::JobAct;
using model::Phase;
using model::ReasonCode;

// One act of one caller on one job.
struct Act {
    Turn& turn;
    const model::Caller& caller;
    const Job& job;

    Job& edit() const { return turn.table<Job>().edit(job.meta.id); }
    void touch_job() const {
        touch(turn, model::Kind::job, job.meta.id);
        if (is_array(job)) touch_elements(turn, job);
    }
    void note(ReasonCode code) const {
        turn.note(key_of_row(job), job.meta.uid, reason_of(code, {{"by", caller.subject}}));
    }
    std::unexpected<Error> unfit(std::string_view only) const {
        return fail(ErrorCode::conflict, fmt::format("only {}; job \"{}\" is {}", only,
                                                     job.meta.name,
                                                     model::name_of(job.status.phase)));
    }
    bool is_over() const { return model::is_terminal(job.status.phase); }
    bool is_live() const {
        return job.status.phase == Phase::starting || job.status.phase == Phase::running ||
               job.status.phase == Phase::unknown;
    }

    Result<bool> cancel() const;
    Result<bool> retry() const;
    Result<bool> hold() const;
    Result<bool> release(bool any) const;
    Result<bool> set_suspend(bool wanted) const;
    Result<bool> requeue() const;
    Result<bool> front() const;
    Result<bool> force() const;
    Result<bool> set_priority(std::optional<std::int64_t> wanted) const;
    Result<bool> retry_one() const;
    std::int64_t elements_to_retry() const;
    void retry_elements() const;
    std::vector<RowId> own_pending() const;
};

Result<bool> Act::cancel() const {
    if (is_over() || job.status.cancel_requested) return false;
    Job& edited = edit();
    edited.status.cancel_requested = true;
    if (edited.status.phase != Phase::stopping)
        edited.status.reason =
            reason_of(ReasonCode::cancelled_by_request, {{"by", caller.subject}});
    touch_job();
    return true;
}

Result<bool> Act::retry() const {
    if (!is_over() && job.spec.suspend)
        return fail(ErrorCode::conflict,
                    fmt::format("job \"{}\" is suspended, not over: resume it", job.meta.name));
    if (const Job* array = array_of(turn.state, job);
        array && model::is_terminal(array->status.phase))
        return fail(ErrorCode::conflict,
                    fmt::format("array \"{}\" is {}; try the array again", array->meta.name,
                                model::name_of(array->status.phase)));
    if (job.status.phase != Phase::failed && job.status.phase != Phase::cancelled)
        return unfit("a failed or cancelled job is tried again");
    TANDEM_TRY(check_submitted(turn.state, job.status.submitted_by, job, elements_to_retry()));
    if (is_array(job)) retry_elements();
    return retry_one();
}

Result<bool> Act::retry_one() const {
    Job& edited = edit();
    edited.status.failures = 0;
    edited.status.cancel_requested = false;
    edited.status.not_before.reset();
    edited.status.finished.reset();
    requeue_job(turn, job.meta.id, reason_of(ReasonCode::submitted));
    return true;
}

// How many more unfinished jobs there are once it is tried again.
std::int64_t Act::elements_to_retry() const {
    if (!is_array(job)) return 1;
    const model::ElementCounts& counts = *job.status.elements;
    return counts.failed + counts.cancelled + counts.total - counts.made;
}

// Those that did not succeed; the array's row, over until now, is asked for nothing more meanwhile.
void Act::retry_elements() const {
    edit().status.cancel_requested = false;
    for (RowId id : elements_of(turn.state, job)) {
        const Job& element = turn.state.table<Job>().get(id);
        if (element.status.phase != Phase::failed && element.status.phase != Phase::cancelled)
            continue;
        const auto again = Act{turn, caller, element}.retry_one();
        TANDEM_ASSERT(again, "an element that is over is tried again");
        count_element(turn, id);  // or the array would look as over as it was
    }
}

Result<bool> Act::hold() const {
    if (is_over()) return unfit("a job that is not over can be held");
    if (!job.status.held_by.empty()) return false;
    edit().status.held_by = caller.subject;
    note(ReasonCode::held);
    touch_job();
    return true;
}

Result<bool> Act::release(bool any) const {
    if (job.status.held_by.empty() && job.spec.suspend && !is_over())
        return fail(ErrorCode::conflict,
                    fmt::format("job \"{}\" is not held but suspended: resume it", job.meta.name));
    if (job.status.held_by.empty()) return unfit("a held job is released");
    if (job.status.held_by != caller.subject && !any)
        return fail(ErrorCode::denied,
                    fmt::format("{} holds job \"{}\"; only they or who may change queues release it",
                                job.status.held_by, job.meta.name));
    edit().status.held_by.clear();
    note(ReasonCode::released);
    touch_job();
    return true;
}

Result<bool> Act::set_suspend(bool wanted) const {
    if (is_over()) return unfit("a job that is not over is suspended or resumed");
    if (job.spec.suspend == wanted && !wanted && !job.status.held_by.empty())
        return fail(ErrorCode::conflict,
                    fmt::format("job \"{}\" is not suspended but held by {}: release it",
                                job.meta.name, job.status.held_by));
    if (job.spec.suspend == wanted && !wanted) return unfit("a suspended job is resumed");
    if (job.spec.suspend == wanted) return false;
    note_suspend(turn, caller, job, wanted);
    Job& edited = edit();
    edited.spec.suspend = wanted;
    edited.meta.generation += 1;
    touch_job();
    return true;
}

Result<bool> Act::requeue() const {
    if (is_over()) return unfit("a running job is queued again; retry starts one that is over");
    if (is_array(job)) {
        bool any = false;
        for (RowId id : elements_of(turn.state, job)) {
            const Act one{turn, caller, turn.state.table<Job>().get(id)};
            if (!one.is_live()) continue;
            TANDEM_TRY(one.requeue());
            any = true;
        }
        if (!any) return unfit("an array of which an element runs is queued again");
        return true;
    }
    if (job.status.phase == Phase::stopping) return false;
    if (!is_live()) return unfit("a running job is queued again");
    begin_ending(turn, job.meta.id, model::Ending::requeued,
                 reason_of(ReasonCode::requeued_by_request, {{"by", caller.subject}}));
    note(ReasonCode::requeued_by_request);
    return true;
}

std::vector<RowId> Act::own_pending() const {
    std::vector<RowId> own;
    for (const auto& [id, other] : turn.state.table<Job>().rows())
        if (other.status.phase == Phase::pending && other.spec.queue == job.spec.queue &&
            !is_array(other) && priority_of(turn.state, other) == priority_of(turn.state, job) &&
            other.status.submitted_by == job.status.submitted_by)
            own.push_back(id);
    std::ranges::sort(own, [this](RowId a, RowId b) {
        const Instant at_a = queued_at(turn.state.table<Job>().get(a));
        const Instant at_b = queued_at(turn.state.table<Job>().get(b));
        return at_a != at_b ? at_a < at_b : a < b;
    });
    return own;
}

// Its places among all stay the submitter's; only who of its jobs stands where changes.
Result<bool> Act::front() const {
    if (is_array(job))
        return fail(
            ErrorCode::conflict,
            fmt::format("the elements of array \"{}\" have places of their own; move one of them",
                        job.meta.name));
    if (job.status.phase != Phase::pending) return unfit("a pending job has a place in its queue");
    const std::vector<RowId> own = own_pending();
    const auto place = std::ranges::find(own, job.meta.id);
    if (place == own.begin()) return false;
    std::vector<Instant> stamps;
    for (RowId id : own) stamps.push_back(queued_at(turn.state.table<Job>().get(id)));
    const std::size_t last = static_cast<std::size_t>(place - own.begin());
    for (std::size_t i = last; i > 0; --i) {
        turn.table<Job>().edit(own[i - 1]).status.order = stamps[i];
        touch(turn, model::Kind::job, own[i - 1]);
    }
    // Of those made in one millisecond the older id goes first: so one earlier.
    edit().status.order = stamps.front() + Duration{-1};
    note(ReasonCode::moved_to_front);
    touch_job();
    return true;
}

// It is not put before others of a larger priority, and evicts nobody whom it might not evict
// anyway.
Result<bool> Act::force() const {
    if (job.status.phase != Phase::pending && !is_array(job))
        return unfit("a pending job is started");
    if (is_over()) return unfit("a job that is not over is started");
    if (!job.status.forced_by.empty()) return false;
    edit().status.forced_by = caller.subject;
    note(ReasonCode::force_started);
    touch_job();
    return true;
}

Result<bool> Act::set_priority(std::optional<std::int64_t> wanted) const {
    if (is_over()) return unfit("a job that is not over has a priority to change");
    std::optional<model::PriorityOverride> next;
    if (wanted) next = {.priority = *wanted, .by = caller.subject};
    if (job.status.priority_override == next) return false;
    edit().status.priority_override = next;
    turn.note(key_of_row(job), job.meta.uid,
              reason_of(wanted ? ReasonCode::priority_overridden : ReasonCode::priority_restored,
                        {{"by", caller.subject},
                         {"priority", std::to_string(priority_of(turn.state, job))}}));
    std::vector<RowId> meant = elements_of(turn.state, job);
    if (!is_array(job)) meant = {job.meta.id};
    for (RowId id : meant) {
        const Job& one = turn.state.table<Job>().get(id);
        if (model::may_be_alive(one.status.phase))
            turn.state.planner.put_occupant(occupant_of(turn.state, one));
    }
    touch_job();
    return true;
}

}  // namespace

void note_suspend(Turn& turn, const model::Caller& caller, const Job& job, bool wanted) {
    turn.note(key_of_row(job), job.meta.uid,
              reason_of(wanted ? ReasonCode::suspended_by_request : ReasonCode::resumed,
                        {{"by", caller.subject}}));
}

Result<bool> act_on_job(Turn& turn, const model::Caller& caller, const model::ActOnJob& act,
                        RowId id, bool may_release_all) {
    const Act one{turn, caller, turn.state.table<Job>().get(id)};
    switch (act.act) {
        case JobAct::cancel:
            return one.cancel();
        case JobAct::retry:
            return one.retry();
        case JobAct::hold:
            return one.hold();
        case JobAct::release:
            return one.release(may_release_all);
        case JobAct::suspend:
            return one.set_suspend(true);
        case JobAct::resume:
            return one.set_suspend(false);
        case JobAct::requeue:
            return one.requeue();
        case JobAct::force:
            return one.force();
        case JobAct::priority:
            return one.set_priority(act.priority);
        default:
            return one.front();
    }
}

}  // namespace tandem::core

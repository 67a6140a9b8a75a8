// SPDX-License-Identifier: Apache-2.0
#include "sched/permits.h"

#include <algorithm>
#include <utility>

#include "base/quantity.h"
#include "sched/snapshot.h"

namespace tandem::sched {
namespace {

using model::Reason;
using model::ReasonCode;

// One text a counter; no name has a line break.
std::string text_of(const Permit& permit) {
    return std::string(model::name_of(permit.bound)) + "\n" + permit.name + "\n" + permit.at +
           (permit.devices ? "\ndevices" : "\n");
}

}  // namespace

std::string_view word_of(const Permit& counter) {
    switch (counter.bound) {
        case ReasonCode::license_short:
            return "license";
        case ReasonCode::array_limit:
            return "array";
        case ReasonCode::project_limit:
            return "project";
        case ReasonCode::queue_limit:
            return "queue";
        default:
            return "user";
    }
}

std::string_view what_counts(const Permit& counter) {
    if (counter.devices) return "devices";
    return counter.bound == ReasonCode::license_short ? "licenses" : "jobs";
}

std::string amount_text(const Permit& counter, std::int64_t amount) {
    if (amount == model::unlimited) return "unlimited";
    return counter.devices ? render_milli(amount) : std::to_string(amount);
}

int Permits::intern(Names& names, const std::vector<Permit>& list) {
    if (list.empty()) return no_name;
    std::string text;
    for (const Permit& permit : list)
        text += text_of(permit) + "\n" + std::to_string(permit.amount) + "\n" +
                std::to_string(permit.limit) + "\n";
    const int number = names.intern(text);
    if (lists_.contains(number)) return number;
    std::vector<PermitNeed>& needs = lists_[number];
    for (const Permit& permit : list) {
        const int counter = names.intern(text_of(permit));
        const bool known = counters_.contains(counter);
        if (!known || permit.limit != model::unlimited) counters_[counter].of = permit;
        changed_.insert(counter);
        needs.push_back({counter, permit.amount, permit.limit});
    }
    return number;
}

const std::vector<PermitNeed>& Permits::needs(int list) const {
    static const std::vector<PermitNeed> none{};
    const auto found = lists_.find(list);
    return found == lists_.end() ? none : found->second;
}

void Permits::count(RowId workload, int list, int sign) {
    if (list == no_name) return;
    const auto part = parts_.try_emplace({workload, list}, 0).first;
    part->second += sign;
    const bool comes = sign > 0 && part->second == 1;
#if defined(TANDEM_PLANT_PERMITS_RELEASE)
    if (sign < 0) part->second = 0;
#endif
    const bool goes = part->second == 0;
    if (goes) parts_.erase(part);
    if (!comes && !goes) return;
    for (const PermitNeed& need : needs(list)) {
        CounterState& state = counters_.at(need.counter);
        state.used += sign * need.amount;
        std::int64_t& held = state.holders[workload];
        held += sign * need.amount;
        if (held == 0) state.holders.erase(workload);
        changed_.insert(need.counter);
    }
}

bool Permits::is_last(RowId workload, int list) const {
    const auto found = parts_.find({workload, list});
    return found != parts_.end() && found->second == 1;
}

std::int64_t Permits::used(int counter) const {
    const auto found = counters_.find(counter);
    return found == counters_.end() ? 0 : found->second.used;
}

const PermitNeed* Permits::find_full(int list) const {
    if (list == no_name) return nullptr;
    const std::vector<PermitNeed>& all = needs(list);
    const auto full = std::ranges::find_if(
        all, [this](const PermitNeed& need) { return !need.fits(used(need.counter)); });
    return full == all.end() ? nullptr : &*full;
}

std::set<int> Permits::take_changed() {
    return std::exchange(changed_, {});
}

std::string Permits::compare(const std::vector<std::pair<RowId, int>>& slots) const {
    const std::set<std::pair<RowId, int>> once(slots.begin(), slots.end());
    std::map<int, std::int64_t> counted;
    for (const auto& [workload, list] : once)
        for (const PermitNeed& need : needs(list)) counted[need.counter] += need.amount;
    for (const auto& [number, state] : counters_) {
        if (state.used != counted[number])
            return std::string(word_of(state.of)) + " " + state.of.name + ": " +
                   std::to_string(state.used) + " kept, " + std::to_string(counted[number]) +
                   " counted";
    }
    return {};
}

ReasonCode code_of_full(const Permit& of, std::int64_t needed, std::int64_t limit) {
    return of.bound == ReasonCode::license_short && needed > limit ? ReasonCode::license_too_few
                                                                   : of.bound;
}

Reason reason_of_full(const Permit& of, std::int64_t needed, std::int64_t used,
                      std::int64_t limit) {
    Reason reason{.code = code_of_full(of, needed, limit)};
    const auto add = [&](std::string_view name, std::string value) {
        reason.params.push_back({std::string(name), std::move(value)});
    };
    add(word_of(of), of.name);
    if (!of.at.empty()) add("at", of.at);
    if (of.bound != ReasonCode::license_short && of.bound != ReasonCode::array_limit)
        add("what", std::string(what_counts(of)));
    add("needed", amount_text(of, needed));
    if (reason.code != ReasonCode::license_too_few) add("used", amount_text(of, used));
    add("limit", amount_text(of, limit));
    return reason;
}

Reason remedy_of_full(const Permit& of, std::int64_t missing) {
    return {ReasonCode::raise_limit,
            {{"of", of.devices ? std::string(word_of(of)) + " limit of devices of"
                    : of.bound == ReasonCode::license_short ? "license"
                    : of.bound == ReasonCode::array_limit
                        ? "maxRunning of array"
                        : std::string(word_of(of)) + " limit of jobs of"},
             {"name", of.at.empty() ? of.name : of.name + " in " + of.at},
             {"missing", amount_text(of, missing)}}};
}

}  // namespace tandem::sched

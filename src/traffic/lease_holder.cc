// SPDX-License-Identifier: Apache-2.0
#include "traffic/lease_holder.h"

#include <algorithm>

namespace tandem::traffic {
namespace {

constexpr Duration active_for = minutes(1);  // a key that was used within this asks often
constexpr Duration refused_every = seconds(1);
constexpr Duration active_every = seconds(5);
constexpr Duration idle_every = seconds(30);  // gives others the chance to take over
constexpr std::size_t asks_max = 1000;

}  // namespace

AdmissionResult LeaseHolder::admit(std::string_view key_id, const KeyLimits& limits, Instant now) {
    if (limits.rate <= 0 && limits.concurrency <= 0) return {};
    auto found = keys_.find(key_id);
    if (found == keys_.end()) found = keys_.emplace(std::string(key_id), Key{}).first;
    Key& key = found->second;
    key.limits = limits;
    key.used = now;
    if (!key.granted || key.expires <= now) {
        key.granted = false;
        key.urgent = true;
        return {.outcome = Admission::no_lease};
    }
    if (limits.concurrency > 0 && key.in_flight >= key.concurrency) {
        ++key.refused;
        return {.outcome = Admission::busy, .limit = key.concurrency};
    }
    if (limits.rate > 0 && !key.window.admit(now, key.rate)) {
        ++key.refused;
        return {.outcome = Admission::rate_spent,
                .retry_after = key.window.wait(now, key.rate),
                .limit = key.rate};
    }
    ++key.in_flight;
    key.peak = std::max(key.peak, key.in_flight);
    return {};
}

void LeaseHolder::release(std::string_view key_id) {
    const auto found = keys_.find(key_id);
    if (found != keys_.end() && found->second.in_flight > 0) --found->second.in_flight;
}

bool LeaseHolder::needs_ask(Key& key, Instant now) const {
    if (key.urgent || key.renew) return true;
    if (!key.granted && key.in_flight == 0) return false;
    const auto since = now - key.asked;
    if (key.refused > 0 || key.concurrency < key.in_flight) return since >= refused_every;
    return since >= (now - key.used < active_for ? active_every : idle_every);
}

model::LeaseAsk LeaseHolder::make_ask(const std::string& key_id, Key& key, Instant now) {
    const bool idle = now - key.used >= active_for;
    const auto spent = key.window.spent(now);
    model::LeaseAsk ask{
        .key_id = key_id, .sequence = sequence_, .answered = key.answered ? key.answered : base_};
    ask.rate = idle ? 0 : std::min(key.limits.rate, spent + spent / 4 + key.refused + 1);
    ask.concurrency = idle ? key.in_flight
                           : std::min(key.limits.concurrency,
                                      std::max(key.peak, key.in_flight) + key.refused + 1);
    ask.held_rate = key.granted ? key.rate : 0;
    // What runs can't be taken back: more than the share may still be in flight after it was
    // lowered.
    ask.held_concurrency = std::max(key.granted ? key.concurrency : 0, key.in_flight);
    key.asked = now;
    key.refused = 0;
    key.peak = key.in_flight;
    key.urgent = key.renew = false;
    return ask;
}

LeaseHolder::Batch LeaseHolder::due(Instant now) {
    if (in_flight_ != 0) return {};
    Batch batch;
    for (auto it = keys_.begin(); it != keys_.end() && batch.asks.size() < asks_max;) {
        Key& key = it->second;
        if (key.granted && key.expires <= now) key.granted = false;
        if (!key.granted && !key.urgent && key.in_flight == 0 && now - key.used >= active_for) {
            it = keys_.erase(it);
            continue;
        }
        if (needs_ask(key, now)) {
            if (batch.asks.empty()) batch.sequence = ++sequence_;
            batch.asks.push_back(make_ask(it->first, key, now));
        }
        ++it;
    }
    in_flight_ = batch.sequence;
    return batch;
}

void LeaseHolder::on_grants(const Batch& batch, const std::vector<model::LeaseGrant>& grants,
                            Instant now) {
    if (batch.sequence != in_flight_) return;
    in_flight_ = 0;
    for (std::size_t i = 0; i < grants.size() && i < batch.asks.size(); ++i) {
        const auto& grant = grants[i];
        const auto found = keys_.find(grant.key_id);
        if (found == keys_.end()) continue;
        Key& key = found->second;
        key.answered = batch.sequence;
        key.rate = grant.rate;
        key.concurrency = grant.concurrency;
        // Counted from when it was asked: the server's clock and the way back may only shorten it.
        key.expires = std::min(grant.expires, key.asked + hours(24));
        key.granted = key.expires > now;
    }
}

void LeaseHolder::lost() {
    in_flight_ = 0;
    for (auto& [id, key] : keys_) key.renew = true;
}

LeaseHolder::Held LeaseHolder::held() const {
    Held held{.sequence = sequence_};
    for (const auto& [id, key] : keys_)
        if (key.granted)
            held.grants.push_back({.key_id = id,
                                   .rate = key.rate,
                                   .concurrency = key.concurrency,
                                   .expires = key.expires});
    return held;
}

void LeaseHolder::resume(const Held& held, Instant now) {
    base_ = sequence_ = std::max(sequence_, held.sequence);
    for (const auto& grant : held.grants) {
        if (grant.expires <= now) continue;
        Key& key = keys_[grant.key_id];
        key.rate = grant.rate;
        key.concurrency = grant.concurrency;
        key.expires = grant.expires;
        key.granted = key.renew = true;
        key.window.assume_spent(now, grant.rate);
    }
}

}  // namespace tandem::traffic

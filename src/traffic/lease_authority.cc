// SPDX-License-Identifier: Apache-2.0
#include "traffic/lease_authority.h"

#include <algorithm>

namespace tandem::traffic {
namespace {

constexpr Duration rest = seconds(61);

}  // namespace

void LeaseAuthority::expect_holders(const std::vector<std::string>& gateways, Instant now) {
    for (const auto& gateway : gateways) expected_[gateway] = now + survival_;
    if (expected_.size() > 1) rate_closed_until_ = now + rest;
}

// An ask shows what the gateway holds now, and with `answered` whether the last offer ever reached
// it. One that was overtaken on its way changes nothing; its sender no longer listens for the
// answer.
void LeaseAuthority::settle(const std::string& gateway, const model::LeaseAsk& ask, Instant now) {
    Key& key = keys_[ask.key_id];
    expire(key, now);
    Holder& holder = key.holders[gateway];
    if (ask.sequence <= holder.sequence) return;
    const bool reached = holder.sequence <= ask.answered;
    const auto used = reached ? holder.rate.bound() : holder.rate.confirmed;
    const auto freed = used - ask.held_rate;
    if (freed > 0) key.resting.push_back({.rate = freed, .until = now + rest});
    holder.rate = {
        .confirmed = ask.held_rate, .offered = 0, .demand = std::max<std::int64_t>(0, ask.rate)};
    holder.concurrency = {.confirmed = ask.held_concurrency,
                          .offered = 0,
                          .demand = std::max<std::int64_t>(0, ask.concurrency)};
    holder.sequence = ask.sequence;
    holder.expires = now + survival_;
}

void LeaseAuthority::expire(Key& key, Instant now) {
    for (auto it = key.holders.begin(); it != key.holders.end();) {
        if (it->second.expires > now) {
            ++it;
            continue;
        }
        const auto freed = it->second.rate.bound();
        if (freed > 0) key.resting.push_back({.rate = freed, .until = it->second.expires + rest});
        it = key.holders.erase(it);
    }
    std::erase_if(key.resting, [&](const Resting& entry) { return entry.until <= now; });
}

bool LeaseAuthority::unknown_holders(Instant now) const {
    for (const auto& [gateway, until] : expected_)
        if (until > now) return true;
    return false;
}

// Max-min fair over the holders' demands; the remainder evenly, odd units to the first names.
std::int64_t LeaseAuthority::fair_share(const Key& key, Field field, std::int64_t limit,
                                        const std::string& gateway) {
    std::vector<std::pair<std::int64_t, std::string>> order;  // smallest demand first
    for (const auto& [name, holder] : key.holders) order.emplace_back((holder.*field).demand, name);
    std::sort(order.begin(), order.end());
    std::map<std::string, std::int64_t> shares;
    auto left = limit;
    auto waiting = static_cast<std::int64_t>(order.size());
    for (const auto& [demand, name] : order) {
        const auto share = std::min(demand, left / waiting);
        shares[name] = share;
        left -= share;
        --waiting;
    }
    const auto count = static_cast<std::int64_t>(shares.size());
    std::int64_t index = 0;
    for (auto& [name, share] : shares) {
        share += left / count + (index < left % count ? 1 : 0);
        ++index;
    }
    return shares[gateway];
}

std::int64_t LeaseAuthority::grant(const Key& key, Field field, std::int64_t limit,
                                   const std::string& gateway, std::int64_t resting,
                                   bool may_grow) const {
    std::int64_t held_by_others = 0;
#if !defined(TANDEM_PLANT_LEASE_AUTHORITY)
    for (const auto& [name, holder] : key.holders)
        if (name != gateway) held_by_others += (holder.*field).bound();
#endif
    const auto held = (key.holders.at(gateway).*field).confirmed;
    const auto room = std::max<std::int64_t>(0, limit - held_by_others - resting);
    const auto most = may_grow ? room : std::min(room, held);
    return std::min(fair_share(key, field, limit, gateway), most);
}

model::LeaseGrant LeaseAuthority::offer(const std::string& gateway, const Asked& asked,
                                        Instant now) {
    Key& key = keys_.at(asked.ask.key_id);
    Holder& holder = key.holders.at(gateway);
    model::LeaseGrant result{.key_id = asked.ask.key_id, .expires = holder.expires};
    if (asked.ask.sequence == holder.sequence) {
        std::int64_t resting = 0;
        for (const auto& entry : key.resting) resting += entry.rate;
        const bool may_grow = !unknown_holders(now);
        const auto& limits = asked.limits;
        if (limits.rate > 0)
            holder.rate.offered = grant(key, &Holder::rate, limits.rate, gateway, resting,
                                        may_grow && now >= rate_closed_until_);
        if (limits.concurrency > 0)
            holder.concurrency.offered =
                grant(key, &Holder::concurrency, limits.concurrency, gateway, 0, may_grow);
    }
    result.rate = holder.rate.offered;
    result.concurrency = holder.concurrency.offered;
    return result;
}

std::vector<model::LeaseGrant> LeaseAuthority::ask(const std::string& gateway,
                                                   const std::vector<Asked>& batch, Instant now) {
    for (const Asked& asked : batch) settle(gateway, asked.ask, now);
    expected_.erase(gateway);
    std::vector<model::LeaseGrant> grants;
    grants.reserve(batch.size());
    for (const Asked& asked : batch) grants.push_back(offer(gateway, asked, now));
    return grants;
}

LeaseLimits LeaseAuthority::outstanding(const std::string& key_id, Instant now) const {
    LeaseLimits sum;
    const auto key = keys_.find(key_id);
    if (key == keys_.end()) return sum;
    for (const auto& [name, holder] : key->second.holders) {
        sum.rate += holder.rate.bound();
        sum.concurrency += holder.concurrency.bound();
    }
    for (const auto& entry : key->second.resting)
        if (entry.until > now) sum.rate += entry.rate;
    return sum;
}

}  // namespace tandem::traffic

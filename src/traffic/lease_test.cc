// SPDX-License-Identifier: Apache-2.0
// Limits over several gateways: authority and holders with messages that are late, lost and
// overtaken, gateways that crash and servers that restart. Judged by what was admitted, not by what
// the parts believe.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "traffic/lease_authority.h"
#include "traffic/lease_holder.h"

namespace tandem::traffic {
namespace {

constexpr KeyLimits limits{.rate = 40, .concurrency = 6};
const std::string key_id = "abcdefabcdef";

struct Gateway {
    std::string name;
    std::unique_ptr<LeaseHolder> holder;
    std::vector<Instant> running;  // ends
    std::optional<LeaseHolder::Batch> sent;
    Instant sent_at;
    LeaseHolder::Held disk;
};

struct Message {
    bool to_server = true;
    std::size_t gateway = 0;
    std::uint64_t life = 0;  // of the gateway when it was sent
    LeaseHolder::Batch batch;
    std::vector<model::LeaseGrant> grants;
};

class World {
  public:
    World(std::uint64_t seed, std::size_t count, Duration survival)
        : random_(seed_from(seed)), survival_(survival), lives_(count), authority_(survival) {
        for (std::size_t i = 0; i < count; ++i) {
            gateways_.emplace_back();
            gateways_.back().name = "gw" + std::to_string(i);
            names_.push_back(gateways_.back().name);
            start(gateways_.back(), false);
        }
    }

    void run(int steps, bool faults) {
        for (int i = 0; i < steps; ++i) {
            now_ = now_ + milliseconds(static_cast<std::int64_t>(random_.below(400)));
            const auto which = random_.below(gateways_.size());
            call(gateways_[which]);
            for (std::size_t g = 0; g < gateways_.size(); ++g) tend(g);
            deliver(faults);
            if (faults && random_.chance(4)) crash(which);
            if (faults && random_.chance(3)) restart_server();
            check();
        }
    }
    std::size_t admitted() const { return admitted_.size(); }
    std::int64_t most_in_window() const { return most_; }
    const std::string& broken() const { return broken_; }

  private:
    void start(Gateway& gateway, bool keep_disk) {
        gateway.holder = std::make_unique<LeaseHolder>(now_.ms);
        if (keep_disk) gateway.holder->resume(gateway.disk, now_);
        gateway.running.clear();
        gateway.sent.reset();
    }
    void call(Gateway& gateway) {
        const auto result = gateway.holder->admit(key_id, limits, now_);
        if (result.outcome != Admission::admitted) return;
        admitted_.push_back(now_);
        gateway.running.push_back(now_ +
                                  milliseconds(static_cast<std::int64_t>(random_.below(4000))));
    }
    void tend(std::size_t index) {
        Gateway& gateway = gateways_[index];
        std::erase_if(gateway.running, [&](Instant end) {
            if (end > now_) return false;
            gateway.holder->release(key_id);
            return true;
        });
        if (gateway.sent && now_ - gateway.sent_at > seconds(3)) {
            gateway.holder->lost();
            gateway.sent.reset();
        }
        if (gateway.sent) return;
        auto batch = gateway.holder->due(now_);
        gateway.disk = gateway.holder->held();
        if (batch.asks.empty()) return;
        gateway.sent = batch;
        gateway.sent_at = now_;
        messages_.push_back({.to_server = true,
                             .gateway = index,
                             .life = lives_[index],
                             .batch = batch,
                             .grants = {}});
    }
    void deliver(bool faults) {
        for (int n = 0; n < 2 && !messages_.empty(); ++n) {
            const auto at = faults ? random_.below(messages_.size()) : 0;
            Message message = messages_[at];
            const bool twice = faults && random_.chance(30) && message.to_server;
            if (!twice) messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(at));
            if (faults && random_.chance(60)) continue;  // lost
            if (message.to_server)
                at_server(message);
            else
                at_gateway(message);
        }
    }
    void at_server(Message message) {
        std::vector<LeaseAuthority::Asked> batch;
        for (const auto& ask : message.batch.asks)
            batch.push_back(
                {.ask = ask, .limits = {.rate = limits.rate, .concurrency = limits.concurrency}});
        message.grants = authority_.ask(gateways_[message.gateway].name, batch, now_);
        message.to_server = false;
        messages_.push_back(std::move(message));
    }
    void at_gateway(const Message& message) {
        Gateway& gateway = gateways_[message.gateway];
        if (message.life != lives_[message.gateway])
            return;  // its connection died with the process
        gateway.holder->on_grants(message.batch, message.grants, now_);
        gateway.disk = gateway.holder->held();
        if (gateway.sent && gateway.sent->sequence == message.batch.sequence) gateway.sent.reset();
    }
    void crash(std::size_t index) {
        ++lives_[index];
        const bool keep = random_.chance(700);
        // A gateway that has lost its disk has lost its identity as well: it is another one from
        // then on.
        if (!keep) gateways_[index].name += "x";
        names_.push_back(gateways_[index].name);
        start(gateways_[index], keep);
    }
    void restart_server() {
        authority_ = LeaseAuthority(survival_);
        authority_.expect_holders(names_, now_);
        messages_.clear();
        for (auto& gateway : gateways_) {  // each sees its feed end
            gateway.holder->lost();
            gateway.sent.reset();
        }
    }
    void check() {
        std::int64_t running = 0;
        for (const auto& gateway : gateways_)
            running += static_cast<std::int64_t>(gateway.running.size());
        if (running > limits.concurrency) broken_ = "in flight: " + std::to_string(running);
        std::int64_t window = 0;
        for (auto it = admitted_.rbegin(); it != admitted_.rend() && now_ - *it < minutes(1); ++it)
            ++window;
        most_ = std::max(most_, window);
        if (window > limits.rate) broken_ = "in one minute: " + std::to_string(window);
    }

    Random random_;
    Duration survival_;
    Instant now_{1'800'000'000'000};
    std::vector<std::string> names_;  // of all that ever were
    std::vector<std::uint64_t> lives_;
    LeaseAuthority authority_;
    std::vector<Gateway> gateways_;
    std::deque<Message> messages_;
    std::deque<Instant> admitted_;
    std::int64_t most_ = 0;
    std::string broken_;
};

TEST(Leases, sum_over_gateways_never_exceeds_the_limit) {
    std::size_t admitted = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        World world(seed, 1 + seed % 4, seed % 2 ? seconds(40) : hours(1));
        world.run(1500, true);
        ASSERT_EQ(world.broken(), "") << "seed " << seed;
        admitted += world.admitted();
    }
    EXPECT_GT(admitted, 2'000u) << "a world that admits nothing proves nothing";
}

TEST(Leases, quota_is_usable_without_faults) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        World world(seed, 1, hours(1));
        world.run(4000, false);
        EXPECT_EQ(world.broken(), "");
        EXPECT_EQ(world.most_in_window(), limits.rate) << "one gateway alone can use all of it";
    }
    World two(9, 2, hours(1));
    two.run(6000, false);
    EXPECT_EQ(two.broken(), "");
    EXPECT_GE(two.most_in_window(), limits.rate * 9 / 10);
}

model::LeaseAsk ask(std::int64_t sequence, std::int64_t answered, std::int64_t rate,
                    std::int64_t held) {
    return {.key_id = key_id,
            .rate = rate,
            .concurrency = rate,
            .sequence = sequence,
            .answered = answered,
            .held_rate = held,
            .held_concurrency = held};
}

TEST(LeaseAuthority, share_of_another_gateway_is_not_given_twice) {
    LeaseAuthority authority;
    const LeaseLimits ten{.rate = 10, .concurrency = 10};
    const Instant t{1'000'000};
    const auto first = authority.ask("a", {{ask(5, 1, 3, 0), ten}}, t)[0];
    EXPECT_EQ(first.rate, 10) << "alone, a gateway holds everything";
    const auto second = authority.ask("b", {{ask(5, 1, 3, 0), ten}}, t)[0];
    EXPECT_EQ(second.rate, 0);
    EXPECT_EQ(second.concurrency, 0);
    const auto lowered = authority.ask("a", {{ask(6, 5, 3, 10), ten}}, t + seconds(1))[0];
    EXPECT_EQ(lowered.rate, 5);
    EXPECT_EQ(authority.ask("b", {{ask(6, 5, 3, 0), ten}}, t + seconds(2))[0].rate, 0)
        << "not confirmed yet";
    authority.ask("a", {{ask(7, 6, 3, 5), ten}}, t + seconds(3));
    const auto resting = authority.ask("b", {{ask(7, 6, 3, 0), ten}}, t + seconds(4))[0];
    EXPECT_EQ(resting.rate, 0) << "what was spent of it still counts";
    EXPECT_EQ(resting.concurrency, 5) << "nothing of the freed concurrency is in use";
    EXPECT_EQ(authority.ask("b", {{ask(8, 7, 3, 0), ten}}, t + seconds(70))[0].rate, 5);
}

TEST(LeaseAuthority, silent_gateway_loses_its_share_when_it_expires) {
    LeaseAuthority authority(seconds(30));
    const LeaseLimits ten{.rate = 10, .concurrency = 10};
    const Instant t{1'000'000};
    authority.ask("a", {{ask(5, 1, 3, 0), ten}}, t);
    EXPECT_EQ(authority.ask("b", {{ask(5, 1, 3, 0), ten}}, t + seconds(29))[0].concurrency, 0);
    EXPECT_EQ(authority.ask("b", {{ask(6, 5, 3, 0), ten}}, t + seconds(31))[0].concurrency, 10);
    EXPECT_EQ(authority.ask("b", {{ask(7, 6, 3, 0), ten}}, t + seconds(92))[0].rate, 10);
}

TEST(LeaseAuthority, after_a_restart_no_share_grows_until_all_holders_spoke) {
    LeaseAuthority authority;
    const LeaseLimits ten{.rate = 10, .concurrency = 10};
    const Instant t{1'000'000};
    authority.expect_holders({"a", "b"}, t);
    EXPECT_EQ(authority.ask("a", {{ask(9, 8, 9, 4), ten}}, t)[0].rate, 4);
    EXPECT_EQ(authority.ask("b", {{ask(9, 8, 1, 6), ten}}, t)[0].rate, 1 + 0);
}

TEST(LeaseHolder, standing_share_survives_without_a_server) {
    LeaseHolder holder(1000);
    Instant now{1'000'000'000};
    EXPECT_EQ(holder.admit(key_id, limits, now).outcome, Admission::no_lease);
    const auto batch = holder.due(now);
    ASSERT_EQ(batch.asks.size(), 1u);
    holder.on_grants(
        batch, {{.key_id = key_id, .rate = 40, .concurrency = 6, .expires = now + hours(1)}}, now);
    for (int i = 0; i < 50; ++i) {
        now = now + minutes(1);
        EXPECT_EQ(holder.admit(key_id, limits, now).outcome, Admission::admitted);
        holder.release(key_id);
        holder.due(now);
        holder.lost();
    }
    now = now + minutes(20);
    EXPECT_EQ(holder.admit(key_id, limits, now).outcome, Admission::no_lease)
        << "the grant has run out";
}

TEST(LeaseHolder, refusals_say_which_limit_and_when_to_come_back) {
    LeaseHolder holder(1000);
    const Instant now{1'000'000'000};
    holder.admit(key_id, limits, now);
    const auto batch = holder.due(now);
    holder.on_grants(
        batch, {{.key_id = key_id, .rate = 3, .concurrency = 2, .expires = now + hours(1)}}, now);
    EXPECT_EQ(holder.admit(key_id, limits, now).outcome, Admission::admitted);
    EXPECT_EQ(holder.admit(key_id, limits, now).outcome, Admission::admitted);
    EXPECT_EQ(holder.admit(key_id, limits, now).outcome, Admission::busy);
    holder.release(key_id);
    EXPECT_EQ(holder.admit(key_id, limits, now).outcome, Admission::admitted);
    holder.release(key_id);
    const auto refused = holder.admit(key_id, limits, now + seconds(10));
    EXPECT_EQ(refused.outcome, Admission::rate_spent);
    EXPECT_EQ(refused.retry_after, seconds(51));
    EXPECT_EQ(holder.admit(key_id, limits, now + seconds(61)).outcome, Admission::admitted);
}

TEST(LeaseHolder, key_without_limits_needs_no_lease) {
    LeaseHolder holder(1);
    EXPECT_EQ(holder.admit("k", {}, Instant{5}).outcome, Admission::admitted);
    EXPECT_TRUE(holder.due(Instant{5}).asks.empty());
}

TEST(RateWindow, no_window_of_a_minute_holds_more_than_the_limit) {
    Random random(seed_from(3));
    RateWindow window;
    std::deque<Instant> admitted;
    Instant now{1'700'000'000'000};
    std::int64_t most = 0;
    for (int i = 0; i < 20'000; ++i) {
        now = now + milliseconds(static_cast<std::int64_t>(random.below(900)));
        if (window.admit(now, 100)) admitted.push_back(now);
        while (!admitted.empty() && now - admitted.front() >= minutes(1)) admitted.pop_front();
        most = std::max(most, static_cast<std::int64_t>(admitted.size()));
    }
    EXPECT_LE(most, 100);
    EXPECT_GE(most, 98) << "and the limit can be used";
}

}  // namespace
}  // namespace tandem::traffic

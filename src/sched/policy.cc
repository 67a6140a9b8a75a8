// SPDX-License-Identifier: Apache-2.0
#include "sched/policy.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/wide.h"

namespace tandem::sched {
namespace {

// The published scores are relative to the largest node of the trace.
constexpr std::int64_t cpu_largest = 128'000;
constexpr std::int64_t devices_largest = 8'000;
constexpr std::int64_t score_max = 100;

// logit(k / 100) for k = 51..99, in milli-devices times mix_one, rounded up: with these thresholds
// int(100 * sigmoid(x)) is found by comparing integers.
constexpr std::array<std::int64_t, 49> sigmoid_steps{
    171821603832, 343780811742, 516015890163, 688666438227, 861874074276, 1035783147065,
    1210541480786, 1386301163789, 1563219391957, 1741459378994, 1921191347599, 2102593617559,
    2285853809427, 2471170185652, 2658753155047, 2848826971403, 3041631663302, 3237425239854,
    3436486226880, 3639116600334, 3845645199461, 4056431722300, 4271871432108, 4492400737155,
    4718503850814, 4950720797955, 5189657112837, 5435995681105, 5690511325963, 5954088943640,
    6227746282666, 6512662876208, 6810217241411, 7122035358322, 7450054804500, 7796611039469,
    8164555710369, 8557422396909, 8979664635734, 9437007701627, 9936986355715, 10489800642394,
    11109746137813, 11817754183305, 12646269120588, 13649637266272, 14929730190511,
    16715240902295, 19735889477529,
};

// Weights of tandem, found on public traces and held on others: parts of 64 for the two measures, a
// quarter of the price, and a grain below which differences don't count, so that nodes of lower
// rank are filled first.
constexpr std::int64_t parts = 64;
constexpr std::int64_t parts_fill = 7;
constexpr std::int64_t price_divisor = 4;
constexpr std::int64_t grain = 36 * mix_one;

std::int64_t sigmoid_score(std::int64_t gain) {
    const std::int64_t size = gain < 0 ? -gain : gain;
    if (gain >= 0)
        return 50 + (std::ranges::upper_bound(sigmoid_steps, size) - sigmoid_steps.begin());
    // The thresholds are irrational: a size that reaches one is beyond it.
    return 49 - (std::ranges::upper_bound(sigmoid_steps, size) - sigmoid_steps.begin());
}

std::int64_t sum_of(std::span<const std::int32_t> left) {
    std::int64_t sum = 0;
    for (std::int32_t milli : left) sum += milli;
    return sum;
}

std::int64_t ceil_div(Wide a, Wide b) {
    return static_cast<std::int64_t>(a >= 0 ? (a + b - 1) / b : a / b);
}

// A node's devices as they would be after the ask; a copy that can be changed and put back.
class Tried {
  public:
    explicit Tried(std::span<const std::int32_t> left) : size_(left.size()) {
        if (size_ > few_.size()) many_.resize(size_);
        std::ranges::copy(left, data());
    }
    std::span<const std::int32_t> left() const { return {const_cast<Tried*>(this)->data(), size_}; }
    void take(std::size_t device, std::int64_t milli) {
        data()[device] -= static_cast<std::int32_t>(milli);
    }
    void take_whole(std::int64_t count) {
        for (std::size_t i = 0; i < size_ && count > 0; ++i) {
            if (data()[i] != 1000) continue;
            data()[i] = 0;
            count -= 1;
        }
    }

  private:
    std::int32_t* data() { return size_ > few_.size() ? many_.data() : few_.data(); }
    std::size_t size_;
    std::array<std::int32_t, 16> few_{};
    std::vector<std::int32_t> many_{};
};

// Which of the devices where a share has the same outcome it takes.
enum class Equals : std::uint8_t { first, tightest };

// Best outcome over the devices that may hold the ask; `value_of(devices after)`.
template <class Value>
Scored best_outcome(const NodeRoom& room, const Ask& ask, std::span<const bool> usable,
                    Equals equals, Value value_of) {
    Tried tried(room.left);
    if (!ask.is_share()) {
        tried.take_whole(ask.count());
        return {value_of(tried.left()), -1};
    }
    Scored best{std::numeric_limits<std::int64_t>::min(), -1};
    for (std::size_t i = 0; i < room.left.size(); ++i) {
        if (room.left[i] < ask.devices || (!usable.empty() && !usable[i])) continue;
        const auto before = room.left.first(i);
        const bool seen = usable.empty() && std::ranges::find(before, room.left[i]) != before.end();
        if (seen) continue;
        tried.take(i, ask.devices);
        const std::int64_t value = value_of(tried.left());
        tried.take(i, -ask.devices);
        const bool tighter =
            equals == Equals::tightest && best.device >= 0 && value == best.score &&
            room.left[i] < room.left[static_cast<std::size_t>(best.device)];
        if (best.device < 0 || value > best.score || tighter) best = {value, static_cast<int>(i)};
    }
    return best;
}

}  // namespace

std::optional<Policy> policy_of(std::string_view name) {
    const auto at = std::ranges::find(policy_names, name);
    if (at == policy_names.end()) return std::nullopt;
    return static_cast<Policy>(at - policy_names.begin());
}

std::optional<std::size_t> kind_of(const Ask& ask) {
    if (ask.devices == 0) return std::nullopt;
    if (ask.is_share()) return 0;
    switch (ask.count()) {
        case 1: return 1;
        case 2: return 2;
        case 4: return 3;
        case 8: return 4;
        default: return 5;
    }
}

bool has_room(const NodeRoom& room, const Ask& ask) {
    if (room.cpu_left < ask.cpu_milli) return false;
    std::int64_t found = 0;
    for (std::int32_t milli : room.left) found += milli >= ask.each() ? 1 : 0;
    return found >= ask.count();
}

std::int64_t dotprod_score(const NodeRoom& room, const Ask& ask) {
    constexpr Wide ratio = (cpu_largest / devices_largest) * (cpu_largest / devices_largest);
    const Wide product = static_cast<Wide>(room.cpu_left) * ask.cpu_milli +
                         ratio * sum_of(room.left) * ask.devices;
    // 100 * (1 - mean of the two normalised products), rounded down
    return score_max - ceil_div(product * (score_max / 2),
                                static_cast<Wide>(cpu_largest) * cpu_largest);
}

std::int64_t clustering_score(const NodeRoom& room, const Ask& ask) {
    const auto kind = kind_of(ask);
    if (!kind) return 0;
    const std::int64_t used = (devices_largest - sum_of(room.left)) * (score_max / 4) / devices_largest;
    const auto others = std::ranges::count_if(room.kinds, [](std::int32_t n) { return n > 0; });
    if (room.kinds[*kind] > 0) return used + (others == 1 ? 75 : 50);
    return used + (others == 0 ? 25 : 0);
}

std::int64_t packing_score(const NodeRoom& room, const Ask& ask) {
    if (ask.devices == 0) return 0;
    const std::int64_t whole = std::ranges::count(room.left, 1000);
    if (whole == static_cast<std::int64_t>(room.left.size()))
        return std::max(score_max / 3 - whole, whole);
    std::vector<std::int32_t> sorted(room.left.begin(), room.left.end());
    std::ranges::sort(sorted);
    std::int64_t wanted = ask.count();
    std::int64_t whole_used = 0;
    std::int64_t percent_left = 0;
    for (std::int32_t milli : sorted) {
        if (wanted == 0) break;
        if (milli < ask.each()) continue;
        wanted -= 1;
        whole_used += milli == 1000 ? 1 : 0;
        percent_left += milli / 10;
    }
    if (whole_used > 0) return std::max(score_max / 2 - whole_used, score_max / 3);
    return std::max(score_max - percent_left / 10, score_max / 2);
}

std::int64_t bestfit_score(const NodeRoom& room, const Ask& ask) {
    const std::int64_t cpu_after = room.cpu_left - ask.cpu_milli;
    const std::int64_t devices_after = sum_of(room.left) - ask.devices;
    return score_max - ceil_div((cpu_after + devices_after * (cpu_largest / devices_largest)) * 50,
                                cpu_largest);
}

Scored fgd_score(const NodeRoom& room, const Ask& ask, const FlavorMix& mix,
                 std::span<const bool> usable) {
    const std::int64_t before = mix.fragmented(room.cpu_left, room.left);
    const std::int64_t cpu_after = room.cpu_left - ask.cpu_milli;
    return best_outcome(room, ask, usable, Equals::first, [&](std::span<const std::int32_t> after) {
        return sigmoid_score(before - mix.fragmented(cpu_after, after));
    });
}

Scored tandem_score(const NodeRoom& room, const Ask& ask, const FlavorMix& mix,
                    std::span<const bool> usable) {
    const auto waste = [&mix](std::int64_t cpu, std::span<const std::int32_t> left) {
        return (mix.fragmented(cpu, left) * (parts - parts_fill) +
                mix.unfillable(cpu, left) * parts_fill) /
               parts;
    };
    const std::int64_t before = waste(room.cpu_left, room.left);
    const std::int64_t cpu_after = room.cpu_left - ask.cpu_milli;
    Scored best = best_outcome(
        room, ask, usable, Equals::tightest,
        [&](std::span<const std::int32_t> after) { return before - waste(cpu_after, after); });
    best.score -= mix.price() / price_divisor * ask.devices;
    const std::int64_t down = best.score < 0 ? grain - 1 : 0;
    best.score = (best.score - down) / grain;
    return best;
}

int tightest_device(std::span<const std::int32_t> left, std::int64_t share) {
    int best = -1;
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[i] < share) continue;
        if (best < 0 || left[i] < left[static_cast<std::size_t>(best)]) best = static_cast<int>(i);
    }
    return best;
}

}  // namespace tandem::sched

// SPDX-License-Identifier: Apache-2.0
#include "sched/order.h"

#include <algorithm>
#include <compare>

#include "base/wide.h"

namespace tandem::sched {
namespace {

enum class Kind : std::uint8_t { rigid, estimated, unknown };

Kind kind_of(const Standing& work) {
    if (work.length <= 0) return Kind::unknown;
    return work.preemptible ? Kind::estimated : Kind::rigid;
}

template <class T>
int sign(T a, T b) {
    return a < b ? -1 : a > b ? 1 : 0;
}

int compare_ratio(const Standing& a, const Standing& b, Ticks now) {
    const auto response = [now](const Standing& work) {
        return static_cast<Wide>(std::max<Ticks>(now - work.submitted, 0)) + work.length;
    };
    return sign(response(b) * a.length, response(a) * b.length);
}

}  // namespace

int tier_of(Ticks attained, Ticks ticks_per_second) {
    int tier = 0;
    while (attained >= tier_end(tier, ticks_per_second)) tier += 1;
    return tier;
}

Ticks tier_end(int tier, Ticks ticks_per_second) {
    Wide end = static_cast<Wide>(tier_base_seconds) * ticks_per_second;
    for (int i = 0; i < tier && end < no_end; ++i) end *= tier_factor;
    return end < no_end ? static_cast<Ticks>(end) : no_end;
}

int Order::compare(const Standing& a, const Standing& b) const {
    if (kind_of(a) != kind_of(b)) return sign(kind_of(a), kind_of(b));
    switch (kind_of(a)) {
        case Kind::rigid:
            return compare_ratio(a, b, now_);
        case Kind::estimated:
            return sign(static_cast<Wide>(a.length) * a.devices,
                        static_cast<Wide>(b.length) * b.devices);
        case Kind::unknown:
            return sign(tier_of(a.attained, second_), tier_of(b.attained, second_));
    }
    return 0;
}

bool Order::operator()(const Standing& a, const Standing& b) const {
    if (policy_ == OrderPolicy::automatic) {
        if (const int order = compare(a, b); order != 0) return order < 0;
        if (kind_of(a) == Kind::unknown) {
            if (a.running != b.running) return a.running;
            if (a.devices != b.devices) return a.devices < b.devices;
        }
    }
    if (a.submitted != b.submitted) return a.submitted < b.submitted;
    return a.id < b.id;
}

bool Order::may_evict(const Standing& a, const Standing& b) const {
    if (policy_ == OrderPolicy::fifo || !b.preemptible) return false;
    if (kind_of(a) == Kind::rigid || kind_of(b) == Kind::rigid) return false;
    return compare(a, b) < 0;
}

}  // namespace tandem::sched

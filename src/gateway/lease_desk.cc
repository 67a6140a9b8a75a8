// SPDX-License-Identifier: Apache-2.0
#include "gateway/lease_desk.h"

#include "base/quantity.h"
#include "codec/record.h"
#include "gateway/files.h"

namespace tandem::gateway {

LeaseDesk::LeaseDesk(std::string file, Instant now, std::function<void()> wake)
    : file_(std::move(file)), wake_(std::move(wake)), holder_(now.ms) {
    const auto text = read_file(file_);
    if (!text)
        return;  // the first start; an unreadable file is no reason not to start: shares are asked
                 // for again
    const auto line_end = text->find('\n');
    const auto sequence = parse_integer(std::string_view(*text).substr(0, line_end));
    if (!sequence || line_end == std::string::npos) return;
    const auto grants =
        codec::decode<std::vector<model::LeaseGrant>>(std::string_view(*text).substr(line_end + 1));
    if (grants) holder_.resume({.sequence = *sequence, .grants = *grants}, now);
}

traffic::AdmissionResult LeaseDesk::admit(std::string_view key_id, const traffic::KeyLimits& limits,
                                          Instant now) {
    if (limits.rate <= 0 && limits.concurrency <= 0) return {};
    const std::lock_guard lock(mutex_);
    return holder_.admit(key_id, limits, now);
}

void LeaseDesk::release(std::string_view key_id) {
    const std::lock_guard lock(mutex_);
    holder_.release(key_id);
}

void LeaseDesk::park(std::shared_ptr<Parked> parked) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(parked));
    }
    wake_();
}

void LeaseDesk::withdraw(const Parked& parked) {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const auto& entry) { return entry.get() == &parked; });
}

traffic::LeaseHolder::Batch LeaseDesk::due(Instant now) {
    const std::lock_guard lock(mutex_);
    return holder_.due(now);
}

void LeaseDesk::on_grants(const traffic::LeaseHolder::Batch& batch,
                          const std::vector<model::LeaseGrant>& grants, Instant now) {
    traffic::LeaseHolder::Held held;
    std::vector<std::shared_ptr<Parked>> waiting;
    {
        const std::lock_guard lock(mutex_);
        holder_.on_grants(batch, grants, now);
        held = holder_.held();
        waiting.swap(waiting_);
    }
    for (const auto& parked : waiting) parked->tell({.what = Told::What::leases_changed});
    save(held);
}

void LeaseDesk::lost() {
    const std::lock_guard lock(mutex_);
    holder_.lost();
}

void LeaseDesk::save(const traffic::LeaseHolder::Held& held) {
    const auto text = std::to_string(held.sequence) + "\n" + codec::encode(held.grants);
    if (text == saved_) return;
    if (replace_file(file_, text)) saved_ = text;
}

}  // namespace tandem::gateway

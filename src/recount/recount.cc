// SPDX-License-Identifier: Apache-2.0
#include "recount/recount.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/quantity.h"
#include "codec/document.h"

namespace tandem::recount {
namespace {

using codec::Value;
using DeviceId = std::pair<std::string, std::int64_t>;  // node, index

constexpr std::int64_t whole = 1000;

struct Share {
    DeviceId device{};
    std::int64_t milli = whole;
    bool operator==(const Share&) const = default;
};
// How one attempt used its devices, as the row tells it.
struct Attempt {
    std::optional<Instant> ran_from{};
    std::optional<Instant> exit{};
};
struct ReplicaBody {
    std::string project{};
    std::string phase = "pending";
    std::int64_t epoch = 0;
    std::vector<Share> shares{};
    Attempt attempt{};
    std::int64_t last_epoch =
        0;  // of the attempt before, when the next one took the row over at once
    Attempt last{};
};
struct PoolBody {
    std::string name{};
    bool shared = false;
    Instant created{};
    std::vector<DeviceId> held{};
};
// Time on devices that is being counted.
struct Stay {
    ReplicaBody body{};
    std::string state{};
    Instant since{};
};
struct Idle {
    std::int64_t milli = 0;
    std::string state{};
    std::string pool{};
    Instant since{};
    bool same_as(const Idle& other) const {
        return milli == other.milli && state == other.state && pool == other.pool;
    }
};

const Value* find_path(const Value& value, std::string_view path) {
    const Value* at = &value;
    while (at != nullptr && !path.empty()) {
        const std::size_t dot = std::min(path.find('.'), path.size());
        at = at->find(path.substr(0, dot));
        path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return at;
}
std::string text_at(const Value& value, std::string_view path, std::string_view otherwise = {}) {
    const Value* found = find_path(value, path);
    return std::string(found == nullptr ? otherwise : found->text_or_empty());
}
std::int64_t number_at(const Value& value, std::string_view path) {
    const Value* found = find_path(value, path);
    return found == nullptr ? 0 : parse_integer(found->text_or_empty()).value_or(0);
}
Result<Instant> instant_at(const Value& value, std::string_view path) {
    auto parsed = parse_instant(text_at(value, path));
    if (!parsed) return in_context(path, parsed.error());
    return parsed;
}
const std::vector<Value>& items_at(const Value& value, std::string_view path) {
    static const std::vector<Value> none;
    const Value* found = find_path(value, path);
    return found == nullptr ? none : found->items;
}

Result<ReplicaBody> read_replica(const Value& object) {
    ReplicaBody body{.project = text_at(object, "metadata.project"),
                     .phase = text_at(object, "status.phase", "pending"),
                     .epoch = number_at(object, "status.epoch")};
    const std::string node = text_at(object, "status.node");
    for (const Value& device : items_at(object, "status.devices")) {
        TANDEM_LET(milli, parse_milli(text_at(device, "amount", "1")));
        body.shares.push_back({{node, number_at(device, "index")}, milli});
    }
    body.last_epoch = number_at(object, "status.lastAttempt.epoch");
    const std::pair<std::string_view, std::optional<Instant>*> times[] = {
        {"status.exit.at", &body.attempt.exit},
        {"status.ranFrom", &body.attempt.ran_from},
        {"status.lastAttempt.exitAt", &body.last.exit},
        {"status.lastAttempt.ranFrom", &body.last.ran_from}};
    for (const auto& [path, time] : times) {
        if (find_path(object, path) == nullptr) continue;
        TANDEM_LET(at, instant_at(object, path));
        *time = at;
    }
    return body;
}

bool may_hold(const std::string& phase) {
    return phase == "claimed" || phase == "starting" || phase == "running" || phase == "stopping" ||
           phase == "unknown";
}

}  // namespace

struct Recounter::Inside {
    Window window{};
    std::map<std::string, std::set<DeviceId>> nodes{};  // by uid
    std::map<std::string, PoolBody> pools{};
    std::map<std::string, ReplicaBody> replicas{};
    std::map<std::string, Stay> stays{};  // by replica
    std::map<DeviceId, Idle> idle{};
    Instant now{};
    Count count{};
    bool begun = false;    // a segment was seen
    bool pending = false;  // changes at `now` that are not counted yet
    bool opening = false;  // rows of a segment are being read
    std::set<std::string> listed{};
    std::int64_t version = 0;
    std::int64_t generation =
        0;  // of the installation; a restore raises it, and replaces what came after its backup
    bool skipping = false;  // a segment whose changes are not all kept

    Status on_segment(const Value& segment);
    Status on_batch(const Value& batch);
    Status on_change(const Value& change);
    Status on_object(const Value& object, bool gone);
    Status move_to(Instant at);
    void settle();
    void settle_stay(const std::string& uid);
    void settle_claims();
    void settle_idle();
    void close_stay(const Stay& stay, Instant to, const Attempt& attempt);
    void close_idle(const DeviceId& device, const Idle& idle, Instant to);
    void add(const DeviceId& device, std::string state, std::string pool, std::string project,
             std::int64_t milli, Instant from, Instant to);
    std::map<DeviceId, std::int64_t> used() const;
    std::pair<std::string, std::string> owner_of(const DeviceId& device) const;  // pool, state
};

void Recounter::Inside::add(const DeviceId& device, std::string state, std::string pool,
                            std::string project, std::int64_t milli, Instant from, Instant to) {
    from = std::max(from, window.from);
    to = std::min(to, window.to);
    if (to <= from || milli == 0) return;
    count.milli_ms[{device.first, device.second, std::move(state), std::move(pool),
                    std::move(project)}] += milli * (to - from).ms;
}

void Recounter::Inside::close_stay(const Stay& stay, Instant to, const Attempt& attempt) {
    const Instant ended = std::clamp(attempt.exit.value_or(to), stay.since, to);
    // Held, but its process ran for a moment that no batch saw.
    const bool ran = stay.state == "held" && attempt.ran_from;
    const Instant began = ran ? std::clamp(*attempt.ran_from, stay.since, ended) : ended;
    for (const Share& share : stay.body.shares) {
        add(share.device, stay.state, {}, stay.body.project, share.milli, stay.since, began);
        add(share.device, "running", {}, stay.body.project, share.milli, began, ended);
        add(share.device, "idleAllocated", {}, stay.body.project, share.milli, ended, to);
    }
}

void Recounter::Inside::close_idle(const DeviceId& device, const Idle& open, Instant to) {
    add(device, open.state, open.pool, {}, open.milli, open.since, to);
}

std::map<DeviceId, std::int64_t> Recounter::Inside::used() const {
    std::map<DeviceId, std::int64_t> amounts;
    for (const auto& [uid, stay] : stays) {
        for (const Share& share : stay.body.shares) amounts[share.device] += share.milli;
    }
    return amounts;
}

std::pair<std::string, std::string> Recounter::Inside::owner_of(const DeviceId& device) const {
    const PoolBody* oldest = nullptr;
    for (const auto& [uid, pool] : pools) {
        if (std::ranges::find(pool.held, device) != pool.held.end()) return {pool.name, "held"};
        if (!pool.shared) continue;
        if (oldest == nullptr ||
            std::tie(pool.created, pool.name) < std::tie(oldest->created, oldest->name))
            oldest = &pool;
    }
    return {oldest == nullptr ? std::string{} : oldest->name, "idle"};
}

// What this batch made of one replica that holds, or held, devices.
void Recounter::Inside::settle_stay(const std::string& uid) {
    const auto known = replicas.find(uid);
    const auto held = stays.find(uid);
    const bool holds =
        known != replicas.end() && may_hold(known->second.phase) && !known->second.shares.empty();
    if (held != stays.end()) {
        Stay& stay = held->second;
        const bool same_stay = holds && known->second.epoch == stay.body.epoch &&
                               known->second.shares == stay.body.shares;
        if (!same_stay) {
            Attempt attempt = stay.body.attempt;
            if (known != replicas.end() && known->second.epoch == stay.body.epoch &&
                known->second.last_epoch != stay.body.epoch)
                attempt = known->second.attempt;
            else if (known != replicas.end() && known->second.last_epoch == stay.body.epoch)
                attempt = known->second.last;
            close_stay(stay, now, attempt);
            stays.erase(held);
        } else {
            const std::string& phase = known->second.phase;
            const std::string state = phase == "running"    ? "running"
                                      : phase == "stopping" ? stay.state
                                                            : "held";
            stay.body = known->second;
            if (state != stay.state) {
                const auto& ran_from = stay.body.attempt.ran_from;
                const Instant at =
                    state == "running" ? std::clamp(ran_from.value_or(now), stay.since, now) : now;
                close_stay(stay, at, {});
                stay.state = state;
                stay.since = at;
            }
            return;
        }
    }
    if (!holds || known->second.phase == "claimed") return;  // claims: once their devices are free
    stays[uid] = {.body = known->second,
                  .state = known->second.phase == "running" ? "running" : "held",
                  .since = now};
}

void Recounter::Inside::settle_claims() {
    std::map<DeviceId, std::int64_t> amounts = used();
    for (const auto& [uid, body] : replicas) {
        if (body.phase != "claimed" || body.shares.empty() || stays.contains(uid)) continue;
        const bool free = std::ranges::all_of(body.shares, [&](const Share& share) {
            return amounts[share.device] + share.milli <= whole;
        });
        if (!free) continue;
        stays[uid] = {.body = body, .state = "held", .since = now};
        for (const Share& share : body.shares) amounts[share.device] += share.milli;
    }
}

void Recounter::Inside::settle_idle() {
    std::map<DeviceId, std::int64_t> amounts = used();
    std::set<DeviceId> present;
    for (const auto& [uid, devices] : nodes) present.insert(devices.begin(), devices.end());
    for (auto at = idle.begin(); at != idle.end();) {
        if (!present.contains(at->first)) {
            close_idle(at->first, at->second, now);
            at = idle.erase(at);
        } else {
            ++at;
        }
    }
    for (const DeviceId& device : present) {
        const auto [pool, state] = owner_of(device);
        const Idle wanted{.milli = std::max<std::int64_t>(0, whole - amounts[device]),
                          .state = state,
                          .pool = pool,
                          .since = now};
        const auto [at, added] = idle.try_emplace(device, wanted);
        if (added || at->second.same_as(wanted)) continue;
        close_idle(device, at->second, now);
        at->second = wanted;
    }
}

void Recounter::Inside::settle() {
    if (!pending) return;
    pending = false;
    std::set<std::string> touched;
    for (const auto& [uid, stay] : stays) touched.insert(uid);
    for (const auto& [uid, body] : replicas) touched.insert(uid);
    for (const std::string& uid : touched) settle_stay(uid);
    settle_claims();
    settle_idle();
}

// The changes before this moment are complete: count them, then go on.
Status Recounter::Inside::move_to(Instant at) {
    if (begun && at < now)
        return fail(ErrorCode::invalid, "time goes back to " + render_instant(at));
    if (at == now) return {};
    settle();
    now = at;
    return {};
}

Status Recounter::Inside::on_segment(const Value& segment) {
    const std::int64_t kept_after = number_at(segment, "changesKeptAfter");
    const std::int64_t start = number_at(segment, "meta.version");
    const std::int64_t installation = number_at(segment, "meta.generation");
    // Changes are kept for a while, segments longer: it begins with the first that has all of its
    // own.
    const bool partial = kept_after > start;
    if (begun && partial)
        return fail(ErrorCode::gone, "changes up to " + std::to_string(kept_after) +
                                         " are not in this history any more; export it again");
    skipping = partial;
    if (skipping) return {};
    if (begun && start > version && installation == generation) {
        return fail(ErrorCode::gone, "changes " + std::to_string(version + 1) + " to " +
                                         std::to_string(start) +
                                         " are not in this history; a recount needs all of them");
    }
    settle();
    if (const Value* time = find_path(segment, "meta.time"); time != nullptr) {
        TANDEM_LET(at, parse_instant(time->text_or_empty()));
        if (!begun)
            now = at;
        else
            TANDEM_TRY(move_to(std::max(at, now)));
        if (!begun) count.from = at;
    }
    version = std::max(version, start);
    generation = installation;
    begun = true;
    opening = true;
    listed.clear();
    return {};
}

Status Recounter::Inside::on_batch(const Value& batch) {
    if (!begun) return fail(ErrorCode::invalid, "a batch before the first segment");
    if (std::exchange(opening, false)) {
        // What a segment does not list is no longer there (it was restored to an earlier state).
        std::erase_if(nodes, [this](const auto& entry) { return !listed.contains(entry.first); });
        std::erase_if(pools, [this](const auto& entry) { return !listed.contains(entry.first); });
        std::erase_if(replicas,
                      [this](const auto& entry) { return !listed.contains(entry.first); });
        pending = true;
    }
    TANDEM_LET(at, instant_at(batch, "now"));
    TANDEM_TRY(move_to(at));
    if (nodes.empty() && count.milli_ms.empty())
        count.from = at;  // there was nothing to count before
    return {};
}

Status Recounter::Inside::on_change(const Value& change) {
    version = std::max(version, number_at(change, "version"));
    const Value* object = change.find("object");
    if (object == nullptr)
        return fail(ErrorCode::invalid, "a change without an object", "change.object");
    return on_object(*object, text_at(change, "type") == "deleted");
}

Status Recounter::Inside::on_object(const Value& object, bool gone) {
    const std::string kind = text_at(object, "kind");
    if (kind != "Node" && kind != "Pool" && kind != "Replica") return {};
    const std::string uid = text_at(object, "metadata.uid");
    const std::string name = text_at(object, "metadata.name");
    listed.insert(uid);
    pending = true;
    if (kind == "Replica") {
        TANDEM_LET(body, read_replica(object));
        if (gone) {
            // A deleted row still tells how its task ended.
            if (const auto stay = stays.find(uid); stay != stays.end() && body.attempt.exit)
                stay->second.body.attempt = body.attempt;
            replicas.erase(uid);
        } else {
            replicas[uid] = std::move(body);
        }
    } else if (kind == "Node") {
        std::set<DeviceId> devices;
        for (const Value& device : items_at(object, "status.devices"))
            devices.emplace(name, number_at(device, "index"));
        if (gone)
            nodes.erase(uid);
        else
            nodes[uid] = std::move(devices);
    } else {
        PoolBody body{.name = name, .shared = text_at(object, "spec.form", "shared") == "shared"};
        if (find_path(object, "metadata.created") != nullptr) {
            TANDEM_LET(created, instant_at(object, "metadata.created"));
            body.created = created;
        }
        for (const Value& held : items_at(object, "status.held"))
            body.held.emplace_back(text_at(held, "node"), number_at(held, "index"));
        if (gone)
            pools.erase(uid);
        else
            pools[uid] = std::move(body);
    }
    return {};
}

Recounter::Recounter(const Window& window) : inside_(std::make_unique<Inside>()) {
    inside_->window = window;
}
Recounter::~Recounter() = default;

Status Recounter::read(std::string_view line) {
    // Batches carry their inputs, which may be large and are not needed: only their head is parsed.
    if (line.starts_with("{\"batch\":")) {
        const std::size_t now = line.find("\"now\":\"");
        const std::size_t end = now == std::string_view::npos ? now : line.find('"', now + 7);
        if (end == std::string_view::npos)
            return fail(ErrorCode::invalid, "a batch without its time", "batch.now");
        if (inside_->skipping) return {};
        Value batch = codec::make_object();
        batch.add("now", codec::make_text(std::string(line.substr(now + 7, end - now - 7))));
        return inside_->on_batch(batch);
    }
    TANDEM_LET(value, codec::parse_json(line));
    if (const Value* segment = value.find("segment")) return inside_->on_segment(*segment);
    if (inside_->skipping) return {};
    if (const Value* change = value.find("change")) return inside_->on_change(*change);
    if (const Value* object = value.find("object")) return inside_->on_object(*object, false);
    return {};
}

Result<Count> Recounter::finish() {
    Inside& inside = *inside_;
    if (!inside.begun)
        return fail(ErrorCode::invalid,
                    "there is no segment with all of its changes in this history");
    inside.settle();
    const Instant end =
        std::max(inside.now, inside.window.to == Window{}.to ? inside.now : inside.window.to);
    for (const auto& [uid, stay] : inside.stays) inside.close_stay(stay, end, {});
    for (const auto& [device, idle] : inside.idle) inside.close_idle(device, idle, end);
    inside.count.from = std::max(inside.count.from, inside.window.from);
    inside.count.to = std::min(end, inside.window.to);
    return std::move(inside.count);
}

}  // namespace tandem::recount

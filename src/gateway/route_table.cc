// SPDX-License-Identifier: Apache-2.0
#include "gateway/route_table.h"

#include <algorithm>

namespace tandem::gateway {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view text) {
    return std::ranges::find(list, text) != list.end();
}

bool may_call(const model::FeedKey& key, const model::FeedService& service) {
    if (!contains(key.projects, "*") && !contains(key.projects, service.project)) return false;
    return key.services.empty() || contains(key.services, service.public_name);
}

// Header values come from the server, but a line end in one would become a header of its own.
bool is_plain(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

std::shared_ptr<const ServiceRoute> make_service(const model::FeedService& facts) {
    auto service = std::make_shared<ServiceRoute>();
    service->facts = facts;
    for (const auto& replica : facts.replicas) {
        const auto endpoint = relay::Endpoint::parse(replica.endpoint);
        if (!endpoint || !is_plain(replica.key)) continue;
        auto route = std::make_shared<ReplicaRoute>();
        route->facts = replica;
        route->endpoint = *endpoint;
        route->fixed_headers =
            "Host: " + endpoint->text() + "\r\nContent-Type: application/json\r\n";
        if (!replica.key.empty())
            route->fixed_headers += "Authorization: Bearer " + replica.key + "\r\n";
        service->replicas.push_back(std::move(route));
    }
    return service;
}

}  // namespace

std::shared_ptr<const RouteTable> RouteTable::apply(const RouteTable* base,
                                                    const model::FeedUpdate& update) {
    auto table = std::make_shared<RouteTable>();
    if (base && !update.full) {
        table->keys_ = base->keys_;
        table->services_ = base->services_;
    }
    for (const auto& key : update.keys)
        table->keys_[key.key_id] = std::make_shared<const model::FeedKey>(key);
    for (const auto& id : update.keys_gone) table->keys_.erase(id);
    for (const auto& service : update.services)
        table->services_[service.uid] = make_service(service);
    for (const auto& uid : update.services_gone) table->services_.erase(uid);
    table->generation_ = update.generation;
    table->version_ = update.version;
    table->at_ = update.at;
    table->index();
    return table;
}

void RouteTable::index() {
    for (const auto& [uid, service] : services_)
        names_[service->facts.public_name].push_back(service);
    for (auto& [name, list] : names_)
        std::ranges::sort(list, {}, [](const auto& service) {
            return std::pair(service->facts.created, service->facts.uid);
        });
}

const model::FeedKey* RouteTable::find_key(std::string_view key_id) const {
    const auto found = keys_.find(key_id);
    return found == keys_.end() ? nullptr : found->second.get();
}

std::shared_ptr<const ServiceRoute> RouteTable::find_service(const model::FeedKey& key,
                                                             std::string_view public_name) const {
    const auto found = names_.find(public_name);
    if (found == names_.end()) return nullptr;
    for (const auto& service : found->second)
        if (may_call(key, service->facts)) return service;
    return nullptr;
}

std::vector<std::shared_ptr<const ServiceRoute>> RouteTable::services_for(
    const model::FeedKey& key) const {
    std::map<std::string, std::shared_ptr<const ServiceRoute>> by_name;
    for (const auto& [uid, service] : services_)
        if (auto meant = find_service(key, service->facts.public_name))
            by_name.emplace(service->facts.public_name, std::move(meant));
    std::vector<std::shared_ptr<const ServiceRoute>> result;
    for (auto& [name, service] : by_name) result.push_back(std::move(service));
    return result;
}

model::FeedUpdate RouteTable::snapshot() const {
    model::FeedUpdate update{.generation = generation_, .version = version_, .at = at_};
    for (const auto& [id, key] : keys_) update.keys.push_back(*key);
    std::ranges::sort(update.keys, {}, &model::FeedKey::key_id);
    for (const auto& [uid, service] : services_) update.services.push_back(service->facts);
    return update;
}

}  // namespace tandem::gateway

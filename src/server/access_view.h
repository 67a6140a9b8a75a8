// SPDX-License-Identifier: Apache-2.0
// AccessView: who may come in, as of the last commit: keys by id, subjects, bindings. Immutable; the API reads it
// for every request, the core thread replaces it when a commit touched one of its kinds.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/policy.h"
#include "core/state.h"

namespace tandem::server {

struct Identity {
    std::string subject{};
    std::string key_id{};
    auth::SubjectFacts facts{};
};

class AccessView {
  public:
    explicit AccessView(const core::State& state);

    // The identity behind a presented key; error unauthenticated, the same for every cause.
    Result<Identity> identify(std::string_view key_text, Instant now) const;
    // The same for a subject that comes in by another door (the unix socket of its own host).
    auth::SubjectFacts facts_of(const std::string& subject) const;
    const std::vector<model::ApiKey>& keys() const { return keys_; }
    // Those that let a platform-admin in and are not revoked.
    std::vector<model::ApiKey> admin_keys() const;
    bool is_disabled(const std::string& subject) const;

    // Commits that touch one of these kinds need a new view.
    static bool depends_on(model::Kind kind);

  private:
    std::vector<model::ApiKey> keys_;
    std::map<std::string, std::size_t, std::less<>> key_by_id_;
    std::map<std::string, std::vector<model::RoleBindingSpec>, std::less<>> bindings_;
    std::map<std::string, bool, std::less<>> disabled_;  // by subject; absent: does not exist
};

}  // namespace tandem::server

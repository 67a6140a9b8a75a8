// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/hex.h"
#include "model/check.h"
#include "model/limits.h"

namespace tandem::model {

Status check_subject(std::string_view subject, std::string_view field) {
    constexpr std::string_view user = "user:";
    constexpr std::string_view account = "serviceaccount:";
    const std::size_t slash = subject.find('/');
    bool fits = false;
    if (subject.starts_with(user)) {
        fits = check_name(subject.substr(user.size()), field).has_value();
    } else if (subject.starts_with(account) && slash != subject.npos) {
        fits =
            check_name(subject.substr(account.size(), slash - account.size()), field).has_value() &&
            check_name(subject.substr(slash + 1), field).has_value();
    }
    if (fits) return {};
    return invalid_field(std::string(field),
                         fmt::format("must be user:NAME or serviceaccount:PROJECT/NAME, is \"{}\"",
                                     subject.substr(0, 60)));
}

Status check_spec(const Project& project) {
    TANDEM_TRY(check_title(project.spec.title, "spec.title"));
    TANDEM_TRY(check_title(project.spec.data_owner, "spec.dataOwner"));
    TANDEM_TRY(check_title(project.spec.failure_contact, "spec.failureContact"));
    TANDEM_TRY(check_work_limits(project.spec.limits, "spec.limits"));
    return check_work_limits(project.spec.per_user, "spec.perUser");
}
Status check_spec(const Namespace& name_space) {
    return check_title(name_space.spec.title, "spec.title");
}
Status check_spec(const User& user) {
    TANDEM_TRY(check_title(user.spec.title, "spec.title"));
    return check_work_limits(user.spec.limits, "spec.limits");
}
Status check_spec(const ServiceAccount& account) {
    TANDEM_TRY(check_title(account.spec.title, "spec.title"));
    return check_work_limits(account.spec.limits, "spec.limits");
}

Status check_spec(const RoleBinding& binding) {
    TANDEM_TRY(check_subject(binding.spec.subject, "spec.subject"));
    if (binding.spec.project.empty()) return {};
    return check_name(binding.spec.project, "spec.project");
}

Status check_spec(const ApiKey& key) {
    const ApiKeySpec& spec = key.spec;
    TANDEM_TRY(check_subject(spec.subject, "spec.subject"));
    if (spec.key_id.empty() && spec.digest.empty())
        return invalid_field("kind",
                             "new keys are made by POST /api/v1/keys (tandem key create), which "
                             "draws and shows their secret");
    const auto word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    if (spec.key_id.size() != 12 || !std::ranges::all_of(spec.key_id, word))
        return invalid_field("spec.keyId", "must be 12 characters of a-z and 0-9");
    const auto digest = parse_hex(spec.digest);
    if (!digest || digest->size() != 32)
        return invalid_field("spec.digest", "must be 64 digits of 0-9 and a-f");
    if (!spec.project.empty()) TANDEM_TRY(check_name(spec.project, "spec.project"));
    if (static_cast<std::int64_t>(spec.services.size()) > limits::listed_names_max)
        return invalid_field("spec.services",
                             fmt::format("must have at most {} entries, has {}",
                                         limits::listed_names_max, spec.services.size()));
    for (std::size_t i = 0; i < spec.services.size(); ++i)
        TANDEM_TRY(check_public_name(spec.services[i], fmt::format("spec.services[{}]", i)));
    TANDEM_TRY(
        check_range(spec.requests_per_minute, 0, limits::rate_max, "spec.requestsPerMinute"));
    return check_range(spec.concurrency, 1, limits::concurrency_max, "spec.concurrency");
}

}  // namespace tandem::model

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/ids.h"
#include "model/check.h"
#include "model/limits.h"

namespace tandem::model {
namespace {

constexpr std::int64_t number_max = 1'000'000'000;
// Names of replicas, "-server-" and up to ten digits behind it, stay within the 63 of every name.
constexpr std::size_t service_name_max = 45;

Status check_format(std::string_view format) {
    if (format == "gguf") return {};
    return invalid_field("spec.format",
                         fmt::format("must be gguf, is \"{}\"", format.substr(0, 40)));
}

Status check_scale(const ServiceScale& scale) {
    TANDEM_TRY(check_range(scale.min, 0, limits::scale_max, "spec.replicas.min"));
    TANDEM_TRY(check_range(scale.max, 1, limits::scale_max, "spec.replicas.max"));
    if (scale.min > scale.max)
        return invalid_field(
            "spec.replicas.min",
            fmt::format("must be at most spec.replicas.max ({}), is {}", scale.max, scale.min));
    TANDEM_TRY(
        check_range(scale.concurrency, 1, limits::concurrency_max, "spec.replicas.concurrency"));
    return check_duration(scale.idle_timeout, seconds(1), limits::run_time_max,
                          "spec.replicas.idleTimeout");
}

}  // namespace

Status check_spec(const Model& model) {
    TANDEM_TRY(check_title(model.spec.title, "spec.title"));
    TANDEM_TRY(check_title(model.spec.data_owner, "spec.dataOwner"));
    return check_title(model.spec.failure_contact, "spec.failureContact");
}

Status check_spec(const ModelVersion& version) {
    const ModelVersionSpec& spec = version.spec;
    TANDEM_TRY(check_name(spec.model, "spec.model"));
    TANDEM_TRY(check_range(spec.number, 1, number_max, "spec.number"));
    const std::string name = fmt::format("{}.v{}", spec.model, spec.number);
    if (version.meta.name != name)
        return invalid_field(
            "metadata.name",
            fmt::format("must be \"{}\" (the model's name, .v and its number), is \"{}\"", name,
                        version.meta.name));
    TANDEM_TRY(check_digest(spec.digest, "spec.digest"));
    if (spec.bytes < 0)
        return invalid_field("spec.bytes", fmt::format("must not be negative, is {}", spec.bytes));
    if (!spec.source_job.empty() && !Uid::parse(spec.source_job))
        return invalid_field("spec.sourceJob",
                             "must be the uid of a job: 24 digits of 0-9 and a-f");
    return check_format(spec.format);
}

Status check_spec(const Runtime& runtime) {
    const RuntimeSpec& spec = runtime.spec;
    TANDEM_TRY(check_command(spec.command, "spec.command"));
    TANDEM_TRY(check_env(spec.env, "spec.env"));
    TANDEM_TRY(check_format(spec.format));
    TANDEM_TRY(check_duration(spec.ready_timeout, seconds(1), hours(24), "spec.readyTimeout"));
    const auto has_port = [](std::string_view text) { return text.contains("{port}"); };
    const bool told =
        std::ranges::any_of(spec.command, has_port) ||
        std::ranges::any_of(spec.env, [&](const auto& entry) { return has_port(entry.second); });
    if (!told)
        return invalid_field(
            "spec.command",
            "must hold {port}, here or in spec.env: the server listens where Tandem says");
    return {};
}

Status check_spec(const Service& service) {
    const ServiceSpec& spec = service.spec;
    if (service.meta.name.size() > service_name_max)
        return invalid_field(
            "metadata.name",
            fmt::format("must be at most {} characters, has {}: its replicas are called "
                        "NAME-server-NUMBER",
                        service_name_max, service.meta.name.size()));
    TANDEM_TRY(check_name(spec.queue, "spec.queue"));
    TANDEM_TRY(check_priority(spec.priority));
    TANDEM_TRY(check_name(spec.model, "spec.model"));
    TANDEM_TRY(check_range(spec.version, 0, number_max, "spec.version"));
    TANDEM_TRY(check_name(spec.runtime, "spec.runtime"));
    if (!spec.public_name.empty())
        TANDEM_TRY(check_public_name(spec.public_name, "spec.publicName"));
    TANDEM_TRY(check_resources(spec.resources, "spec.resources"));
    TANDEM_TRY(check_scale(spec.replicas));
    TANDEM_TRY(
        check_range(spec.context_length, 1, limits::context_length_max, "spec.contextLength"));
    TANDEM_TRY(check_range(spec.threads, 1, limits::threads_max, "spec.threads"));
    TANDEM_TRY(check_env(spec.env, "spec.env"));
    TANDEM_TRY(check_duration(spec.ready_timeout, Duration{}, hours(24), "spec.readyTimeout"));
    return check_duration(spec.drain_timeout, Duration{}, hours(24), "spec.drainTimeout");
}

}  // namespace tandem::model

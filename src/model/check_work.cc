// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/quantity.h"
#include "model/check.h"
#include "model/limits.h"

namespace tandem::model {
namespace {

bool has_nul(std::string_view text) {
    return text.contains('\0');
}

bool is_env_name(std::string_view name) {
    const auto letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !name.empty() && letter(name.front()) &&
           std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool has_dot_dot(std::string_view path) {
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        if (path.substr(at, end - at) == "..") return true;
        at = end + 1;
    }
    return false;
}

std::unexpected<Error> bad(std::string_view field, std::string message) {
    return invalid_field(std::string(field), std::move(message));
}

Status check_amount(std::int64_t value, std::int64_t high, std::string (*render)(std::int64_t),
                    const std::string& field) {
    if (value >= 0 && value <= high) return {};
    return bad(field, fmt::format("must be 0..{}, is {}", render(high), render(value)));
}

}  // namespace

Status check_priority(std::int64_t priority) {
    return check_range(priority, -limits::priority_max, limits::priority_max, "spec.priority");
}

Status check_flavor(std::string_view flavor, std::string_view field) {
    if (flavor.empty()) return {};
    return check_name(flavor, field);
}

Status check_flavor_choice(std::string_view choice, std::string_view field) {
    constexpr std::size_t flavors_max = 16;
    std::size_t count = 0;
    while (!choice.empty()) {
        const std::size_t end = choice.find_first_of("|,");
        const std::string_view flavor = choice.substr(0, end);
        if (++count > flavors_max) return bad(field, "may name at most 16 flavors");
        if (flavor.empty() || end == choice.size() - 1)
            return bad(field, "must be flavors with \"|\" (either) or \",\" (else) between them");
        TANDEM_TRY(check_name(flavor, field));
        choice.remove_prefix(std::min(flavor.size() + 1, choice.size()));
    }
    return {};
}

Status check_taints(const std::vector<std::string>& taints, std::string_view field) {
    constexpr std::size_t taints_max = 32;
    constexpr std::size_t length_max = 63;
    constexpr std::string_view allowed =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789./_=-";
    if (taints.size() > taints_max) return bad(std::string(field), "may hold at most 32");
    for (std::size_t i = 0; i < taints.size(); ++i) {
        const std::string& taint = taints[i];
        const std::string place = fmt::format("{}[{}]", field, i);
        if (taint.empty() || taint.size() > length_max ||
            taint.find_first_not_of(allowed) != std::string::npos)
            return bad(place, fmt::format("must be 1..63 of letters, digits and ./_=-, is \"{}\"",
                                          taint.substr(0, length_max)));
        if (std::find(taints.begin(), taints.begin() + static_cast<std::ptrdiff_t>(i), taint) !=
            taints.begin() + static_cast<std::ptrdiff_t>(i))
            return bad(place, fmt::format("\"{}\" stands twice", taint));
    }
    return {};
}

Status check_resources(const Resources& resources, const std::string& field) {
    const std::string devices = field + ".devices";
    if (resources.devices <= 0 || resources.devices > limits::devices_milli_max)
        return bad(devices, fmt::format("must be more than 0 and at most {}, is {}",
                                        render_milli(limits::devices_milli_max),
                                        render_milli(resources.devices)));
    if (resources.devices > 1000 && resources.devices % 1000 != 0)
        return bad(
            devices,
            fmt::format(
                "must be whole above one device (a fraction is a share of a single one), is {}",
                render_milli(resources.devices)));
    TANDEM_TRY(check_flavor_choice(resources.flavor, field + ".flavor"));
    TANDEM_TRY(
        check_amount(resources.cpu_milli, limits::cpu_milli_max, render_milli, field + ".cpu"));
    TANDEM_TRY(check_amount(resources.memory_bytes, limits::memory_bytes_max, render_bytes,
                            field + ".memory"));
    TANDEM_TRY(check_labels(resources.node_selector, field + ".nodeSelector"));
    TANDEM_TRY(check_affinity(resources.node_affinity, field + ".nodeAffinity"));
    TANDEM_TRY(check_device_memory(resources, field + ".deviceMemory"));
    if (resources.tolerations == std::vector<std::string>{"*"}) return {};
    return check_taints(resources.tolerations, field + ".tolerations");
}

Status check_command(const std::vector<std::string>& command, std::string_view field) {
    if (command.empty() || command.front().empty())
        return bad(field, "must name a program: [\"python3\", \"train.py\"]");
    if (static_cast<std::int64_t>(command.size()) > limits::arguments_max)
        return bad(field, fmt::format("must have at most {} arguments, has {}",
                                      limits::arguments_max, command.size()));
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < command.size(); ++i) {
        const std::string where = fmt::format("{}[{}]", field, i);
        if (has_nul(command[i])) return bad(where, "must hold no NUL byte");
        if (static_cast<std::int64_t>(command[i].size()) >= limits::argument_bytes_max)
            return bad(where, fmt::format("must be shorter than {} bytes, has {}",
                                          limits::argument_bytes_max, command[i].size()));
        bytes += command[i].size() + 1;
    }
    if (static_cast<std::int64_t>(bytes) > limits::command_bytes_max)
        return bad(field, fmt::format("must have at most {} bytes in all, has {}",
                                      limits::command_bytes_max, bytes));
    return {};
}

Status check_env(const std::map<std::string, std::string>& env, std::string_view field) {
    if (static_cast<std::int64_t>(env.size()) > limits::env_max)
        return bad(field, fmt::format("must have at most {} entries, has {}", limits::env_max,
                                      env.size()));
    std::size_t bytes = 0;
    for (const auto& [name, value] : env) {
        const std::string where = fmt::format("{}.{}", field, name.substr(0, 40));
        if (!is_env_name(name) || static_cast<std::int64_t>(name.size()) > limits::env_name_max)
            return bad(where,
                       "must have a name of letters, digits and '_', not starting with a digit, at "
                       "most 128");
        if (name.starts_with("TANDEM_"))
            return bad(where, "names that begin with TANDEM_ are Tandem's own");
        if (has_nul(value)) return bad(where, "must hold no NUL byte");
        bytes += name.size() + value.size() + 2;
    }
    if (static_cast<std::int64_t>(bytes) > limits::env_bytes_max)
        return bad(field, fmt::format("must have at most {} bytes in all, has {}",
                                      limits::env_bytes_max, bytes));
    return {};
}

Status check_relative_path(std::string_view path, std::string_view field) {
    if (path.empty()) return bad(field, "must be a path below the output folder, is empty");
    if (static_cast<std::int64_t>(path.size()) > limits::path_max || has_nul(path))
        return bad(field, fmt::format("must have at most {} bytes and no NUL", limits::path_max));
    const bool plain = !path.starts_with('/') && !path.ends_with('/') && !path.contains("//");
    if (!plain || has_dot_dot(path))
        return bad(
            field,
            fmt::format("must stay below the output folder: relative, without \"..\", is \"{}\"",
                        path.substr(0, 60)));
    return {};
}

Status check_directory(std::string_view path, std::string_view field) {
    if (path.empty()) return {};
    if (static_cast<std::int64_t>(path.size()) > limits::path_max || has_nul(path))
        return bad(field, fmt::format("must have at most {} bytes and no NUL", limits::path_max));
    if (!path.starts_with('/') || has_dot_dot(path))
        return bad(field, fmt::format("must be an absolute path without \"..\", is \"{}\"",
                                      path.substr(0, 60)));
    return {};
}

Status check_spec(const Replica&) {
    return {};
}  // made by core alone

}  // namespace tandem::model

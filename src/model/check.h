// SPDX-License-Identifier: Apache-2.0
// Pieces of check_object() (model/object.h), one function per shape. Internal to model. Every error
// has code invalid, the field from the object's root, and says what would be right. Thread rule:
// pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/object.h"

namespace tandem::model {

Status check_range(std::int64_t value, std::int64_t low, std::int64_t high, std::string_view field);
Status check_duration(Duration value, Duration low, Duration high, std::string_view field);
// One line for people: no control bytes, at most title_bytes_max.
Status check_title(std::string_view text, std::string_view field);
// Names as check_name wants them, none twice.
Status check_name_list(const std::vector<std::string>& names, std::string_view field);
// "user:NAME" or "serviceaccount:PROJECT/NAME".
Status check_subject(std::string_view subject, std::string_view field);
// "sha256:" and 64 hex digits.
Status check_digest(std::string_view digest, std::string_view field);
// What callers write as "model": letters, digits and ._-/, at most 128.
Status check_public_name(std::string_view name, std::string_view field);
Status check_flavor(std::string_view flavor, std::string_view field);
// Resources::flavor: "a|b,c".
Status check_flavor_choice(std::string_view choice, std::string_view field);
// At most 32, none twice, each 1..63 of [A-Za-z0-9./_=-].
Status check_taints(const std::vector<std::string>& taints, std::string_view field);
Status check_priority(std::int64_t priority);
Status check_work_limits(const WorkLimits& limits, const std::string& field);

Status check_affinity(const NodeAffinity& affinity, const std::string& field);
Status check_device_memory(const Resources& resources, const std::string& field);
Status check_placing(const Job& job);
// PoolSpec::topology.
Status check_levels(const std::vector<std::string>& labels, std::string_view field);
Status check_resources(const Resources& resources, const std::string& field);
Status check_command(const std::vector<std::string>& command, std::string_view field);
Status check_env(const std::map<std::string, std::string>& env, std::string_view field);
// Relative, below its folder: no leading '/', no "..", no empty part.
Status check_relative_path(std::string_view path, std::string_view field);
// Empty, or absolute without "..".
Status check_directory(std::string_view path, std::string_view field);

Status check_spec(const Project& project);
Status check_spec(const Namespace& name_space);
Status check_spec(const User& user);
Status check_spec(const ServiceAccount& account);
Status check_spec(const RoleBinding& binding);
Status check_spec(const ApiKey& key);
Status check_spec(const Node& node);
Status check_spec(const Pool& pool);
Status check_spec(const Queue& queue);
Status check_spec(const Runtime& runtime);
Status check_spec(const Job& job);
Status check_spec(const Service& service);
Status check_spec(const Replica& replica);
Status check_spec(const Model& model);
Status check_spec(const ModelVersion& version);
Status check_spec(const License& license);
Status check_spec(const Reservation& reservation);
Status check_spec(const Maintenance& maintenance);

}  // namespace tandem::model

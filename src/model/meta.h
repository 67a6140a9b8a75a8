// SPDX-License-Identifier: Apache-2.0
// Meta: what every object carries. `id` is core's dense row id (never on the wire); `version` is the global
// resourceVersion of the object's last change; `generation` counts changes of spec.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/time.h"
#include "model/kind.h"

namespace tandem::model {

using Labels = std::map<std::string, std::string>;

// Where an object is: kind, project, namespace, name. Project and namespace are empty where the kind's
// scope has none.
struct ObjectKey {
    Kind kind = Kind::job;
    std::string project{};
    std::string name_space{};
    std::string name{};
    auto operator<=>(const ObjectKey&) const = default;
};

struct Meta {
    RowId id{};
    Uid uid{};
    std::string name{};
    std::string project{};
    std::string name_space{};
    Labels labels{};
    Labels annotations{};
    std::int64_t generation = 0;
    std::int64_t version = 0;
    Instant created{};
    std::optional<Instant> deletion_requested{};  // set while an object is being ended before it goes
    bool operator==(const Meta&) const = default;
};

// Object and project names: 1..63 of [a-z0-9.-], first and last a letter or digit. Errors name `field`.
Status check_name(std::string_view name, std::string_view field);
Status check_labels(const Labels& labels, std::string_view field);

}  // namespace tandem::model

// SPDX-License-Identifier: Apache-2.0
#include "model/kind.h"

namespace tandem::model {

std::optional<Kind> find_kind_by_plural(std::string_view plural) {
    for (const KindInfo& info : kind_table)
        if (info.plural == plural) return info.kind;
    return std::nullopt;
}

std::optional<Kind> find_kind_by_word(std::string_view word) {
    for (const KindInfo& info : kind_table)
        if (info.plural == word || info.singular == word || name_of(info.kind) == word) return info.kind;
    return std::nullopt;
}

}  // namespace tandem::model

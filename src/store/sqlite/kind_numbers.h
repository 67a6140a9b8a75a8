// SPDX-License-Identifier: Apache-2.0
// KindNumbers: the number that a store gives each kind, by table `kinds`. It is part of the file: reordering
// the program's enumeration, or adding to it, moves nothing. Place = kind number << 56 | row id.
// Thread rule: read at open, then constant; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "model/kind.h"
#include "store/sqlite/connection.h"

namespace tandem::store::sqlite {

class KindNumbers {
  public:
    // Numbers the kinds that the file does not know yet; the connection must be able to write then.
    static Result<KindNumbers> load(Connection& connection);

    std::int64_t number_of(model::Kind kind) const { return numbers_[static_cast<std::size_t>(kind)]; }
    std::optional<model::Kind> kind_of(std::int64_t number) const;
    std::int64_t place_of(model::Kind kind, RowId id) const { return number_of(kind) << 56 | id.value; }
    static RowId id_of(std::int64_t place) { return RowId{place & ((std::int64_t{1} << 56) - 1)}; }

  private:
    std::array<std::int64_t, model::kind_count> numbers_{};
};

}  // namespace tandem::store::sqlite

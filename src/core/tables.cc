// SPDX-License-Identifier: Apache-2.0
#include "core/tables.h"

namespace tandem {

#define TANDEM_TABLE_HERE(T)                        \
    template class core::ObjectIndex<model::T>;     \
    template class UndoMap<RowId, model::T, core::ObjectIndex<model::T>>;
TANDEM_EACH_OBJECT_TYPE(TANDEM_TABLE_HERE)
#undef TANDEM_TABLE_HERE

}  // namespace tandem

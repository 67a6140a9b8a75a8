// SPDX-License-Identifier: Apache-2.0
// Wide: 128-bit integers for exact products of two amounts; an extension that both compilers have.
#pragma once

namespace tandem {

__extension__ using Wide = __int128;

}  // namespace tandem

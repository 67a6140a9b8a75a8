// SPDX-License-Identifier: Apache-2.0
// Any bytes: facts within their ranges or an error that names the file; never a crash or a hang.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "blob/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto facts = tandem::blob::parse_gguf({reinterpret_cast<const char*>(data), size});
    if (facts && (facts->parameters < 0 || facts->tensors < 1 || facts->context_length < 0 ||
                  facts->architecture.empty()))
        std::abort();
    if (!facts && facts.error().code != tandem::ErrorCode::invalid) std::abort();
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Any bytes as a request: whole, and cut in two at a place that the bytes choose; both must agree.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "net/relay/body.h"

namespace {

using namespace tandem::relay;

std::string outcome(std::string_view text, std::size_t cut) {
    HeadScanner scanner;
    auto size = scanner.scan(text.substr(0, cut));
    if (size && *size == 0) size = scanner.scan(text);
    if (!size) return "refused";
    if (*size == 0) return "incomplete";
    RequestHead head;
    if (!parse_request_head(text.substr(0, *size), {}, head)) return "refused";
    std::string result(head.path);
    BodyDecoder body(head, {.bytes_max = 1 << 20, .chunks_max = 4096, .average_chunk_min = 16});
    auto rest = text.substr(*size);
    const auto middle = cut > *size ? cut - *size : 0;
    for (auto part : {rest.substr(0, middle), rest.substr(std::min(middle, rest.size()))}) {
        while (!part.empty() && !body.done()) {
            const auto step = body.feed(part);
            if (!step) return "refused";
            result.append(step->piece);
            part.remove_prefix(step->consumed);
        }
    }
    return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t cut = size ? data[0] % (size + 1) : 0;
    // A head that is refused when whole may be refused earlier when cut, never accepted.
    TANDEM_ASSERT(outcome(text, size) == outcome(text, cut), "a split changed the meaning");
    return 0;
}

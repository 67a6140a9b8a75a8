// SPDX-License-Identifier: Apache-2.0
// Any bytes as task spec, status, and stream of frames, whole and cut in two: what is taken comes
// back equal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "shim/protocol.h"

namespace {

using namespace tandem::shim;

void must(bool holds) {
    if (!holds) std::abort();
}

std::vector<Fields> frames_of(std::string_view first, std::string_view second) {
    std::vector<Fields> messages;
    std::string buffer;
    for (std::string_view part : {first, second}) {
        buffer += part;
        while (true) {
            auto message = take_frame(buffer);
            if (!message) return messages;
            if (!*message) break;
            messages.push_back(**message);
        }
    }
    return messages;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(bytes), size);
    if (auto fields = decode(text)) {
        must(decode(encode(*fields)) == fields);
        if (auto status = status_of(*fields)) {
            Fields again;
            put_status(again, *status);
            must(status_of(again) == status);
        }
    }
    if (auto spec = decode_spec(text)) must(decode_spec(encode_spec(*spec)) == spec);
    must(frames_of(text, {}) == frames_of(text.substr(0, size / 2), text.substr(size / 2)));
    return 0;
}

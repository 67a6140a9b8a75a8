// SPDX-License-Identifier: Apache-2.0
// Any bytes as a request, an answer or a stream of events (the first byte chooses): given whole,
// and cut in two at a place that the second byte chooses; both must mean the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "net/http/parser.h"
#include "net/http/sse.h"

namespace {

using namespace tandem::http;

std::string request_outcome(std::string_view text, std::size_t cut) {
    RequestParser parser;
    auto head = parser.take_head(text.substr(0, cut), {});
    if (head && !*head) head = parser.take_head(text, {});
    if (!head) return "refused";
    if (!*head) return "incomplete";
    std::string result = parser.request.method + " " + parser.request.path;
    for (const auto& [name, value] : parser.request.headers) result += "\n" + name + ":" + value;
    if (!parser.framing.chunked) return result;
    std::size_t at = **head;
    for (std::size_t end : {std::max(cut, at), text.size()}) {
        if (parser.chunked_done()) break;
        auto used = parser.take_chunked(text.substr(at, end - at), 1 << 20);
        if (!used) return "refused";
        at += *used;
    }
    // When a bad chunk is noticed depends on what has come: both times there is no request.
    return parser.chunked_done() ? result + "\n\n" + parser.request.body : "refused";
}

std::string response_outcome(std::string_view text, std::size_t cut) {
    std::string body;
    ResponseParser parser(false, 64 * 1024, [&](std::string_view piece) {
        body += piece;
        return true;
    });
    std::size_t at = 0;
    for (std::size_t end : {cut, text.size()}) {
        if (parser.done() || end <= at) continue;
        auto used = parser.feed(text.substr(at, end - at));
        if (!used) return "refused";
        at += *used;
    }
    if (!parser.feed_end()) return "refused";
    return std::to_string(parser.response().status) + body;
}

std::string events_outcome(std::string_view text, std::size_t cut) {
    SseReader reader(1024);
    std::string result;
    for (std::string_view part : {text.substr(0, cut), text.substr(cut)}) {
        auto events = reader.feed(part);
        if (!events) return "refused";
        for (const SseEvent& event : *events)
            result += event.id + "|" + event.event + "|" + event.data + "\n";
    }
    return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
    const std::size_t cut = data[1] % (text.size() + 1);
    auto* outcome = data[0] % 3 == 0   ? request_outcome
                    : data[0] % 3 == 1 ? response_outcome
                                       : events_outcome;
    TANDEM_ASSERT(outcome(text, text.size()) == outcome(text, cut), "a split changed the meaning");
    return 0;
}

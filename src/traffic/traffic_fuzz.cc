// SPDX-License-Identifier: Apache-2.0
// Any bytes as request body, answer and event stream: whole and cut in two; facts must agree.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "traffic/answer_scan.h"
#include "traffic/request_scan.h"
#include "traffic/sse_scanner.h"

namespace {

using namespace tandem::traffic;

struct Collect final : SseVisitor {
    std::string raw;
    std::string data;
    void on_frame(const SseFrame& frame) override {
        raw.append(frame.raw);
        if (frame.has_data) data.append(frame.data).append(1, '\n');
    }
};

std::string request_facts(std::string_view text, std::size_t cut) {
    RequestScan scan;
    scan.feed(text.substr(0, cut));
    scan.feed(text.substr(cut));
    if (!scan.finish()) return "refused";
    std::string body(text);
    if (const auto splice = scan.splice()) {
        TANDEM_ASSERT(splice->at + splice->erased <= text.size(), "a splice lies in the text");
        body.replace(splice->at, splice->erased, splice->inserted);
        RequestScan again;
        again.feed(body);
        TANDEM_ASSERT(again.finish() && again.include_usage() && again.stream(),
                      "a spliced body asks for usage");
    }
    return body;
}

void check_answer(std::string_view text) {
    AnswerScan scan;
    scan.feed(text);
    const bool valid = scan.valid();
    TANDEM_ASSERT(scan.null_usage_begin() <= scan.null_usage_end(), "a range");
    if (!valid || scan.null_usage_end() == 0) return;
    std::string rest(text);
    rest.erase(scan.null_usage_begin(), scan.null_usage_end() - scan.null_usage_begin());
    AnswerScan again;
    again.feed(rest);
    TANDEM_ASSERT(again.valid(), "taking usage out leaves JSON");
}

std::string frames(std::string_view text, std::size_t cut) {
    Collect collect;
    SseScanner scanner;
    if (!scanner.feed(text.substr(0, cut), collect) || !scanner.feed(text.substr(cut), collect))
        return "refused";
    scanner.finish(collect);
    TANDEM_ASSERT(collect.raw == text, "frames add up to the stream");
    return collect.data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::size_t cut = size ? data[0] % (size + 1) : 0;
    TANDEM_ASSERT(request_facts(text, 0) == request_facts(text, cut), "a split changed a request");
    TANDEM_ASSERT(frames(text, 0) == frames(text, cut), "a split changed a stream");
    check_answer(text);
    return 0;
}

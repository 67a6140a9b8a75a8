// SPDX-License-Identifier: Apache-2.0
#include "gateway/stream_meter.h"

#include <cstring>

namespace tandem::gateway {
namespace {

bool mentions(std::string_view text, std::string_view word) {
    return ::memmem(text.data(), text.size(), word.data(), word.size()) != nullptr;
}

}  // namespace

bool StreamMeter::feed(std::string_view piece) {
    const bool good = scanner_.feed(piece, *this);
    flush();
    return good;
}

void StreamMeter::finish() {
    scanner_.finish(*this);
    flush();
}

void StreamMeter::on_frame(const traffic::SseFrame& frame) {
    if (!frame.has_data) return pass(frame.raw);
    if (dialect_ == Dialect::anthropic) return look_into_message(frame);
    if (frame.data == "[DONE]") {
        done_ = true;
        return pass(frame.raw);
    }
    // Once content flows, an event is looked into only when it may tell usage or an error: as JSON text these names
    // stand there unescaped or not at all.
    if (content_frames_ > 0 && !mentions(frame.data, "\"usage\"") && !mentions(frame.data, "\"error\"")) {
        ++content_frames_;
        return pass(frame.raw);
    }
    look_into(frame);
}

// Every event has its name before its data; the pieces of the answer, which are nearly all, need no more than that.
void StreamMeter::look_into_message(const traffic::SseFrame& frame) {
    pass(frame.raw);
    if (content_frames_ > 0 && frame.raw.starts_with("event: content_block_delta")) {
        ++content_frames_;
        return;
    }
    traffic::AnswerScan scan;
    scan.feed(frame.data);
    if (!scan.valid()) return;
    using Type = traffic::AnswerScan::Type;
    if (scan.error()) error_ = true;
    if (scan.type() == Type::message_start) progress_ = scan.usage();
    if (scan.type() == Type::content) ++content_frames_;
    if (scan.type() == Type::message_stop) done_ = true;
    if (scan.type() != Type::message_delta || !scan.usage()) return;
    usage_ = scan.usage();
    if (!progress_) return;
    usage_->prompt = progress_->prompt;  // told at the start
    usage_->cached = progress_->cached;
}

void StreamMeter::look_into(const traffic::SseFrame& frame) {
    traffic::AnswerScan scan;
    scan.feed(frame.data);
    if (!scan.valid()) return pass(frame.raw);
    if (scan.usage()) usage_ = scan.usage();
    if (scan.error()) error_ = true;
    if (scan.content()) ++content_frames_;
    if (scan.progress()) {
        progress_ = scan.progress();
        if (strip_.progress && !scan.content()) return;
    }
    if (!strip_.usage) return pass(frame.raw);
    if (scan.usage() && scan.no_choices()) return;  // the event that only our asking has brought
    if (scan.null_usage_end() == 0 || frame.data_at == std::string_view::npos) return pass(frame.raw);
    pass(frame.raw.substr(0, frame.data_at + scan.null_usage_begin()));
    pass(frame.raw.substr(frame.data_at + scan.null_usage_end()));
}

void StreamMeter::pass(std::string_view bytes) {
    if (!run_.empty() && run_.data() + run_.size() == bytes.data()) {
        run_ = {run_.data(), run_.size() + bytes.size()};
        return;
    }
    flush();
    run_ = bytes;
    // A frame that was put together lives only during this call.
    if (!scanner_.between_frames()) flush();
}

void StreamMeter::flush() {
    if (!run_.empty()) output_.on_output(run_);
    run_ = {};
}

}  // namespace tandem::gateway

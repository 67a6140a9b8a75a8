// SPDX-License-Identifier: Apache-2.0
#include "gateway/stream_meter.h"

#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tandem::gateway {
namespace {

constexpr std::string_view usage_name = "\"usage\"";
constexpr std::string_view error_name = "\"error\"";
static_assert(usage_name.size() == error_name.size());

bool stands_at(std::string_view text, std::size_t at) {
    const auto word = text.substr(at, usage_name.size());
    return word == usage_name || word == error_name;
}

// Of each event of each stream this is asked: sixteen places at once are looked at for a quote and
// the first letter.
bool mentions_usage_or_error(std::string_view text) {
    std::size_t at = 0;
#if defined(__SSE2__)
    const auto load = [&](std::size_t from) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + from));
    };
    for (; at + 17 <= text.size(); at += 16) {
        const auto next = load(at + 1);
        const auto letter = _mm_or_si128(_mm_cmpeq_epi8(next, _mm_set1_epi8('u')),
                                         _mm_cmpeq_epi8(next, _mm_set1_epi8('e')));
        const auto found = _mm_and_si128(_mm_cmpeq_epi8(load(at), _mm_set1_epi8('"')), letter);
        for (auto mask = static_cast<unsigned>(_mm_movemask_epi8(found)); mask; mask &= mask - 1)
            if (stands_at(text, at + static_cast<std::size_t>(std::countr_zero(mask)))) return true;
    }
#endif
    for (; at + usage_name.size() <= text.size(); ++at)
        if (text[at] == '"' && stands_at(text, at)) return true;
    return false;
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
    // Once content flows, an event is looked into only when it may tell usage or an error: as JSON
    // text these names stand there unescaped or not at all. Where several choices are made, one may
    // tell its progress while another's content flows.
    if (content_frames_ > 0 && !usage_per_choice_ && !mentions_usage_or_error(frame.data)) {
        ++content_frames_;
        return pass(frame.raw);
    }
    look_into(frame);
}

// Every event has its name before its data; the pieces of the answer, which are nearly all, need no
// more than that.
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

void StreamMeter::take_usage(const traffic::TokenUsage& told) {
    if (!usage_per_choice_ || !usage_) {
        usage_ = told;
        return;
    }
    usage_->prompt += told.prompt;
    usage_->cached += told.cached;
    usage_->completion += told.completion;
}

void StreamMeter::look_into(const traffic::SseFrame& frame) {
    traffic::AnswerScan scan;
    scan.feed(frame.data);
    if (!scan.valid()) return pass(frame.raw);
    if (scan.usage()) take_usage(*scan.usage());
    if (scan.error()) error_ = true;
    if (scan.content()) ++content_frames_;
    if (scan.progress()) {
        if (!usage_per_choice_) progress_ = scan.progress();
        if (strip_.progress && !scan.content()) return;
    }
    if (!strip_.usage) return pass(frame.raw);
    if (scan.usage() && scan.no_choices()) return;  // the event that only our asking has brought
    if (scan.null_usage_end() == 0 || frame.data_at == std::string_view::npos)
        return pass(frame.raw);
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

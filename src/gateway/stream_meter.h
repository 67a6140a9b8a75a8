// SPDX-License-Identifier: Apache-2.0
// StreamMeter: reads a stream of completion events as it passes: where content begins, how many
// pieces were delivered, what usage the engine tells, whether it ended properly. Bytes go out as
// they came, in as few runs as possible; only where something was asked for on the caller's behalf
// (`strip`) it is taken out again: the extra usage event and null usage members, events of progress
// over the prompt. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/answers.h"
#include "traffic/answer_scan.h"
#include "traffic/sse_scanner.h"

namespace tandem::gateway {

class StreamOutput {
  public:
    virtual void on_output(
        std::string_view bytes) = 0;  // whole frames; the view dies with the call

  protected:
    ~StreamOutput() = default;
};

class StreamMeter final : private traffic::SseVisitor {
  public:
    struct Strip {
        bool usage = false;
        bool progress = false;
    };
    // usage_per_choice: several choices are made, and each tells a usage of its own: they add up.
    StreamMeter(Strip strip, StreamOutput& output, Dialect dialect = Dialect::openai,
                bool usage_per_choice = false)
        : strip_(strip),
          output_(output),
          dialect_(dialect),
          usage_per_choice_(usage_per_choice) {}

    bool feed(std::string_view piece);  // false: a frame beyond all bounds
    void finish();

    bool content_seen() const { return content_frames_ > 0; }
    std::int64_t content_frames() const { return content_frames_; }
    bool done() const { return done_; }  // [DONE] or message_stop has passed
    bool error_seen() const { return error_; }
    const std::optional<traffic::TokenUsage>& usage() const { return usage_; }
    // Prompt and cached tokens, told before the first piece; absent where each choice tells its own.
    const std::optional<traffic::TokenUsage>& progress() const { return progress_; }

  private:
    void on_frame(const traffic::SseFrame& frame) override;
    void look_into(const traffic::SseFrame& frame);
    void take_usage(const traffic::TokenUsage& told);
    void look_into_message(const traffic::SseFrame& frame);
    void pass(std::string_view bytes);
    void flush();

    Strip strip_;
    StreamOutput& output_;
    Dialect dialect_;
    bool usage_per_choice_;
    traffic::SseScanner scanner_;
    std::string_view run_;  // neighbours that go out together
    bool done_ = false;
    bool error_ = false;
    std::int64_t content_frames_ = 0;
    std::optional<traffic::TokenUsage> usage_;
    std::optional<traffic::TokenUsage> progress_;
};

}  // namespace tandem::gateway

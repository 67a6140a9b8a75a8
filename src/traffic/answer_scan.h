// SPDX-License-Identifier: Apache-2.0
// AnswerScan: what the gateway must know of an OpenAI or Anthropic answer or of one event of a stream: usage, whether there
// is content, whether it is an error, and where a `"usage":null` member stands that has to be taken out.
// OpenAI counts cached tokens in prompt_tokens, Anthropic beside input_tokens: `prompt` is the sum in either case.
// Works on pieces (a whole answer as it passes) or on one event at once. Lenient in what it does not need: text that
// is not JSON just has no facts. 0 is a value: absent and zero usage are told apart. Thread rule: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "traffic/json_scanner.h"

namespace tandem::traffic {

struct TokenUsage {
    std::int64_t prompt = 0;
    std::int64_t cached = 0;      // part of prompt
    std::int64_t completion = 0;
    bool operator==(const TokenUsage&) const = default;
};

class AnswerScan final : private JsonVisitor {
  public:
    AnswerScan() : scanner_(*this, 5) {}
    AnswerScan(const AnswerScan&) = delete;
    AnswerScan& operator=(const AnswerScan&) = delete;

    void feed(std::string_view piece) { scanner_.feed(piece); }
    bool valid() { return scanner_.finish(); }

    const std::optional<TokenUsage>& usage() const { return usage_; }
    // The member "type", where it is one of Anthropic's that matter here.
    enum class Type : std::uint8_t { other, message_start, message_delta, message_stop, content };
    Type type() const { return type_; }
    // Of an event of progress over the prompt ("prompt_progress" of llama.cpp): its tokens, and those of them cached.
    const std::optional<TokenUsage>& progress() const { return progress_; }
    // A choice that carries text, reasoning, a tool call or a finish reason: what a caller acts on.
    bool content() const { return content_; }
    bool finished() const { return finished_; }       // a finish reason was given
    bool no_choices() const { return choices_seen_ && choice_count_ == 0; }
    bool error() const { return error_; }
    // The member `"usage":null` with one comma beside it, as offsets; empty when there is none.
    std::size_t null_usage_begin() const { return null_begin_; }
    std::size_t null_usage_end() const { return null_end_; }

  private:
    enum class Name : std::uint8_t { other, usage, choices, error, prompt_tokens, completion_tokens, details,
                                     cached_tokens, delta, message, text, content, finish_reason, progress,
                                     total, cache, input_tokens, cache_read, cache_creation, type };
    std::string_view on_json(const JsonEvent& event) override;
    void on_key(const JsonEvent& event);
    void on_value(const JsonEvent& event);
    void on_usage(const JsonEvent& event, int at);
    void on_type(const JsonEvent& event);
    void on_progress(const JsonEvent& event);
    void on_choice(const JsonEvent& event);
    static Name name_of(std::string_view text);

    JsonScanner scanner_;
    Name path_[6] = {};
    std::optional<TokenUsage> usage_;
    std::optional<TokenUsage> progress_;
    bool content_ = false;
    bool finished_ = false;
    Type type_ = Type::other;
    bool error_ = false;
    bool choices_seen_ = false;
    bool null_open_ = false;            // the null member's following comma is not seen yet
    bool first_member_ = true;
    std::int64_t choice_count_ = 0;
    std::size_t previous_end_ = 0;      // end of the value before the current member
    std::size_t key_begin_ = 0;
    std::size_t null_begin_ = 0;
    std::size_t null_end_ = 0;
};

}  // namespace tandem::traffic

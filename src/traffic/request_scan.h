// SPDX-License-Identifier: Apache-2.0
// RequestScan: what the gateway must know of an OpenAI request body (completions, embeddings, rerank), read while it
// arrives: model, stream, stream_options.include_usage, max_tokens, n, and how large the prompt is. The body itself is never rebuilt; where
// usage must be asked for, splice() says which bytes to replace.
// Refused: text that is not one JSON object; a field of these that occurs twice or has the wrong type (two parsers
// might take different ones). Names are compared decoded, so "mod\u0065l" hides nothing. Thread rule: one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traffic/json_scanner.h"

namespace tandem::traffic {

// Replace `erased` bytes at `at` by `inserted` (static text).
struct Splice {
    std::size_t at = 0;
    std::size_t erased = 0;
    std::string_view inserted{};
};

class RequestScan final : private JsonVisitor {
  public:
    RequestScan() : scanner_(*this, 2) {}
    RequestScan(const RequestScan&) = delete;
    RequestScan& operator=(const RequestScan&) = delete;

    bool feed(std::string_view piece) { return scanner_.feed(piece); }
    bool finish();
    std::string_view error() const { return scanner_.error().empty() ? error_ : scanner_.error(); }
    std::string_view error_field() const { return error_field_; }  // empty when it is the whole text

    const std::string& model() const { return model_; }
    bool stream() const { return stream_; }
    bool include_usage() const { return usage_ == Usage::asked; }
    std::optional<std::int64_t> max_tokens() const { return max_tokens_; }
    std::int64_t choices() const { return choices_; }  // of each prompt: "n"
    std::int64_t prompts() const { return prompts_ > 1 ? prompts_ : 1; }

    bool progress_asked() const { return progress_asked_; }    // "return_progress" is there
    std::int64_t prompt_bytes() const { return prompt_bytes_; }  // of messages, system, prompt, input, query and documents, as JSON
    std::size_t members_at() const { return body_at_; }        // behind the opening brace

    // Makes a stream end with its usage; absent when the caller has asked for that anyway, or does not stream.
    std::optional<Splice> splice() const;

  private:
    enum class Field : std::uint8_t { none, model, stream, stream_options, max_tokens, max_completion_tokens,
                                      n, include_usage, prompt, return_progress, prompts };
    enum class Usage : std::uint8_t { no_options, null_options, empty_options, no_member, refused, asked };

    std::string_view on_json(const JsonEvent& event) override;
    std::string_view on_member(const JsonEvent& event);
    std::string_view on_option(const JsonEvent& event);
    void on_prompt(const JsonEvent& event);
    std::string_view take_number(const JsonEvent& event, std::int64_t& into);
    std::string_view wrong(Field field, std::string_view what);
    static Field field_of(std::string_view name);

    JsonScanner scanner_;
    Field member_ = Field::none;
    Field option_ = Field::none;
    std::uint32_t seen_ = 0;             // bit per Field
    std::string_view error_;
    std::string_view error_field_;
    std::string model_;
    bool stream_ = false;
    std::optional<std::int64_t> max_tokens_;
    std::int64_t choices_ = 1;
    std::int64_t prompts_ = 0;
    Usage usage_ = Usage::no_options;
    std::size_t body_at_ = 0;            // just behind the opening brace
    std::size_t options_at_ = 0;         // null: where it stands; object: just behind its opening brace
    std::size_t value_at_ = 0;           // of include_usage
    std::size_t value_size_ = 0;
    std::size_t prompt_at_ = 0;
    std::int64_t prompt_bytes_ = 0;
    bool progress_asked_ = false;
};

}  // namespace tandem::traffic

// SPDX-License-Identifier: Apache-2.0
#include "traffic/answer_scan.h"

#include <utility>

namespace tandem::traffic {
namespace {

std::optional<std::int64_t> whole(const JsonEvent& event) {
    if (event.kind != JsonKind::number || event.text.empty() || event.text.size() > 15)
        return std::nullopt;
    std::int64_t value = 0;
    for (char c : event.text) {
        if (c < '0' || c > '9') return std::nullopt;
        value = value * 10 + (c - '0');
    }
    return value;
}

bool begins(JsonKind kind) {
    return kind == JsonKind::object_begin || kind == JsonKind::array_begin;
}
bool ends(JsonKind kind) {
    return kind == JsonKind::object_end || kind == JsonKind::array_end;
}

}  // namespace

// By length first: this is asked for each name of each answer.
AnswerScan::Name AnswerScan::name_of(std::string_view text) {
    const auto is = [text](std::string_view name, Name value) {
        return text == name ? value : Name::other;
    };
    switch (text.size()) {
        case 4:
            return text == "type" ? Name::type : is("text", Name::text);
        case 5:
            switch (text[0]) {
                case 'u':
                    return is("usage", Name::usage);
                case 'e':
                    return is("error", Name::error);
                case 'd':
                    return is("delta", Name::delta);
                case 't':
                    return is("total", Name::total);
                default:
                    return is("cache", Name::cache);
            }
        case 7:
            switch (text[0]) {
                case 'm':
                    return is("message", Name::message);
                case 'r':
                    return is("refusal", Name::content);
                default:
                    return text == "choices" ? Name::choices : is("content", Name::content);
            }
        case 10:
            return is("tool_calls", Name::content);
        case 12:
            return is("input_tokens", Name::input_tokens);
        case 13:
            switch (text[0]) {
                case 'o':
                    return is("output_tokens", Name::completion_tokens);
                case 'p':
                    return is("prompt_tokens", Name::prompt_tokens);
                case 'c':
                    return is("cached_tokens", Name::cached_tokens);
                default:
                    return text == "finish_reason" ? Name::finish_reason
                                                   : is("function_call", Name::content);
            }
        case 15:
            return is("prompt_progress", Name::progress);
        case 17:
            return text == "completion_tokens" ? Name::completion_tokens
                                               : is("reasoning_content", Name::content);
        case 20:
            return is("input_tokens_details", Name::details);
        case 21:
            return is("prompt_tokens_details", Name::details);
        case 23:
            return is("cache_read_input_tokens", Name::cache_read);
        case 27:
            return is("cache_creation_input_tokens", Name::cache_creation);
        default:
            return Name::other;
    }
}

std::string_view AnswerScan::on_json(const JsonEvent& event) {
    if (event.kind == JsonKind::key)
        on_key(event);
    else if (event.depth > 0)
        on_value(event);
    return {};
}

void AnswerScan::on_key(const JsonEvent& event) {
    path_[event.depth] = event.cut ? Name::other : name_of(event.text);
    if (event.depth != 1) return;
    key_begin_ = event.begin;
    if (null_open_) {  // `{"usage":null, "next"...`: up to the next name
        null_end_ = event.begin;
        null_open_ = false;
    }
}

void AnswerScan::on_value(const JsonEvent& event) {
    if (event.depth == 1 && !begins(event.kind)) {
        if (path_[1] == Name::usage && event.kind == JsonKind::null_value) {
            // With a member before it, the comma before goes too; else the one behind, when the
            // next name comes.
            null_begin_ = first_member_ ? key_begin_ : previous_end_;
            null_end_ = event.end;
            null_open_ = first_member_;
        }
        previous_end_ = event.end;
        first_member_ = false;
    }
    switch (path_[1]) {
        case Name::usage:
            return on_usage(event, 1);
        case Name::message:
            if (path_[2] == Name::usage && event.depth >= 2) on_usage(event, 2);
            return;
        case Name::type:
            if (event.depth == 1) on_type(event);
            return;
        case Name::choices:
            return on_choice(event);
        case Name::progress:
            return on_progress(event);
        case Name::error:
            if (event.depth == 1 && event.kind != JsonKind::null_value) error_ = true;
            return;
        default:
            return;
    }
}

// `at`: the depth of the object.
void AnswerScan::on_usage(const JsonEvent& event, int at) {
    if (event.depth == at && event.kind == JsonKind::object_begin) usage_.emplace();
    const auto value = usage_ ? whole(event) : std::nullopt;
    if (!value) return;
    const Name name = path_[at + 1];
    if (event.depth == at + 2 && name == Name::details && path_[at + 2] == Name::cached_tokens)
        usage_->cached = *value;
    if (event.depth != at + 1) return;
    switch (name) {
        case Name::prompt_tokens:
            usage_->prompt = *value;
            break;
        case Name::completion_tokens:
            usage_->completion = *value;
            break;
        case Name::input_tokens:
        case Name::cache_creation:
            usage_->prompt += *value;
            break;
        case Name::cache_read:
            usage_->prompt += *value;
            usage_->cached = *value;
            break;
        default:
            break;
    }
}

void AnswerScan::on_type(const JsonEvent& event) {
    static constexpr std::pair<std::string_view, Type> types[] = {
        {"message_start", Type::message_start},
        {"message_delta", Type::message_delta},
        {"message_stop", Type::message_stop},
        {"content_block_delta", Type::content}};
    for (const auto& [name, type] : types)
        if (event.text == name) type_ = type;
}

void AnswerScan::on_progress(const JsonEvent& event) {
    if (event.depth == 1 && event.kind == JsonKind::object_begin) progress_.emplace();
    const auto value = progress_ && event.depth == 2 ? whole(event) : std::nullopt;
    if (!value) return;
    if (path_[2] == Name::total) progress_->prompt = *value;
    if (path_[2] == Name::cache) progress_->cached = *value;
}

// Depths: 1 the array, 2 its items, 3 their members, 4 members of delta or message, 5 items of
// tool_calls.
void AnswerScan::on_choice(const JsonEvent& event) {
    if (event.depth == 1) choices_seen_ = true;
    if (event.depth == 2 && event.kind == JsonKind::object_begin) ++choice_count_;
    if (ends(event.kind)) return;
    const bool something = event.kind != JsonKind::null_value &&
                           !(event.kind == JsonKind::string && event.text.empty());
    if (event.depth == 3 && path_[3] == Name::finish_reason && something)
        content_ = finished_ = true;
    if (event.depth == 3 && path_[3] == Name::text && something) content_ = true;
    if (event.depth == 4 && (path_[3] == Name::delta || path_[3] == Name::message) &&
        path_[4] == Name::content && something && event.kind != JsonKind::array_begin)
        content_ = true;
    if (event.depth == 5 && path_[4] == Name::content && begins(event.kind)) content_ = true;
}

}  // namespace tandem::traffic

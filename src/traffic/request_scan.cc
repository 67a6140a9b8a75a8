// SPDX-License-Identifier: Apache-2.0
#include "traffic/request_scan.h"

namespace tandem::traffic {
namespace {

constexpr std::string_view twice = "is given twice";

}  // namespace

RequestScan::Field RequestScan::field_of(std::string_view name) {
    switch (name.size()) {
        case 1:
            return name == "n" ? Field::n : Field::none;
        case 5:
            return name == "model"                      ? Field::model
                   : name == "input" || name == "query" ? Field::prompt
                                                        : Field::none;
        case 6:
            return name == "stream"   ? Field::stream
                   : name == "prompt" ? Field::prompts
                   : name == "system" ? Field::prompt
                                      : Field::none;
        case 8:
            return name == "messages" ? Field::prompt : Field::none;
        case 9:
            return name == "documents" ? Field::prompt : Field::none;
        case 10:
            return name == "max_tokens" ? Field::max_tokens : Field::none;
        case 14:
            return name == "stream_options" ? Field::stream_options : Field::none;
        case 15:
            return name == "return_progress" ? Field::return_progress : Field::none;
        case 21:
            return name == "max_completion_tokens" ? Field::max_completion_tokens : Field::none;
        default:
            return Field::none;
    }
}

std::string_view RequestScan::wrong(Field field, std::string_view what) {
    static constexpr std::string_view names[] = {"",           "model",
                                                 "stream",     "stream_options",
                                                 "max_tokens", "max_completion_tokens",
                                                 "n",          "stream_options.include_usage",
                                                 "messages",   "return_progress",
                                                 "prompt"};
    error_field_ = names[static_cast<std::size_t>(field)];
    return what;
}

bool RequestScan::finish() {
    if (!scanner_.finish()) return false;
    if (model_.empty()) {
        error_ = "is required";
        error_field_ = "model";
        return false;
    }
    return true;
}

std::string_view RequestScan::on_json(const JsonEvent& event) {
    if (event.depth == 0) {
        if (event.kind == JsonKind::object_begin) {
            body_at_ = event.end;
            return {};
        }
        return event.kind == JsonKind::object_end ? std::string_view{}
                                                  : "the body must be a JSON object";
    }
    if (event.depth == 2) {
        // A list of token numbers is one prompt.
        if (member_ == Field::prompts &&
            (event.kind == JsonKind::string || event.kind == JsonKind::array_begin))
            prompts_ += 1;
        return member_ == Field::stream_options ? on_option(event) : std::string_view{};
    }
    if (event.kind != JsonKind::key) return on_member(event);
    member_ = event.cut ? Field::none : field_of(event.text);
    if (member_ == Field::return_progress) progress_asked_ = true;
    if (member_ == Field::prompts) prompts_ = 0;  // the last one counts, if it is given twice
    if (member_ == Field::none || member_ == Field::prompt || member_ == Field::prompts ||
        member_ == Field::return_progress)
        return {};
    const auto bit = 1U << static_cast<unsigned>(member_);
    if (seen_ & bit) return wrong(member_, twice);
    seen_ |= bit;
    return {};
}

std::string_view RequestScan::take_number(const JsonEvent& event, std::int64_t& into) {
    if (event.kind == JsonKind::null_value) return {};
    if (event.kind != JsonKind::number || event.text.size() > 15)
        return wrong(member_, "must be a whole number");
    std::int64_t value = 0;
    for (char c : event.text) {
        if (c < '0' || c > '9') return wrong(member_, "must be a whole number, not negative");
        value = value * 10 + (c - '0');
    }
    into = value;
    return {};
}

std::string_view RequestScan::on_member(const JsonEvent& event) {
    switch (member_) {
        case Field::model:
            if (event.kind != JsonKind::string || event.text.empty() || event.text.size() > 256 ||
                event.cut)
                return wrong(member_, "must be a text of 1 to 256 bytes");
            model_.assign(event.text);
            return {};
        case Field::stream:
            if (event.kind != JsonKind::true_value && event.kind != JsonKind::false_value &&
                event.kind != JsonKind::null_value)
                return wrong(member_, "must be true or false");
            stream_ = event.kind == JsonKind::true_value;
            return {};
        case Field::stream_options:
            if (event.kind == JsonKind::object_end) return {};
            if (event.kind != JsonKind::object_begin && event.kind != JsonKind::null_value)
                return wrong(member_, "must be an object");
            usage_ =
                event.kind == JsonKind::null_value ? Usage::null_options : Usage::empty_options;
            options_at_ = usage_ == Usage::null_options ? event.begin : event.end;
            return {};
        case Field::max_tokens:
        case Field::max_completion_tokens: {
            std::int64_t value = -1;
            if (auto bad = take_number(event, value); !bad.empty()) return bad;
            if (value >= 0) max_tokens_ = value;
            return {};
        }
        case Field::n:
            return take_number(event, choices_);
        case Field::prompt:
        case Field::prompts:
            on_prompt(event);
            return {};
        default:
            return {};
    }
}

void RequestScan::on_prompt(const JsonEvent& event) {
    const bool begins = event.kind == JsonKind::object_begin || event.kind == JsonKind::array_begin;
    const bool ends = event.kind == JsonKind::object_end || event.kind == JsonKind::array_end;
    if (begins)
        prompt_at_ = event.begin;
    else
        prompt_bytes_ += static_cast<std::int64_t>(event.end - (ends ? prompt_at_ : event.begin));
}

std::string_view RequestScan::on_option(const JsonEvent& event) {
    if (event.kind == JsonKind::key) {
        if (usage_ == Usage::empty_options) usage_ = Usage::no_member;
        option_ = event.text == "include_usage" ? Field::include_usage : Field::none;
        if (option_ == Field::none) return {};
        const auto bit = 1U << static_cast<unsigned>(option_);
        if (seen_ & bit) return wrong(option_, twice);
        seen_ |= bit;
        return {};
    }
    if (option_ != Field::include_usage) return {};
    option_ = Field::none;
    if (event.kind == JsonKind::true_value)
        usage_ = Usage::asked;
    else if (event.kind == JsonKind::false_value || event.kind == JsonKind::null_value)
        usage_ = Usage::refused;
    else
        return wrong(Field::include_usage, "must be true or false");
    value_at_ = event.begin;
    value_size_ = event.end - event.begin;
    return {};
}

std::optional<Splice> RequestScan::splice() const {
    if (!stream_) return std::nullopt;
    switch (usage_) {
        case Usage::no_options:
            return Splice{.at = body_at_,
                          .inserted = "\"stream_options\":{\"include_usage\":true},"};
        case Usage::null_options:
            return Splice{.at = options_at_, .erased = 4, .inserted = "{\"include_usage\":true}"};
        case Usage::empty_options:
            return Splice{.at = options_at_, .inserted = "\"include_usage\":true"};
        case Usage::no_member:
            return Splice{.at = options_at_, .inserted = "\"include_usage\":true,"};
        case Usage::refused:
            return Splice{.at = value_at_, .erased = value_size_, .inserted = "true"};
        case Usage::asked:
            return std::nullopt;
    }
    return std::nullopt;
}

}  // namespace tandem::traffic

// SPDX-License-Identifier: Apache-2.0
#include "gateway/row_text.h"

#include <charconv>

#include "codec/json_writer.h"

namespace tandem::gateway {
namespace {

void append_number(std::string& out, std::int64_t value) {
    char digits[24];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// `name` begins with the comma and ends with the colon.
void text(std::string& out, std::string_view name, std::string_view value) {
    if (value.empty()) return;
    out.append(name);
    codec::append_json_text(out, value);
}

void number(std::string& out, std::string_view name, std::int64_t value) {
    if (value == 0) return;
    out.append(name);
    append_number(out, value);
}

void flag(std::string& out, std::string_view member, bool value) {
    if (value) out.append(member);
}

}  // namespace

void RowText::append_time(std::string& out, Instant at) {
    const auto second = at.ms / 1000;
    if (second != second_) {
        second_ = second;
        second_text_ = render_instant({second * 1000});
        second_text_.resize(second_text_.rfind('.'));
    }
    const auto ms = static_cast<int>(at.ms % 1000);
    const char fraction[] = {'.', static_cast<char>('0' + ms / 100),
                             static_cast<char>('0' + ms / 10 % 10),
                             static_cast<char>('0' + ms % 10), 'Z'};
    out.append(second_text_).append(fraction, sizeof fraction);
}

void RowText::append(std::string& out, const model::RequestUsage& row) {
    out.append("{\"sequence\":");
    append_number(out, row.sequence);
    text(out, ",\"requestId\":", row.request_id);
    out.append(",\"at\":\"");
    append_time(out, row.at);
    out.push_back('"');
    text(out, ",\"keyId\":", row.key_id);
    text(out, ",\"subject\":", row.subject);
    text(out, ",\"project\":", row.project);
    text(out, ",\"namespace\":", row.name_space);
    text(out, ",\"service\":", row.service);
    text(out, ",\"modelVersion\":", row.model_version);
    text(out, ",\"replica\":", row.replica);
    number(out, ",\"promptTokens\":", row.prompt_tokens);
    number(out, ",\"cachedTokens\":", row.cached_tokens);
    number(out, ",\"completionTokens\":", row.completion_tokens);
    number(out, ",\"status\":", row.status);
    number(out, ",\"ttftMs\":", row.ttft_ms);
    number(out, ",\"totalMs\":", row.total_ms);
    flag(out, ",\"streamed\":true", row.streamed);
    flag(out, ",\"aborted\":true", row.aborted);
    flag(out, ",\"estimated\":true", row.estimated);
    flag(out, ",\"promptEstimated\":true", row.prompt_estimated);
    flag(out, ",\"gatewayLost\":true", row.gateway_lost);
    out.push_back('}');
}

}  // namespace tandem::gateway

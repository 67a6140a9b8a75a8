// SPDX-License-Identifier: Apache-2.0
#include "store/query/continue_token.h"

#include <array>
#include <charconv>

#include "base/digest.h"

namespace tandem::store {
namespace {

constexpr std::string_view prefix = "c1-";

std::int64_t check_of(const ContinueToken& token, const core::ListQuery& query) {
    Digest digest;
    digest.add(model::name_of(query.kind));
    for (std::string_view part :
         {query.project, query.name_space, query.label_selector, query.field_selector})
        digest.add(part);
    for (std::int64_t number : {token.version, token.last_id, token.remaining}) digest.add(number);
    return static_cast<std::int64_t>(digest.value() >> 1);
}

std::string hex(std::int64_t number) {
    std::array<char, 16> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr};
}

}  // namespace

std::string render_token(const ContinueToken& token, const core::ListQuery& query) {
    return std::string(prefix) + hex(token.version) + "-" + hex(token.last_id) + "-" +
           hex(token.remaining) + "-" + hex(check_of(token, query));
}

Result<ContinueToken> parse_token(const core::ListQuery& query) {
    const auto bad = [] {
        return invalid_field("continue",
                             "must be the token of the page before, with the same selectors; "
                             "leave it out to begin anew");
    };
    std::string_view rest = query.continue_token;
    if (!rest.starts_with(prefix)) return bad();
    rest.remove_prefix(prefix.size());
    std::array<std::int64_t, 4> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto [end, error] =
            std::from_chars(rest.data(), rest.data() + rest.size(), numbers[i], 16);
        const auto used = static_cast<std::size_t>(end - rest.data());
        const bool last = i + 1 == numbers.size();
        if (error != std::errc() || numbers[i] < 0 ||
            (last ? used != rest.size() : used >= rest.size() || *end != '-'))
            return bad();
        rest.remove_prefix(last ? used : used + 1);
    }
    const ContinueToken token{
        .version = numbers[0], .last_id = numbers[1], .remaining = numbers[2]};
    if (render_token(token, query) != query.continue_token) return bad();
    return token;
}

}  // namespace tandem::store

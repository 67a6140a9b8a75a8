// SPDX-License-Identifier: Apache-2.0
#include "cli/foreseen.h"

#include <fmt/format.h>

#include "cli/show.h"
#include "cli/words.h"

namespace tandem::cli {

std::string start_words(const codec::Value* start, std::string_view no_start, Instant from,
                        codec::Language language) {
    if (start != nullptr) {
        const std::string text = text_at(*start, "at");
        const auto at = parse_instant(text);
        if (!at) return printable(text);
        if (*at <= from) return say(language, "now");
        return say(language, "{} (in {})", text, render_age(*at - from));
    }
    if (no_start == "kept") return say(language, "not while it is held back");
    if (no_start == "never") return say(language, "never with these machines and quotas");
    if (no_start == "noEnd") return say(language, "not known: what it waits for states no end");
    if (no_start == "horizon") return say(language, "not within the time that was looked at");
    if (no_start == "tooLong") return say(language, "not known: looking further takes too long");
    if (no_start == "notLookedAt") return say(language, "not looked at yet; ask again in a moment");
    return "-";
}

std::string basis_words(const codec::Value* start, codec::Language language) {
    if (start == nullptr) return {};
    return text_at(*start, "basis") == "proved" ? say(language, "proved")
                                                : say(language, "estimated");
}

}  // namespace tandem::cli

// SPDX-License-Identifier: Apache-2.0
// Texts of reasons for people, in English and Chinese. Codes and parameters are model/reason.h's;
// this is the only place that turns them into sentences, at the edge (API, CLI, events). Thread
// rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/enum_names.h"
#include "model/reason.h"

namespace tandem::codec {

enum class Language : std::uint8_t { en, zh };

}  // namespace tandem::codec

template <>
struct tandem::model::EnumNames<tandem::codec::Language> {
    static constexpr std::string_view values[] = {"en", "zh"};
};

namespace tandem::codec {

// The catalogue's sentence of a code. "{x}" stands for a parameter; "[...]" is left out unless
// every parameter in it is there; of several forms with "|" between them the first one counts whose
// parameters are all there, so that a remedy reads as one.
std::string_view reason_template(model::ReasonCode code, Language language);

// The sentence with its numbers; where no form has all of its parameters, the first one with "?".
// Empty for none.
std::string render_reason(const model::Reason& reason, Language language = Language::en);

}  // namespace tandem::codec

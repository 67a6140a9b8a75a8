// SPDX-License-Identifier: Apache-2.0
#include "codec/what_if.h"

#include "codec/describe_what_if.h"
#include "codec/field_reader.h"
#include "codec/field_writer.h"
#include "codec/manifest.h"

namespace tandem::codec {

Result<model::WhatIf> parse_what_if(const Value& document) {
    ReadContext context{.origin = Origin::manifest};
    const Place root{};
    if (!require_type(context, root, document, ValueType::object))
        return pass_on(*std::move(context.error));
    Value rest = document;
    Value batch{.type = ValueType::object};
    for (std::size_t i = 0; i < rest.names.size(); ++i) {
        if (rest.names[i] != "actions") continue;
        batch.add("actions", std::move(rest.items[i]));
        rest.names.erase(rest.names.begin() + static_cast<std::ptrdiff_t>(i));
        rest.items.erase(rest.items.begin() + static_cast<std::ptrdiff_t>(i));
        break;
    }
    model::WhatIf question;
    FieldReader(context, root, rest).get(root, rest, question);
    if (context.error) return pass_on(*std::move(context.error));
    if (batch.items.empty()) return question;
    TANDEM_LET(actions, parse_batch(batch));
    question.actions = std::move(actions);
    return question;
}

std::string render_what_if(const model::WhatIf& question) {
    std::string out;
    JsonWriter json(out);
    FieldWriter(json, Audience::people).put(question);
    if (question.actions.empty()) return out;
    const std::string batch = render_batch(question.actions);
    out.pop_back();
    return out + ',' + batch.substr(1);
}

std::string render_foresight(const model::Foresight& foresight) {
    std::string out;
    JsonWriter json(out);
    FieldWriter(json, Audience::people).put(foresight);
    return out;
}

}  // namespace tandem::codec

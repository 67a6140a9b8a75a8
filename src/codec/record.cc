// SPDX-License-Identifier: Apache-2.0
#include "codec/record.h"

#include "codec/describe_feed.h"
#include "codec/describe_record.h"
#include "codec/field_reader.h"
#include "codec/field_writer.h"

namespace tandem::codec {

template <class T>
    requires is_record<T>
std::string encode(const T& record) {
    std::string out;
    JsonWriter json(out);
    FieldWriter(json, Audience::record).put(record);
    return out;
}

template <class T>
    requires is_record<T>
Result<T> decode(std::string_view text) {
    TANDEM_LET(document, parse_json(text));
    ReadContext context{.origin = Origin::record};
    T record{};
    const Place root{};
    FieldReader(context, root, document).get(root, document, record);
    if (context.error) return pass_on(*std::move(context.error));
    return record;
}

#define TANDEM_CODEC_RECORD(T)                                    \
    template std::string encode(const model::T&);                 \
    template Result<model::T> decode<model::T>(std::string_view); \
    template std::string encode(const std::vector<model::T>&);    \
    template Result<std::vector<model::T>> decode<std::vector<model::T>>(std::string_view);
TANDEM_CODEC_RECORDS(TANDEM_CODEC_RECORD)

std::string render_audit_body(const model::AuditRecord& record) {
    if (record.hash.empty()) return encode(record);  // while it is being chained
    model::AuditRecord body = record;
    body.hash.clear();
    return encode(body);
}

}  // namespace tandem::codec

// SPDX-License-Identifier: Apache-2.0
#include "codec/preview.h"

#include "codec/describe_record.h"
#include "codec/field_writer.h"

namespace tandem::codec {

std::string render_preview(const model::Preview& preview) {
    std::string out;
    JsonWriter json(out);
    FieldWriter(json, Audience::people).put(preview);
    return out;
}

}  // namespace tandem::codec

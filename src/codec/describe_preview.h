// SPDX-License-Identifier: Apache-2.0
// Descriptions (see describe.h) of what a preview of a pending job found.
#pragma once

#include "codec/describe.h"
#include "codec/describe_meta.h"
#include "model/verdict.h"

namespace tandem::codec {

void describe(auto& v, Of<model::PreviewEviction> auto& s) {
    v.named("PreviewEviction");
    v.field("name", s.name, {.note = "empty: not yours"});
    v.field("reason", s.reason);
}
void describe(auto& v, Of<model::Preview> auto& s) {
    v.named("Preview");
    v.field("starts", s.starts, {.note = "once those below have left"});
    v.field("nodes", s.nodes);
    v.field("evictions", s.evictions);
    v.field("reason", s.reason, {.note = "why it would not start"});
}

}  // namespace tandem::codec

// SPDX-License-Identifier: Apache-2.0
// Manifests: declarative objects as people send them and as the API shows them, and as the store
// keeps them. Shape: {apiVersion: tandem/v1, kind, metadata, spec, status}, camelCase, canonical
// order.
//
// The store keeps render_object's text, which readers and watchers get as it is, and beside it the
// few bytes of render_internal, which nobody sees. Errors: invalid, with the field
// ("spec.roles[0].resources.devices"). parse_* check form only; ranges and names are
// model::check_object's. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/document.h"
#include "model/batch.h"
#include "model/object.h"

namespace tandem::codec {

// What people send. `status` and the metadata that the server sets (uid, resourceVersion,
// createdAt, ...) are skipped, so that what `get` shows can be sent back; metadata.generation is
// kept for the staleness check.
Result<model::Object> parse_manifest(const Value& document);
// One JSON object, not YAML in one line: JSON's names stand in quotes, `{name: x}` is YAML.
bool looks_like_json(std::string_view text);
// JSON or YAML with one object.
Result<model::Object> parse_manifest_text(std::string_view text);

// {"actions": [{"apply": {...}}, {"create": {...}}, {"update": {...}}, {"delete": {kind, project,
// namespace, name}}, {"cancel": {...}}, ...]}: the body of the batch route. Fields are
// named from "actions".
Result<std::vector<model::Action>> parse_batch(const Value& document);
std::string render_batch(const std::vector<model::Action>& actions);

// What the API shows: no row id, no key digest.
std::string render_object(const model::Object& object);
// The same of a change of a batch, rendered when first asked for and kept with the batch.
const std::string& change_text(const model::BatchRecord& record, std::size_t change);
// What only the server knows of it, empty for most kinds (the owner's row id of a replica, the
// digest of a key).
std::string render_internal(const model::Object& object);
Result<model::Object> parse_stored_object(std::string_view text, std::string_view internal,
                                          RowId id);
// What the API answered: as parse_stored_object, without what is internal.
Result<model::Object> parse_shown_object(const Value& document);

}  // namespace tandem::codec

// SPDX-License-Identifier: Apache-2.0
// The wire's data types as JSON Schema (2020-12, the dialect of OpenAPI 3.1), from the same
// descriptions that read and write them. The API adds paths around it. Thread rule: pure functions.
#pragma once

#include <string>

namespace tandem::codec {

// The value of components.schemas: {"Job": {...}, "JobSpec": {...}, ...}, names in alphabetical
// order: every kind with its parts, lists of each ("JobList"), and Event, AuditRecord, Verdict,
// UsageRecord, RequestUsage, Outcome(s), BatchRequest, ListMetadata and Problem.
std::string render_schemas();

}  // namespace tandem::codec

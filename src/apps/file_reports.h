// SPDX-License-Identifier: Apache-2.0
// Files on the way from tasks to the blob store, for the local executor's hooks.
#pragma once

#include <string>

#include "blob/blob_store.h"
#include "model/job.h"

namespace tandem::apps {

Result<std::string> digest_of_file(const std::string& path);  // "sha256:<hex>"
// Waits for the blob store's thread; called from the executor's thread for files, never from
// core's.
Result<model::OutputRecord> keep_output(blob::BlobStore& blobs, const std::string& name,
                                        const std::string& path);
// A host's name as a node's: lower case, what is not allowed in names becomes '-'.
std::string node_name(const std::string& host);

}  // namespace tandem::apps

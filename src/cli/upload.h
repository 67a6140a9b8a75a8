// SPDX-License-Identifier: Apache-2.0
// Upload: a file to the server's blobs, in parts, taken up again where a broken connection left it;
// its digest is computed here and proved there. Progress goes to the terminal's err. Thread rule:
// one owner.
#pragma once

#include <string>

#include "cli/session.h"

namespace tandem::cli {

// "sha256:..." of a file as it is here, without a word to the server: it may have it already.
Result<std::string> digest_of_file(const std::string& file);
// "sha256:..." of what was stored.
Result<std::string> upload_file(Session& session, const std::string& file);

}  // namespace tandem::cli

// SPDX-License-Identifier: Apache-2.0
// The gateway's small files: whole contents in, whole contents out. Private (0600), replaced by
// rename, so a reader sees the old or the new one. Errors name the path. Thread rule: any thread,
// one writer a path.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tandem::gateway {

std::unexpected<Error> disk_error(std::string_view doing, const std::string& path);  // of errno
Result<std::string> read_file(const std::string& path);  // not_found when there is none
Status replace_file(const std::string& path, std::string_view text);
Status make_private_folder(const std::string& path);

}  // namespace tandem::gateway

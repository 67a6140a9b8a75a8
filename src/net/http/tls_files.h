// SPDX-License-Identifier: Apache-2.0
// Can a server use these files? Asked before one is started, by whoever was given them. Error
// invalid, whose field is the member of TlsFiles at fault. Thread rule: any thread.
#pragma once

#include "net/http/server.h"

namespace tandem::http {

Status check_tls_files(const TlsFiles& files);

}  // namespace tandem::http

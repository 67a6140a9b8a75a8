// SPDX-License-Identifier: Apache-2.0
// Follow: output of a task, written as it comes. A lost connection is taken up again where the
// output was, so a server's restart leaves neither a gap nor a line twice. Thread rule: one owner.
#pragma once

#include "cli/session.h"

namespace tandem::cli {

struct LogRequest {
    std::string path{};  // ".../jobs/NAME/logs"
    std::string role{};
    std::int64_t rank = -1;  // -1: the first
    std::int64_t epoch = 0;  // 0: the newest
    std::int64_t offset = 0;
    bool follow = false;
    http::Cancel* cancel = nullptr;
};
// How far which epoch's output was read. Written to the terminal's out.
struct LogEnd {
    std::int64_t epoch = 0;
    std::int64_t offset = 0;
};
Result<LogEnd> read_log(Session& session, const LogRequest& request);

}  // namespace tandem::cli

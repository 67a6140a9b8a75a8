// SPDX-License-Identifier: Apache-2.0
// Exit codes of the command line; stable, documented in docs/cli.md. `run` returns its command's
// own code.
#pragma once

#include "base/result.h"

namespace tandem::cli {

enum ExitCode : int {
    exit_ok = 0,
    exit_failed = 1,  // the work that was waited for failed
    exit_usage = 2,   // wrong words on the command line, or input that the server finds wrong
    exit_not_found = 3,
    exit_denied = 4,       // no key, a wrong key, or not allowed
    exit_conflict = 5,     // name taken, stale generation, wrong phase
    exit_unavailable = 6,  // no server there, or it is starting
    exit_timeout = 7,      // what was waited for did not come in time
    exit_exhausted = 8,    // a limit, or no space
    exit_internal = 9,
    exit_interrupted = 130,
};

constexpr ExitCode exit_code_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::invalid:
        case ErrorCode::too_large:
        case ErrorCode::mismatch:
            return exit_usage;
        case ErrorCode::unauthenticated:
        case ErrorCode::denied:
            return exit_denied;
        case ErrorCode::not_found:
            return exit_not_found;
        case ErrorCode::conflict:
        case ErrorCode::gone:
            return exit_conflict;
        case ErrorCode::exhausted:
        case ErrorCode::storage_full:
            return exit_exhausted;
        case ErrorCode::unavailable:
            return exit_unavailable;
        case ErrorCode::internal:
            break;
    }
    return exit_internal;
}

}  // namespace tandem::cli

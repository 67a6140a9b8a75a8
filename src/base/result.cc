// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

namespace tandem {

std::string_view name_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::invalid:
            return "invalid";
        case ErrorCode::unauthenticated:
            return "unauthenticated";
        case ErrorCode::denied:
            return "denied";
        case ErrorCode::not_found:
            return "not_found";
        case ErrorCode::conflict:
            return "conflict";
        case ErrorCode::gone:
            return "gone";
        case ErrorCode::too_large:
            return "too_large";
        case ErrorCode::mismatch:
            return "mismatch";
        case ErrorCode::exhausted:
            return "exhausted";
        case ErrorCode::internal:
            return "internal";
        case ErrorCode::unavailable:
            return "unavailable";
        case ErrorCode::storage_full:
            return "storage_full";
    }
    return "internal";
}

}  // namespace tandem

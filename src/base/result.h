// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error. Operating errors travel as values; nothing in base..core throws.
//
// ErrorCode is a small closed set, mapped once each to HTTP status (api), OpenAI error object (gateway) and
// exit code (cli). `field` names the offending field in the caller's own words ("spec.replicas"); it is
// empty when no single field is at fault.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace tandem {

enum class ErrorCode : std::uint8_t {
    invalid,            // 400/422: the input is wrong; field says where
    unauthenticated,    // 401
    denied,             // 403: known caller, not allowed (only where existence is no secret)
    not_found,          // 404: not there, or not yours
    conflict,           // 409: stale generation, name taken, wrong phase
    gone,               // 410: history no longer kept; list again
    too_large,          // 413
    mismatch,           // 422: idempotency key reused with another body
    exhausted,          // 429: a limit or quota; retry later
    internal,           // 500
    unavailable,        // 503: a part is down or starting; retry later
    storage_full,       // 507
};

struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string message;
    std::string field{};

    bool operator==(const Error&) const = default;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message,
                                                 std::string field = {}) {
    return std::unexpected(Error{code, std::move(message), std::move(field)});
}
[[nodiscard]] inline std::unexpected<Error> invalid_field(std::string field, std::string message) {
    return fail(ErrorCode::invalid, std::move(message), std::move(field));
}
[[nodiscard]] inline std::unexpected<Error> pass_on(Error error) { return std::unexpected(std::move(error)); }
// "opening store: disk I/O error": adds what was being done, keeps code and field.
[[nodiscard]] inline std::unexpected<Error> in_context(std::string_view doing, Error error) {
    error.message = std::string(doing) + ": " + error.message;
    return std::unexpected(std::move(error));
}

// Stable snake_case name of a code ("not_found"), as shown in JSON and logs.
std::string_view name_of(ErrorCode code);

}  // namespace tandem

#define TANDEM_JOIN2(a, b) a##b
#define TANDEM_JOIN(a, b) TANDEM_JOIN2(a, b)
// TANDEM_TRY(expr): returns the error of a Status or Result from the enclosing function.
#define TANDEM_TRY(expr)                                                     \
    do {                                                                     \
        if (auto tandem_try_ = (expr); !tandem_try_) [[unlikely]]            \
            return ::std::unexpected(::std::move(tandem_try_).error());      \
    } while (false)
// TANDEM_LET(name, expr): binds the value of a Result to `name`, or returns its error.
#define TANDEM_LET(name, expr) TANDEM_LET_IMPL(TANDEM_JOIN(tandem_let_, __COUNTER__), name, expr)
#define TANDEM_LET_IMPL(tmp, name, expr)                                       \
    auto tmp = (expr);                                                         \
    if (!tmp) [[unlikely]] return ::std::unexpected(::std::move(tmp).error()); \
    auto name = ::std::move(*tmp)

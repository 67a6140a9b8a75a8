// SPDX-License-Identifier: Apache-2.0
#include "cli/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/quantity.h"

namespace tandem::cli {
namespace {

constexpr int reconnects_max = 60;

struct Position {
    std::int64_t offset = 0;
    std::int64_t epoch = 0;
    bool progressed = false;
};

// The head says where the answer really begins: a ring may have lost what came before.
void take_head(const http::Response& head, const Terminal& terminal, Position& at) {
    const auto number = [&](const char* name) {
        return parse_integer(head.headers.get_or(name)).value_or(-1);
    };
    const std::int64_t from = number("X-Log-Offset");
    if (from > at.offset)
        terminal.err(
            fmt::format("tandem: {} bytes of older output are no longer kept\n", from - at.offset));
    if (from >= 0) at.offset = std::max(at.offset, from);
    if (const std::int64_t epoch = number("X-Log-Epoch"); epoch > 0) at.epoch = epoch;
}

}  // namespace

Result<LogEnd> read_log(Session& session, const LogRequest& request) {
    Position at{.offset = request.offset, .epoch = request.epoch};
    for (int failures = 0;;) {
        at.progressed = false;
        const auto text = [](std::int64_t number, std::int64_t none) {
            return number == none ? std::string() : std::to_string(number);
        };
        const Request call{.path = request.path,
                           .query = {{"role", request.role},
                                     {"rank", text(request.rank, -1)},
                                     {"epoch", text(at.epoch, 0)},
                                     {"offset", text(at.offset, 0)},
                                     {"follow", request.follow ? "true" : ""}}};
        const Session::Reader reader{
            .on_piece =
                [&](std::string_view piece) {
                    session.terminal().out(piece);
                    at.offset += static_cast<std::int64_t>(piece.size());
                    at.progressed = true;
                    return true;
                },
            .on_head =
                [&](const http::Response& head) { take_head(head, session.terminal(), at); }};
        const Status status = session.stream(call, reader, request.cancel);
        if (status) return LogEnd{.epoch = at.epoch, .offset = at.offset};
        if (request.cancel && request.cancel->cancelled())
            return LogEnd{.epoch = at.epoch, .offset = at.offset};
        failures = at.progressed ? 1 : failures + 1;
        if (status.error().code != ErrorCode::unavailable || failures > reconnects_max)
            return pass_on(status.error());
        std::this_thread::sleep_for(
            std::chrono::milliseconds(std::min(1000, 50 << std::min(failures, 5))));
    }
}

}  // namespace tandem::cli

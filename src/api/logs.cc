// SPDX-License-Identifier: Apache-2.0
#include "api/logs.h"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>

#include "api/resources.h"
#include "server/task_lookup.h"
#include "telemetry/meters.h"

namespace tandem::api {
namespace {

constexpr std::int64_t chunk_max = 64 * 1024;
constexpr std::int64_t answer_max = 4 * 1024 * 1024;
constexpr Duration follow_period = milliseconds(100);

http::Headers headers_for(const model::TaskName& task, std::int64_t from) {
    return {{"Content-Type", "text/plain; charset=utf-8"},
            {"Cache-Control", "no-store"},
            {"X-Content-Type-Options", "nosniff"},
            {"X-Log-Epoch", std::to_string(task.epoch)},
            {"X-Log-Offset", std::to_string(from)}};
}

void answer_once(const Parts& parts, Call& call, const model::TaskName& task, std::int64_t offset) {
    http::Response response{.status = 200, .headers = {}, .body = {}};
    std::int64_t from = offset;
    for (bool first = true; static_cast<std::int64_t>(response.body.size()) < answer_max;
         first = false) {
        auto chunk = parts.logs.read(task, offset, chunk_max);
        if (!chunk) return call.refuse(chunk.error());
        if (first) from = chunk->from;
        if (chunk->text.empty()) break;
        offset = chunk->from + static_cast<std::int64_t>(chunk->text.size());
        response.body += chunk->text;
    }
    response.headers = headers_for(task, from);
    call.responder.respond(std::move(response));
}

// Sends what is new at each tick, at the peer's pace.
class Follower {
  public:
    Follower(const Parts& parts, model::TaskName task, std::int64_t offset, http::Stream stream)
        : parts_(parts),
          task_(task),
          offset_(offset),
          stream_(std::move(stream)),
          closed_(std::make_shared<std::atomic<bool>>(false)),
          counted_(parts.metrics.gauge("tandem_api_log_followers", "Logs that are followed.")) {
        stream_.on_closed([closed = closed_] { *closed = true; });
    }
    bool tick() {
        while (!*closed_) {
            const auto room = static_cast<std::int64_t>(stream_.room());
            if (room < chunk_max / 4) return true;
            auto chunk = parts_.logs.read(task_, offset_, std::min(room, chunk_max));
            if (!chunk) break;
            if (!chunk->text.empty() && !stream_.write(chunk->text)) return false;
            offset_ = chunk->from + static_cast<std::int64_t>(chunk->text.size());
            if (chunk->text.empty() && chunk->ended) break;
            if (chunk->text.empty()) return true;
        }
        stream_.close();
        return false;
    }

  private:
    const Parts& parts_;
    model::TaskName task_;
    std::int64_t offset_;
    http::Stream stream_;
    std::shared_ptr<std::atomic<bool>> closed_;
    telemetry::GaugeHold counted_;
};

void serve(const Parts& parts, Ticker& ticker, Call& call, const model::TaskName& task,
           std::int64_t offset) {
    if (!call.query_flag("follow")) return answer_once(parts, call, task, offset);
    auto chunk = parts.logs.read(task, offset, 1);
    if (!chunk) return call.refuse(chunk.error());
    http::Stream stream = call.responder.start_stream(200, headers_for(task, chunk->from));
    auto follower = std::make_shared<Follower>(parts, task, offset, std::move(stream));
    if (follower->tick()) ticker.add(follow_period, [follower] { return follower->tick(); });
}

}  // namespace

Parameters log_parameters() {
    return {
        {.name = "role", .note = "of this role (default: the first)"},
        {.name = "rank",
         .note = "of this rank (default: the first)",
         .type = ParameterType::number,
         .high = 1'000'000'000},
        {.name = "epoch", .note = "of this start; 0: the newest", .type = ParameterType::number},
        {.name = "offset", .note = "bytes to skip", .type = ParameterType::number},
        {.name = "follow", .note = "go on until it ends", .type = ParameterType::flag}};
}

void logs(const Parts& parts, Ticker& ticker, Call call, model::Kind kind) {
    server::TaskWanted wanted{.key = key_of_path(call, kind)};
    const std::string shown =
        wanted.key.project + "/" + wanted.key.name_space + "/" + wanted.key.name;
    const Status allowed =
        allow_read(parts, call, {auth::Area::logs, auth::Verb::read}, wanted.key.project, shown);
    if (!allowed) return call.refuse(allowed.error());
    // The router has held all of them to their ranges.
    const auto number = [&](const char* name, std::int64_t otherwise) {
        return query_number(call, name, otherwise, 0, INT64_MAX).value_or(otherwise);
    };
    wanted.role = call.query_or("role");
    wanted.rank = number("rank", -1);
    wanted.epoch = number("epoch", 0);
    const std::int64_t offset = number("offset", 0);
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued =
        parts.core.query([&parts, &ticker, shared, wanted, offset](const core::State& state) {
            const auto task = server::find_task(state, wanted);
            if (!task) return shared->refuse(task.error());
            // Files are read on the ticker's thread, not on core's.
            ticker.add(milliseconds(0), [&parts, &ticker, shared, task = *task, offset] {
                serve(parts, ticker, *shared, task, offset);
                return false;
            });
        });
    if (!queued) shared->refuse(queued.error());
}

}  // namespace tandem::api

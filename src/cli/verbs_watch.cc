// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/quantity.h"
#include "cli/exit_code.h"
#include "cli/goal.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "net/http/sse.h"

namespace tandem::cli {
namespace {

using codec::Value;

constexpr int reconnects_max = 60;

// Cancels a call at a moment, or when another Cancel is pulled; a thread of its own while it lives.
class Alarm {
  public:
    Alarm(http::Cancel& target, std::optional<Duration> after, const http::Cancel* other)
        : stop_(::eventfd(0, EFD_CLOEXEC)),
          thread_([this, &target, after, other] { wait(target, after, other); }) {}
    ~Alarm() {
        const std::uint64_t one = 1;
        (void)!::write(stop_, &one, sizeof one);
        thread_.join();
        ::close(stop_);
    }
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;

  private:
    void wait(http::Cancel& target, std::optional<Duration> after,
              const http::Cancel* other) const {
        using std::chrono::steady_clock;
        const auto end = steady_clock::now() + std::chrono::milliseconds(after ? after->ms : 0);
        // A negative descriptor is passed over by poll.
        pollfd waits[2] = {{stop_, POLLIN, 0}, {other ? other->wait_descriptor() : -1, POLLIN, 0}};
        while (true) {
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now()).count();
            if (after && left <= 0) return target.cancel();
            // poll takes an int; a longer wait is taken up again.
            constexpr std::int64_t wait_max = 3'600'000;
            ::poll(waits, 2, after ? static_cast<int>(std::min(left, wait_max)) : -1);
            if (waits[0].revents != 0) return;
            if (waits[1].revents != 0) return target.cancel();
        }
    }
    int stop_;
    std::thread thread_;
};

Error error_of_event(const Value& problem) {
    return error_of(static_cast<int>(number_at(problem, "status")), codec::render_json(problem));
}

// One connection of a watch.
class WatchStream {
  public:
    WatchStream(const WatchRequest& request, std::int64_t& version)
        : request_(request), version_(version) {}

    bool take(std::string_view bytes) {
        auto events = reader_.feed(bytes);
        if (!events) return end_with(events.error());
        for (const http::SseEvent& event : *events) {
            auto data = codec::parse_json(event.data);
            if (!data) return end_with(data.error());
            if (event.event == "error") return end_with(error_of_event(*data));
            if (const auto version = parse_integer(event.id))
                version_ = std::max(version_, *version);
            progressed_ = true;
            if (event.event == "bookmark") continue;
            if (!request_.on_event(event.event, *data)) {
                stopped_ = true;
                return false;
            }
        }
        return true;
    }
    bool stopped() const { return stopped_; }
    bool progressed() const { return progressed_; }
    const std::optional<Error>& error() const { return error_; }

  private:
    bool end_with(Error error) {
        error_ = std::move(error);
        return false;
    }
    const WatchRequest& request_;
    std::int64_t& version_;
    http::SseReader reader_{8 * 1024 * 1024};
    bool stopped_ = false;
    bool progressed_ = false;
    std::optional<Error> error_{};
};

std::optional<Duration> left_until(const std::optional<Instant>& deadline, Instant now) {
    if (!deadline) return std::nullopt;
    return Duration{std::max<std::int64_t>(0, deadline->ms - now.ms)};
}

Result<std::optional<Instant>> deadline_of(const Session& session) {
    const auto timeout = parse_duration(session.arguments().timeout);
    if (!timeout) return invalid_field("--timeout", timeout.error().message);
    if (timeout->ms == 0) return std::optional<Instant>{};
    return std::optional(session.terminal().now() + *timeout);
}

}  // namespace

Result<WatchEnd> watch_objects(Session& session, const WatchRequest& request) {
    std::int64_t version = request.version;
    for (int failures = 0;;) {
        http::Cancel cancel;
        WatchStream stream(request, version);
        Status status;
        {
            const Alarm alarm(cancel, left_until(request.deadline, session.terminal().now()),
                              request.interrupt);
            QueryPairs query = request.query;
            query.emplace_back("watch", "true");
            query.emplace_back("resourceVersion", std::to_string(version));
            status = session.stream(
                {.path = session.collection(request.kind, request.all_projects),
                 .query = std::move(query)},
                {.on_piece = [&](std::string_view bytes) { return stream.take(bytes); }}, &cancel);
        }
        if (stream.stopped()) return WatchEnd::stopped;
        if (request.interrupt && request.interrupt->cancelled()) return WatchEnd::interrupted;
        if (request.deadline && session.terminal().now() >= *request.deadline)
            return WatchEnd::timed_out;
        if (stream.error()) return pass_on(*stream.error());
        if (!status && status.error().code != ErrorCode::unavailable)
            return pass_on(status.error());
        // The server went away or dropped a slow reader: go on from the last version seen.
        failures = stream.progressed() ? 0 : failures + 1;
        if (failures > reconnects_max)
            return status ? Result<WatchEnd>(
                                fail(ErrorCode::unavailable, "the server keeps ending the watch"))
                          : pass_on(status.error());
        std::this_thread::sleep_for(
            std::chrono::milliseconds(std::min(1000, 50 << std::min(failures, 5))));
    }
}

Result<int> do_watch(Session& session) {
    const Arguments& a = session.arguments();
    TANDEM_LET(target, parse_target(a.words));
    if (target.names.size() > 1)
        return fail(ErrorCode::invalid, "watch one object, or all of a kind");
    std::string fields = a.field_selector;
    if (!target.names.empty())
        fields += (fields.empty() ? "" : ",") + ("metadata.name=" + target.names.front());
    const QueryPairs query{{"labelSelector", a.label_selector}, {"fieldSelector", fields}};
    TANDEM_LET(deadline, deadline_of(session));
    TANDEM_LET(list, list_all(session, target.kind, query, a.all_projects));
    if (a.output == "table") show_list(session, target.kind, list, a.all_projects);
    WatchRequest request{.kind = target.kind,
                         .all_projects = a.all_projects,
                         .query = query,
                         .version = number_at(list, "metadata.resourceVersion"),
                         .deadline = deadline};
    request.on_event = [&](std::string_view type, const Value& object) {
        if (!target.names.empty() && text_at(object, "metadata.name") != target.names.front())
            return true;
        if (a.output != "table") {
            session.terminal().out("{\"type\":\"" + std::string(type) +
                                   "\",\"object\":" + codec::render_json(object) + "}\n");
            return true;
        }
        const Table table = make_table(target.kind, {&object}, session.terminal().now(),
                                       language_of(a), {a.all_projects});
        const std::string lines = render_table(table, wants_colour(session.terminal()));
        session.terminal().out(fmt::format("{:9}{}", type, lines.substr(lines.find('\n') + 1)));
        return true;
    };
    TANDEM_LET(end, watch_objects(session, request));
    (void)end;  // a watch that was given a time ends well
    return exit_ok;
}

Result<int> do_wait(Session& session) {
    const Arguments& a = session.arguments();
    TANDEM_LET(key, parse_one(session, a.words));
    TANDEM_LET(goal, parse_goal(a.wait_for, key.kind));
    TANDEM_LET(deadline, deadline_of(session));
    const QueryPairs query{{"fieldSelector", "metadata.name=" + key.name}};
    TANDEM_LET(list, session.get(session.collection(key.kind), query));
    const Value* items = list.find("items");
    if (!items || items->items.empty()) {
        if (goal.deleted) return exit_ok;
        return fail(ErrorCode::not_found, fmt::format("{} \"{}\" does not exist",
                                                      model::info_of(key.kind).singular, key.name));
    }
    Value last = items->items.front();
    std::optional<int> code = judge(goal, last);
    WatchRequest request{.kind = key.kind,
                         .query = query,
                         .version = number_at(list, "metadata.resourceVersion"),
                         .deadline = deadline};
    request.on_event = [&](std::string_view type, const Value& object) {
        // A deletion reaches every watcher of the kind, whatever its fields.
        if (text_at(object, "metadata.name") != key.name) return true;
        last = object;
        if (type == "deleted")
            code = goal.deleted ? exit_ok : exit_not_found;
        else
            code = judge(goal, object);
        return !code;
    };
    WatchEnd end = WatchEnd::stopped;
    if (!code) {
        TANDEM_LET(ended, watch_objects(session, request));
        end = ended;
    }
    if (a.output != "table") show(session, last, [] { return std::string(); });
    const std::string phase = text_at(last, "status.phase");
    const codec::Language language = language_of(a);
    if (end == WatchEnd::timed_out) {
        session.terminal().err(say(language, "tandem: not {} within {}{}\n", goal.text, a.timeout,
                                   phase.empty() ? std::string()
                                                 : say(language, ": it is {}", phase)));
        return exit_timeout;
    }
    if (a.output == "table")
        session.terminal().out(fmt::format(
            "{}/{} {}\n", model::info_of(key.kind).singular, key.name,
            goal.deleted && *code == exit_ok ? say(language, "deleted")
            : phase.empty()                  ? say(language, "is {}", goal.text)
                                             : phase));
    return *code;
}

}  // namespace tandem::cli

// SPDX-License-Identifier: Apache-2.0
#include "gateway/server_link.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/quantity.h"
#include "codec/document.h"
#include "codec/gateway_wire.h"
#include "codec/record.h"
#include "gateway/files.h"
#include "net/http/sse.h"

namespace tandem::gateway {
namespace {

constexpr Duration load_every = seconds(1);
constexpr Duration contact_noted_every = seconds(30);
constexpr int pause_first_ms = 50;
constexpr int pause_max_ms = 1000;

std::string routes_file(const GatewayOptions& options) {
    return options.home + "/routes.json";
}

Result<std::vector<model::LeaseGrant>> read_grants(std::string_view text) {
    TANDEM_LET(document, codec::parse_json(text));
    const auto* grants = document.find("grants");
    if (!grants) return invalid_field("grants", "is missing");
    return codec::decode<std::vector<model::LeaseGrant>>(codec::render_json(*grants));
}

Result<std::unique_ptr<http::Client>> make_client(const GatewayOptions& options) {
    TANDEM_LET(url, http::parse_url(options.server));
    return http::Client::make({.server = url,
                               .ca_file = options.ca_file,
                               .certificate_file = options.certificate_file,
                               .key_file = options.key_file,
                               .connect_deadline = seconds(2),
                               .total_deadline = seconds(5),
                               .stream_idle_deadline = {codec::feed_beat.ms * 3}});
}

}  // namespace

void load_routes(const LinkParts& parts) {
    const auto path = routes_file(parts.options);
    const auto text = read_file(path);
    if (!text) return;
    const auto update = codec::decode<model::FeedUpdate>(*text);
    if (!update) {
        parts.log.warn("routes on disk can't be read; waiting for the server",
                       {{"error", update.error().message}});
        return;
    }
    std::error_code error;
    const auto written = std::filesystem::last_write_time(path, error);
    const auto age = error ? std::chrono::milliseconds(0)
                           : std::chrono::duration_cast<std::chrono::milliseconds>(
                                 std::filesystem::file_time_type::clock::now() - written);
    parts.board.heard(parts.clock.now() - milliseconds(std::max<std::int64_t>(0, age.count())));
    auto table = RouteTable::apply(nullptr, *update);
    parts.dispatcher.update(*table);
    parts.board.set(std::move(table));
}

Result<std::unique_ptr<ServerLink>> ServerLink::make(LinkParts parts) {
    TANDEM_LET(feed, make_client(parts.options));
    TANDEM_LET(posts, make_client(parts.options));
    TANDEM_LET(usage, make_client(parts.options));
    return std::unique_ptr<ServerLink>(
        new ServerLink(std::move(parts), std::move(feed), std::move(posts), std::move(usage)));
}

ServerLink::ServerLink(LinkParts parts, std::unique_ptr<http::Client> feed,
                       std::unique_ptr<http::Client> posts, std::unique_ptr<http::Client> usage)
    : parts_(std::move(parts)),
      feed_client_(std::move(feed)),
      post_client_(std::move(posts)),
      usage_client_(std::move(usage)),
      shipper_(parts_.journal, parts_.options.name,
               [this](std::string body) -> Result<std::int64_t> {
                   TANDEM_LET(text, post(*usage_client_, codec::usage_path, std::move(body)));
                   TANDEM_LET(document, codec::parse_json(text));
                   const auto* sequence = document.find("sequence");
                   return sequence ? parse_integer(sequence->text)
                                   : invalid_field("sequence", "is missing");
               }) {}

ServerLink::~ServerLink() {
    stop();
}

void ServerLink::start() {
    feed_thread_ = std::thread([this] { run_feed(); });
    post_thread_ = std::thread([this] { run_posts(); });
    usage_thread_ = std::thread([this] { run_usage(); });
}

void ServerLink::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    woken_.notify_all();
    cancel_.cancel();
    parts_.journal.wake();
    for (auto* thread : {&feed_thread_, &post_thread_, &usage_thread_})
        if (thread->joinable()) thread->join();
}

void ServerLink::wake() {
    {
        const std::lock_guard lock(mutex_);
        wake_ = true;
    }
    woken_.notify_all();
}

bool ServerLink::pause(int ms) {
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return stopping_.load(); });
    return !stopping_;
}

// --- feed
// ---------------------------------------------------------------------------------------------------

void ServerLink::run_feed() {
    int wait_ms = pause_first_ms;
    while (!stopping_) {
        const auto ended = read_feed();
        const bool was_connected = connected_.exchange(false);
        if (stopping_) return;
        parts_.leases.lost();
        if (was_connected) wait_ms = pause_first_ms;
        if (was_connected || wait_ms == pause_first_ms)
            parts_.log.warn(
                "no feed from the server; going on with what is known",
                {{"reason", ended ? std::string("closed by the server") : ended.error().message}});
        if (!pause(wait_ms)) return;
        wait_ms = std::min(wait_ms * 2, pause_max_ms);
    }
}

Status ServerLink::read_feed() {
    http::SseReader reader(64 * 1024 * 1024);
    int status = 0;
    http::StreamReader handlers{
        .on_head =
            [&](const http::Response& head) {
                status = head.status;
                return head.status == 200;
            },
        .on_chunk =
            [&](std::string_view bytes) {
                note_contact();
                const auto events = reader.feed(bytes);
                if (!events) return false;
                for (const auto& event : *events)
                    if (event.event == codec::snapshot_event || event.event == codec::delta_event)
                        take_update(event.data);
                return !stopping_.load();
            }};
    const http::Call call{.target = std::string(codec::feed_path) +
                                    "?gateway=" + http::encode_component(parts_.options.name),
                          .headers = {{"Accept", "text/event-stream"}}};
    TANDEM_TRY(feed_client_->stream(call, std::move(handlers), &cancel_));
    if (status != 200)
        return fail(ErrorCode::unavailable, "the server answered " + std::to_string(status));
    return {};
}

void ServerLink::note_contact() {
    const auto now = parts_.clock.now();
    parts_.board.heard(now);
    if (now - contact_noted_ < contact_noted_every) return;
    contact_noted_ = now;  // the file's age says how old the knowledge is when a new life begins
    std::error_code error;
    std::filesystem::last_write_time(routes_file(parts_.options),
                                     std::filesystem::file_time_type::clock::now(), error);
}

void ServerLink::take_update(const std::string& text) {
    const auto update = codec::decode<model::FeedUpdate>(text);
    if (!update) {
        parts_.log.error("an update of the feed can't be read",
                         {{"error", update.error().message}});
        return;
    }
    const auto base = parts_.board.get();
    if (!base && !update->full) return;  // deltas mean nothing without a snapshot
    auto table = RouteTable::apply(base.get(), *update);
    parts_.dispatcher.update(*table);
    parts_.board.set(table);
    if (!connected_.exchange(true))
        parts_.log.info("feed connected",
                        {{"generation", update->generation}, {"version", update->version}});
    if (auto kept = replace_file(routes_file(parts_.options), codec::encode(table->snapshot()));
        !kept)
        parts_.log.warn("routes can't be kept on disk", {{"error", kept.error().message}});
    wake();
}

// --- leases and load
// ----------------------------------------------------------------------------------------

Result<std::string> ServerLink::post(http::Client& client, std::string_view path,
                                     std::string body) {
    const http::Call call{.method = "POST",
                          .target = std::string(path),
                          .headers = {{"Content-Type", "application/json"}},
                          .body = std::move(body)};
    TANDEM_LET(response, client.send(call, &cancel_));
    if (response.status != 200 && response.status != 204)
        return fail(ErrorCode::unavailable,
                    std::string(path) + " was answered " + std::to_string(response.status));
    return std::move(response.body);
}

void ServerLink::run_posts() {
    int wait_ms = 0;
    while (!stopping_) {
        {
            std::unique_lock lock(mutex_);
            woken_.wait_for(lock, std::chrono::milliseconds(wait_ms ? wait_ms : 200),
                            [&] { return wake_ || stopping_; });
            wake_ = false;
        }
        if (stopping_) return;
        const bool leases_sent = post_leases();
        const bool load_sent = post_load();
        if (leases_sent && load_sent) {
            wait_ms = 0;
            continue;
        }
        wait_ms = std::clamp(wait_ms * 2, pause_first_ms, pause_max_ms);
        if (!pause(pause_first_ms))
            return;  // also when requests keep waking: no busy loop at a dead server
    }
}

bool ServerLink::post_leases() {
    const auto now = parts_.clock.now();
    const auto batch = parts_.leases.due(now);
    if (batch.asks.empty()) return true;
    model::LeaseRequested request{.gateway = parts_.options.name, .asks = batch.asks};
    const auto text = post(*post_client_, codec::leases_path, codec::encode(request));
    if (!text) {
        parts_.leases.lost();
        return false;
    }
    const auto grants = read_grants(*text);
    if (!grants) {
        parts_.log.error("grants can't be read", {{"error", grants.error().message}});
        parts_.leases.lost();
        return false;
    }
    parts_.leases.on_grants(batch, *grants, now);
    return true;
}

// What changed, and everything once a second while there is load; services that have become quiet
// are said so once.
bool ServerLink::post_load() {
    const auto now = parts_.clock.now();
    std::map<Uid, model::ServiceLoad> current;
    for (const auto& load : parts_.dispatcher.loads()) current[load.service] = load;
    bool woke = false;
    model::GatewayLoad report{.gateway = parts_.options.name};
    for (const auto& [uid, load] : current) {
        report.services.push_back(load);
        const auto before = reported_.find(uid);
        woke |= load.waiting > 0 && (before == reported_.end() || before->second.waiting == 0);
    }
    for (const auto& [uid, load] : reported_)
        if (!current.contains(uid)) report.services.push_back({.service = uid});
    if (report.services.empty() || (!woke && now - load_sent_ < load_every)) return true;
    if (!post(*post_client_, codec::load_path, codec::encode(report))) return false;
    load_sent_ = now;
    reported_ = std::move(current);
    return true;
}

// --- usage
// --------------------------------------------------------------------------------------------------

void ServerLink::run_usage() {
    int wait_ms = pause_first_ms;
    while (!stopping_) {
        parts_.journal.wait_for_rows(shipper_.next() - 1, 500);
        if (stopping_) return;
        const auto shipped = shipper_.step();
        if (shipped) {
            wait_ms = pause_first_ms;
            if (*shipped && !shipper_.full() && !pause(pause_first_ms))
                return;  // gathers: fewer, larger batches
            continue;
        }
        if (!pause(wait_ms)) return;
        wait_ms = std::min(wait_ms * 2, pause_max_ms);
    }
}

}  // namespace tandem::gateway

// SPDX-License-Identifier: Apache-2.0
#include "api/watch.h"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>

#include "base/quantity.h"
#include "codec/manifest.h"
#include "model/selector.h"
#include "telemetry/meters.h"

namespace tandem::api {
namespace {

constexpr Duration bookmark_period = seconds(5);
constexpr std::int64_t backlog_page = 200;
constexpr std::size_t room_wanted = 64 * 1024;

// What the watcher asked to see.
struct Filter {
    core::ListQuery query{};
    std::vector<model::Requirement> labels{};
    std::vector<model::Requirement> fields{};
    std::string key_subject{};  // not empty: only this one's keys

    bool is_own_key(const core::ChangeText& change) const {
        const auto document = codec::parse_json(change.json);
        const codec::Value* spec = document ? document->find("spec") : nullptr;
        const codec::Value* subject = spec ? spec->find("subject") : nullptr;
        return subject && subject->text_or_empty() == key_subject;
    }
    bool in_scope(const core::ChangeText& change) const {
        if (change.kind != query.kind) return false;
        if (!key_subject.empty()) return is_own_key(change);
        if (!query.project.empty() && change.project != query.project) return false;
        if (!query.name_space.empty() && change.name_space != query.name_space) return false;
        const std::string& project =
            change.kind == model::Kind::project ? change.name : change.project;
        return query.scope.all_projects ||
               std::find(query.scope.projects.begin(), query.scope.projects.end(), project) !=
                   query.scope.projects.end();
    }
    bool fields_match(const core::ChangeText& change) const {
        if (fields.empty()) return true;
        const auto document = codec::parse_json(change.json);
        if (!document) return false;
        const auto object = codec::parse_shown_object(*document);
        return object && model::matches_fields(fields, model::selectable_fields_of(*object));
    }
    // The event's name, empty when it is none of the watcher's business. Leaving the selection
    // looks like being deleted.
    std::string_view event_of(const core::ChangeText& change) const {
        if (!in_scope(change)) return {};
        const bool was = change.type != model::ChangeType::added &&
                         model::matches_labels(labels, change.old_labels);
        const bool is = model::matches_labels(labels, change.labels) && fields_match(change);
        if (change.type == model::ChangeType::deleted) return was || is ? "deleted" : "";
        if (is) return was ? "modified" : "added";
        return was ? "deleted" : "";
    }
};

class WatchSession : public std::enable_shared_from_this<WatchSession> {
  public:
    WatchSession(const Parts& parts, Filter filter, std::int64_t from, http::Stream stream)
        : parts_(parts),
          filter_(std::move(filter)),
          last_(from),
          stream_(std::move(stream)),
          counted_(parts.metrics.gauge("tandem_api_watchers", "Open watches.")) {}

    void begin() {
        listener_ = parts_.core.changes().listen([weak = weak_from_this()] {
            if (auto self = weak.lock()) self->on_published();
        });
        stream_.on_closed([self = shared_from_this()] { self->closed_ = true; });
        pump_backlog();
    }

    bool bookmark() {
        if (closed_) return false;
        const std::lock_guard lock(mutex_);
        if (live_)
            stream_.write(fmt::format(
                "id: {0}\nevent: bookmark\ndata: {{\"resourceVersion\":{0}}}\n\n", last_));
        return true;
    }

  private:
    void write(const core::ChangeText& change) {
        if (change.version <= last_) return;
        last_ = change.version;
        const std::string_view event = filter_.event_of(change);
        if (event.empty()) return;
        if (!stream_.write(
                fmt::format("id: {}\nevent: {}\ndata: {}\n\n", change.version, event, change.json)))
            closed_ = true;
    }

    void fail_with(const Error& error) {
        stream_.write(fmt::format("event: error\ndata: {}\n\n", http::problem(error).body));
        stream_.close();
        closed_ = true;
    }

    // Rows first, page by page as the peer takes them; then the live part begins where they ended.
    void pump_backlog() {
        const std::lock_guard lock(mutex_);
        while (!closed_) {
            if (stream_.room() < room_wanted)
                return stream_.on_drained([self = shared_from_this()] { self->pump_backlog(); });
            auto changes = parts_.reader.changes(last_, backlog_page);
            if (!changes) return fail_with(changes.error());
            if (changes->empty()) break;
            for (const core::ChangeText& change : *changes) write(change);
            // Pages hold all kinds: those passed over count as seen.
            last_ = std::max(last_, changes->back().version);
        }
        live_ = true;
        take_published();
    }

    // On the core thread: never waits for a session that still reads its backlog.
    void on_published() {
        if (!live_) return;
        const std::lock_guard lock(mutex_);
        take_published();
    }

    void take_published() {
        bool lost = false;
        for (const auto& batch : listener_->take(lost)) {
            if (closed_) return;
            for (const core::ChangeText& change : batch->changes) write(change);
            last_ = std::max(last_, batch->version);
        }
        if (lost)
            fail_with({ErrorCode::gone, "the watch fell behind; list again", "resourceVersion"});
    }

    const Parts& parts_;
    Filter filter_;
    // A drained stream may call back at once, from inside.
    std::recursive_mutex mutex_;
    std::int64_t last_ = 0;
    std::atomic<bool> live_ = false;
    std::atomic<bool> closed_ = false;
    http::Stream stream_;
    telemetry::GaugeHold counted_;
    std::shared_ptr<server::Broadcast<server::PublishedBatch>::Listener> listener_;
};

Result<std::int64_t> start_version(const Parts& parts, const Call& call,
                                   const core::ListQuery& query) {
    std::string text =
        call.query_or("resourceVersion", call.request.headers.get_or("Last-Event-ID"));
    if (!text.empty()) {
        const auto version = parse_integer(text);
        if (!version || *version < 0)
            return invalid_field("resourceVersion", "must be a version that a list or watch gave");
        return *version;
    }
    core::ListQuery newest = query;
    newest.limit = 1;
    TANDEM_LET(page, parts.reader.list(newest));
    return page.version;
}

}  // namespace

void watch(const Parts& parts, Ticker& ticker, Call call, const core::ListQuery& query,
           bool own_keys) {
    Filter filter{.query = query, .labels = {}, .fields = {}};
    if (own_keys) filter.key_subject = call.who.subject;
    auto labels = model::parse_label_selector(query.label_selector);
    if (!labels) return call.refuse(labels.error());
    auto fields = model::parse_field_selector(query.field_selector, query.kind);
    if (!fields) return call.refuse(fields.error());
    filter.labels = std::move(*labels);
    filter.fields = std::move(*fields);
    auto from = start_version(parts, call, query);
    if (!from) return call.refuse(from.error());
    auto probe = parts.reader.changes(*from, 1);
    if (!probe) return call.refuse(probe.error());
    http::Stream stream = call.responder.start_stream(
        200, {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}});
    auto session =
        std::make_shared<WatchSession>(parts, std::move(filter), *from, std::move(stream));
    session->begin();
    ticker.add(bookmark_period, [session] { return session->bookmark(); });
}

}  // namespace tandem::api

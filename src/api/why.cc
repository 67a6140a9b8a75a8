// SPDX-License-Identifier: Apache-2.0
#include "api/why.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/resources.h"
#include "base/quantity.h"
#include "codec/json_writer.h"
#include "codec/reasons.h"

namespace tandem::api {
namespace {

constexpr std::int64_t history_max = 8;
constexpr std::size_t nodes_named = 3;

struct Writing {
    codec::JsonWriter& json;
    codec::Language language;

    void text(std::string_view key, std::string_view value) {
        json.key(key);
        json.text(value);
    }
    void number(std::string_view key, std::int64_t value) {
        json.key(key);
        json.number(value);
    }
    void reason(const model::Reason& reason) {
        json.begin_object();
        text("code", model::name_of(reason.code));
        json.key("params");
        json.begin_object();
        for (const model::ReasonParam& param : reason.params) text(param.name, param.value);
        json.end_object();
        text("text", codec::render_reason(reason, language));
        json.end_object();
    }
    template <class List, class Write>
    void list(std::string_view key, const List& items, Write write) {
        json.key(key);
        json.begin_array();
        for (const auto& item : items) write(item);
        json.end_array();
    }
    void reasons(std::string_view key, const std::vector<model::Reason>& items) {
        list(key, items, [this](const model::Reason& item) { reason(item); });
    }
};

void write_funnel(Writing& out, const model::NodeFunnel& funnel) {
    out.json.begin_object();
    out.text("pool", funnel.pool);
    out.text("flavor", funnel.flavor);
    out.number("nodes", funnel.nodes);
    out.number("withFlavor", funnel.with_flavor);
    out.number("usable", funnel.usable);
    out.number("admitted", funnel.admitted);
    out.number("withRoom", funnel.with_room);
    out.number("inDomain", funnel.in_domain);
    out.text("cut", funnel.cut);
    out.number("freeMilli", funnel.free_milli);
    out.number("totalMilli", funnel.total_milli);
    out.json.end_object();
}

void write_holder(Writing& out, const model::Holder& holder) {
    out.json.begin_object();
    out.text("name", holder.name);
    out.text("queue", holder.queue);
    out.text("flavor", holder.flavor);
    out.number("milli", holder.milli);
    out.number("priority", holder.priority);
    out.json.key("preemptible");
    out.json.boolean(holder.preemptible);
    out.json.key("leaving");
    out.json.boolean(holder.leaving);
    out.number("units", holder.units);
    out.json.end_object();
}

void write_verdict(Writing& out, const model::Verdict& verdict) {
    out.json.key("proved");
    out.json.boolean(verdict.proved);
    out.number("position", verdict.position);
    out.number("waiting", verdict.waiting);
    out.reasons("constraints", verdict.constraints);
    out.list("funnels", verdict.funnels,
             [&](const model::NodeFunnel& funnel) { write_funnel(out, funnel); });
    out.list("holders", verdict.holders,
             [&](const model::Holder& holder) { write_holder(out, holder); });
    out.number("holdersMore", verdict.holders_more);
    out.reasons("protections", verdict.protections);
    out.list("remedies", verdict.remedies, [&](const model::Remedy& remedy) {
        out.json.begin_object();
        out.reasons("steps", remedy.steps);
        out.json.end_object();
    });
}

// Names of those that hold what is asked for, as far as the caller may see them.
void name_holders(const server::WorkView& view, const Call& call, model::Verdict& verdict) {
    for (model::Holder& holder : verdict.holders)
        holder.name = visible_name(view, call, holder.workload);
}

// Where it runs, when nothing else is to be told of it.
model::Reason running_reason(const server::WorkView& view, const server::WorkCard& card) {
    const auto assignment = view.plan().assignment(card.id);
    if (!assignment) return card.reason;
    std::string nodes;
    for (std::size_t i = 0; i < std::min(nodes_named, assignment->nodes.size()); ++i)
        nodes += (nodes.empty() ? "" : ", ") + assignment->nodes[i];
    if (assignment->nodes.size() > nodes_named)
        nodes += fmt::format(" +{}", assignment->nodes.size() - nodes_named);
    model::Reason reason{model::ReasonCode::running, {{"nodes", nodes}}};
    if (assignment->milli > 0) reason.params.push_back({"devices", render_milli(assignment->milli)});
    if (card.started) reason.params.push_back({"since", render_instant(*card.started)});
    return reason;
}

model::Reason present_reason(const server::WorkView& view, const server::WorkCard& card,
                             const std::optional<model::Verdict>& verdict) {
    using model::ReasonCode;
    const bool is_job =
        card.key.kind == model::Kind::job;  // what a service's last start came to says more
    if (is_job && card.not_before && *card.not_before > view.at() && card.pending)
        return {ReasonCode::backoff, {{"until", render_instant(*card.not_before)}}};
    if (verdict && verdict->reason.code != ReasonCode::none) return verdict->reason;
    const bool runs = card.phase == "running" || card.phase == "ready";
    return card.reason.code == ReasonCode::none && runs ? running_reason(view, card) : card.reason;
}

void write_history(Writing& out, const Parts& parts, const Call& call, const Uid& uid) {
    const core::ReadScope scope =
        scope_of(auth::reach_of(call.who.facts, {auth::Area::events, auth::Verb::read}));
    const auto rows = parts.reader.events(scope, uid, history_max);
    if (!rows) return;
    out.list("history", *rows, [&](const model::EventRecord& event) {
        out.json.begin_object();
        out.text("at", render_instant(event.at));
        out.text("code", model::name_of(event.reason.code));
        out.text("text", codec::render_reason(event.reason, out.language));
        out.json.end_object();
    });
}

struct Told {
    model::ObjectKey key{};
    std::string phase{};
    Uid uid{};
    model::Reason now{};
    model::Reason last{};
};

void begin(Writing& out, const Told& told, const server::WorkView& view) {
    out.json.begin_object();
    out.text("kind", model::name_of(told.key.kind));
    out.text("name", told.key.name);
    out.text("phase", told.phase);
    out.json.key("asOf");
    out.json.begin_object();
    out.number("resourceVersion", view.version());
    out.text("at", render_instant(view.at()));
    out.json.end_object();
    out.json.key("reason");
    out.reason(told.now);
    out.json.key("lastReason");
    out.reason(told.last);
}

// Of some moments ago: who came since is not among them yet.
void write_start(Writing& out, StartTimes& start_times, const server::WorkView& view,
                 RowId workload, const std::string& queue) {
    const auto known = start_times.look(view);
    const whatif::Expectation* found = nullptr;
    if (known)
        if (const auto at = known->of.find(workload); at != known->of.end()) found = &at->second;
    if (found != nullptr && found->start) {
        out.json.key("start");
        out.json.begin_object();
        out.text("at", render_instant(found->start->at));
        out.text("basis", model::name_of(found->start->basis));
        out.json.end_object();
    } else {
        const bool told = found != nullptr && found->no_start != model::NoStart::none;
        const bool too_many = view.size() > StartTimes::work_max;
        out.text("noStart", told       ? model::name_of(found->no_start)
                            : too_many ? model::name_of(model::NoStart::too_long)
                                       : "notLookedAt");
    }
    if (!known) return;
    if (const auto turn = known->turns.find(queue); turn != known->turns.end()) {
        out.json.key("queueTurn");
        out.json.begin_object();
        out.text("queue", queue);
        out.number("place", turn->second.place);
        out.number("of", turn->second.of);
        out.json.end_object();
    }
    out.json.key("startAsOf");
    out.json.begin_object();
    out.number("resourceVersion", known->version);
    out.text("at", render_instant(known->at));
    out.json.end_object();
}

std::string answer_live(const Parts& parts, StartTimes& start_times, const Call& call,
                        const server::WorkView& view, const server::WorkCard& card,
                        codec::Language language) {
    auto verdict = view.plan().verdict(card.id);
    if (verdict) {
        name_holders(view, call, *verdict);
        for (const model::Reason& leftover : view.leftovers())
            verdict->constraints.push_back(leftover);
    }
    std::vector<model::Reason> pauses;
    if (!verdict && card.key.kind == model::Kind::service && card.not_before &&
        *card.not_before > view.at())
        pauses.push_back(
            {model::ReasonCode::backoff, {{"until", render_instant(*card.not_before)}}});
    std::string text;
    codec::JsonWriter json(text);
    Writing out{json, language};
    begin(out,
          {.key = card.key,
           .phase = std::string(card.phase),
           .uid = card.uid,
           .now = present_reason(view, card, verdict),
           .last = card.reason},
          view);
    if (verdict) write_verdict(out, *verdict);
    if (verdict) write_start(out, start_times, view, card.id, view.plan().queue_of(card.id));
    if (!pauses.empty()) out.reasons("constraints", pauses);
    write_history(out, parts, call, card.uid);
    json.end_object();
    return text;
}

model::Reason reason_of(const codec::Value* stored) {
    model::Reason reason;
    const codec::Value* code = stored != nullptr ? stored->find("code") : nullptr;
    if (code == nullptr) return reason;
    reason.code = model::parse_enum<model::ReasonCode>(code->text_or_empty())
                      .value_or(model::ReasonCode::none);
    if (const codec::Value* params = stored->find("params"))
        for (std::size_t i = 0; i < params->items.size(); ++i)
            reason.params.push_back(
                {params->names[i], std::string(params->items[i].text_or_empty())});
    return reason;
}

// Of its row: a job that is over.
Result<std::string> answer_stored(const Parts& parts, const Call& call, const server::WorkView& view,
                                  const model::ObjectKey& key, codec::Language language) {
    TANDEM_LET(row, parts.reader.find(key));
    if (!row) return fail(ErrorCode::not_found, fmt::format("\"{}\" does not exist", key.name));
    TANDEM_LET(document, codec::parse_json(row->json));
    const codec::Value* meta = document.find("metadata");
    const codec::Value* status = document.find("status");
    const codec::Value* uid = meta != nullptr ? meta->find("uid") : nullptr;
    const codec::Value* phase = status != nullptr ? status->find("phase") : nullptr;
    Told told{.key = key};
    if (phase != nullptr) told.phase = phase->text_or_empty();
    if (uid != nullptr) told.uid = Uid::parse(uid->text_or_empty()).value_or(Uid{});
    told.now = told.last = reason_of(status != nullptr ? status->find("reason") : nullptr);
    std::string text;
    codec::JsonWriter json(text);
    Writing out{json, language};
    begin(out, told, view);
    write_history(out, parts, call, told.uid);
    json.end_object();
    return text;
}

}  // namespace

std::string visible_name(const server::WorkView& view, const Call& call, RowId workload) {
    const server::WorkCard* card = view.find(workload);
    if (card == nullptr) return {};
    const core::ReadScope scope =
        scope_of(auth::reach_of(call.who.facts, {auth::area_of(card->key.kind), auth::Verb::read}));
    const bool seen = scope.all_projects ||
                      std::ranges::find(scope.projects, card->key.project) != scope.projects.end();
    if (!seen) return {};
    return fmt::format("{}/{}/{}/{}", model::info_of(card->key.kind).singular, card->key.project,
                       card->key.name_space, card->key.name);
}

void why(const Parts& parts, StartTimes& start_times, Call call, model::Kind kind) {
    const model::ObjectKey key = key_of_path(call, kind);
    const Status allowed =
        allow_read(parts, call, {auth::area_of(kind), auth::Verb::read}, key.project,
                   key.project + "/" + key.name_space + "/" + key.name);
    if (!allowed) return call.refuse(allowed.error());
    const auto language = call.query_or("lang") == "zh" ? codec::Language::zh : codec::Language::en;
    const auto view = parts.core.work();
    if (const server::WorkCard* card = view->find(key))
        return call.answer(answer_live(parts, start_times, call, *view, *card, language));
    auto stored = answer_stored(parts, call, *view, key, language);
    if (!stored) return call.refuse(stored.error());
    call.answer(std::move(*stored));
}

}  // namespace tandem::api

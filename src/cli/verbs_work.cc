// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "base/quantity.h"
#include "cli/exit_code.h"
#include "cli/follow.h"
#include "cli/foreseen.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "cli/words.h"

namespace tandem::cli {
namespace {

using codec::Value;

using Words = std::string(const Value& job, codec::Language language);

// What became of a wish to cancel: an ended job has nothing left to cancel.
std::string cancel_words(const Value& job, codec::Language language) {
    const std::string phase = text_at(job, "status.phase");
    if (phase == "cancelled") return say(language, "is cancelled");
    if (phase == "succeeded" || phase == "failed")
        return say(language, "has ended already: it {}", phase);
    return say(language, "is being cancelled");
}

std::string hold_words(const Value& job, codec::Language language) {
    const std::string phase = text_at(job, "status.phase");
    if (phase == "pending") return say(language, "is held");
    return say(language, "is {} and goes on; it is held when it waits its turn again", phase);
}

// A job that waits again may still be kept from starting.
std::string retry_words(const Value& job, codec::Language language) {
    const std::string name = text_at(job, "metadata.name");
    const Value* suspended = find_at(job, "spec.suspend");
    if (suspended && suspended->boolean)
        return say(language, "waits again, but is suspended; start it with: tandem job resume {}",
                   name);
    if (const std::string holder = text_at(job, "status.heldBy"); !holder.empty())
        return say(language, "waits again, but is held by {}; start it with: tandem job release {}",
                   printable(holder), name);
    return say(language, "waits its turn again");
}

std::string suspend_words(const Value& job, codec::Language language) {
    if (text_at(job, "status.phase") == "pending") return say(language, "is suspended");
    return say(language, "is asked to save and stop; then it is suspended");
}

std::function<Words> always(Phrase phrase) {
    return [phrase](const Value&, codec::Language language) { return say(language, phrase); };
}

// "train" or "job/train".
Result<model::ObjectKey> job_key(const Session& session, const std::string& word) {
    if (word.find('/') == word.npos && !word.empty())
        return session.key_of(model::Kind::job, word);
    TANDEM_LET(key, parse_one(session, {word}));
    if (key.kind == model::Kind::job) return key;
    return fail(ErrorCode::invalid,
                fmt::format("{}/{} is no job", model::info_of(key.kind).singular, key.name));
}

Result<int> act_on_jobs(Session& session, const char* act, const std::function<Words>& words) {
    const codec::Language language = look_of(session).language;
    const bool dry_run = session.arguments().dry_run;
    for (const std::string& word : session.arguments().words) {
        TANDEM_LET(key, job_key(session, word));
        TANDEM_LET(answer, session.call({.method = "POST",
                                         .path = session.item(key) + "/" + act,
                                         .query = {{"dryRun", dry_run ? "true" : ""}}}));
        show(session, answer, [&] {
            return fmt::format("job/{} {}{}\n", key.name, words(answer, language),
                               dry_run ? say(language, " (dry run)") : "");
        });
    }
    return exit_ok;
}

std::string joined(const Value* reasons, codec::Language language) {
    std::string text;
    if (reasons)
        for (const Value& reason : reasons->items)
            text += (text.empty() ? "" : say(language, "; and ")) +
                    printable(reason_text(&reason, language));
    return text;
}

std::string amount_of(const Value& item, std::string_view milli) {
    return render_milli(number_at(item, milli));
}

std::string funnel_lines(const Value& why, codec::Language language) {
    std::string text;
    if (const Value* funnels = why.find("funnels"))
        for (const Value& funnel : funnels->items) {
            text += say(language,
                        "  nodes: {} in all, {} with {} of pool {}, {} of them usable, {} with room "
                        "for a replica; {} of {} devices are free\n",
                        number_at(funnel, "nodes"), number_at(funnel, "withFlavor"),
                        printable(text_at(funnel, "flavor")), printable(text_at(funnel, "pool")),
                        number_at(funnel, "usable"), number_at(funnel, "withRoom"),
                        amount_of(funnel, "freeMilli"), amount_of(funnel, "totalMilli"));
            const std::string cut = text_at(funnel, "cut");
            if (cut == "admitted")
                text += say(language,
                            "  of those usable, {} are admitted by labels, taints and other work\n",
                            number_at(funnel, "admitted"));
            if (cut == "domain")
                text += say(language, "  of those with room, {} are in the best domain\n",
                            number_at(funnel, "inDomain"));
        }
    return text;
}

// Of the license or limit that binds, and devices.
std::string held_of(const Value& holder, codec::Language language) {
    const std::int64_t units = number_at(holder, "units");
    return units > 0 ? say(language, "{} of it with {}", units, amount_of(holder, "milli"))
                     : amount_of(holder, "milli");
}

std::string holder_lines(const Value& why, codec::Language language) {
    std::string text;
    const Value* holders = why.find("holders");
    if (!holders) return text;
    for (const Value& holder : holders->items) {
        const std::string name = text_at(holder, "name");
        const Value* preemptible = holder.find("preemptible");
        const Value* leaving = holder.find("leaving");
        const bool stays = preemptible && !preemptible->boolean;
        const bool leaves = leaving && leaving->boolean;
        text += say(language, "  held by: {}, {} of {}, queue {}, priority {}{}{}\n",
                    name.empty() ? say(language, "work of others") : printable(name),
                    held_of(holder, language), printable(text_at(holder, "flavor")),
                    printable(text_at(holder, "queue")), number_at(holder, "priority"),
                    stays ? say(language, ", never preempted") : std::string(),
                    leaves ? say(language, ", leaving") : std::string());
    }
    if (const std::int64_t more = number_at(why, "holdersMore"); more > 0)
        text += say(language, "  held by: {} more\n", more);
    return text;
}

std::string history_lines(const Value& why, codec::Language language) {
    std::string text;
    if (const Value* history = why.find("history"))
        for (const Value& event : history->items)
            text += fmt::format("  {} {}\n", text_at(event, "at"), printable(text_at(event, "text")));
    return text.empty() ? text : say(language, "what happened, newest first:\n") + text;
}

std::string reason_lines(const Value& why, codec::Language language) {
    const std::string reason = reason_text(why.find("reason"), language);
    const std::string last = reason_text(why.find("lastReason"), language);
    const Value* proved = why.find("proved");
    const bool open = proved && !proved->boolean;
    std::string text;
    if (!reason.empty())
        text += say(language, "  why: {}{}\n", printable(reason),
                    open ? say(language, " (not tried to the end yet)") : std::string());
    if (const Value* constraints = why.find("constraints"))
        for (const Value& constraint : constraints->items)
            if (const std::string also = reason_text(&constraint, language); also != reason)
                text += say(language, "  also: {}\n", printable(also));
    if (text_at(why, "reason.code") != text_at(why, "lastReason.code") && !last.empty())
        text += say(language, "  before: {}\n", printable(last));
    return text;
}

// Told of the moment at which it was foreseen, which may be some seconds ago.
std::string expected_line(const Value& why, codec::Language language) {
    const Value* start = why.find("start");
    const std::string no_start = text_at(why, "noStart");
    if (!start && no_start.empty()) return {};
    const auto from = parse_instant(text_at(why, "asOf.at"));
    const std::string basis = basis_words(start, language);
    const std::int64_t version = number_at(why, "startAsOf.resourceVersion");
    return say(language, "  starts: {}{}{}\n",
               start_words(start, no_start, from.value_or(Instant{}), language),
               basis.empty() ? basis : say(language, ", {}", basis),
               version > 0 ? say(language, "; as of version {}", version) : std::string());
}

std::string turn_line(const Value& why, codec::Language language) {
    const std::int64_t place = number_at(why, "queueTurn.place");
    if (place == 0) return {};
    return say(language, "  turn of queue {}: {} of {} in its pool; as of version {}\n",
               printable(text_at(why, "queueTurn.queue")), place, number_at(why, "queueTurn.of"),
               number_at(why, "startAsOf.resourceVersion"));
}

std::string why_lines(const Value& why, codec::Language language) {
    std::string text = say(language, "{}/{} is {}\n", text_at(why, "kind"), text_at(why, "name"),
                           text_at(why, "phase"));
    text += reason_lines(why, language);
    text += funnel_lines(why, language) + holder_lines(why, language);
    if (const Value* protections = why.find("protections"))
        for (const Value& protection : protections->items)
            text += say(language, "  preemption: {}\n",
                        printable(reason_text(&protection, language)));
    if (const std::int64_t position = number_at(why, "position"); position > 0)
        text += say(language, "  position in its queue: {} of {}\n", position,
                    std::max(position, number_at(why, "waiting")));
    text += turn_line(why, language) + expected_line(why, language);
    if (const Value* remedies = why.find("remedies"))
        for (const Value& remedy : remedies->items)
            text += say(language, "  would start in its turn with: {}\n",
                        joined(remedy.find("steps"), language));
    return text + history_lines(why, language);
}

// Nobody looked for a start yet: the first one who asks has it looked for, and asks again.
Result<Value> ask_why(Session& session, const std::string& item) {
    constexpr int tries_max = 20;
    constexpr std::chrono::milliseconds pause{100};
    for (int tries = 0;; ++tries) {
        TANDEM_LET(why, session.get(item + "/why", {{"lang", session.arguments().language}}));
        if (tries == tries_max || text_at(why, "noStart") != "notLookedAt") return why;
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace

Result<int> do_logs(Session& session) {
    const Arguments& a = session.arguments();
    TANDEM_LET(key, parse_one(session, a.words));
    if (key.kind != model::Kind::job && key.kind != model::Kind::service &&
        key.kind != model::Kind::replica)
        return fail(ErrorCode::invalid,
                    fmt::format("a {} has no output; jobs, services and replicas have",
                                model::info_of(key.kind).singular));
    LogRequest request{.path = session.item(key) + "/logs",
                       .role = a.role,
                       .rank = a.rank,
                       .epoch = a.epoch,
                       .follow = a.follow};
    TANDEM_TRY(read_log(session, request));
    return exit_ok;
}

Result<int> do_why(Session& session) {
    TANDEM_LET(key, parse_one(session, session.arguments().words));
    if (key.kind == model::Kind::job || key.kind == model::Kind::service) {
        TANDEM_LET(why, ask_why(session, session.item(key)));
        show(session, why, [&] { return why_lines(why, language_of(session.arguments())); });
        return exit_ok;
    }
    TANDEM_LET(object, session.get(session.item(key)));
    const Value* reason = find_at(object, "status.reason");
    show(session, reason ? *reason : Value{}, [&] {
        const codec::Language language = look_of(session).language;
        const std::string text = reason_text(reason, language);
        return fmt::format("{}/{}: {}\n", model::info_of(key.kind).singular, key.name,
                           text.empty() ? say(language, "nothing to explain") : printable(text));
    });
    return exit_ok;
}

Result<int> do_events(Session& session) {
    const Arguments& a = session.arguments();
    std::string about;
    if (!a.words.empty()) {
        TANDEM_LET(key, parse_one(session, a.words));
        about = std::string(model::info_of(key.kind).singular);
        for (const std::string* part : {&key.project, &key.name_space, &key.name})
            if (!part->empty()) about += "/" + *part;
    }
    TANDEM_LET(events, session.get("/api/v1/events", {{"about", about},
                                                      {"limit", std::to_string(a.limit)},
                                                      {"lang", a.language}}));
    show(session, events, [&] {
        const codec::Language language = look_of(session).language;
        Table table{.headers = {say(language, "AT"), say(language, "ABOUT"),
                                say(language, "WHAT")}};
        if (const Value* items = events.find("items"))
            for (const Value& event : items->items) {
                const auto kind = model::parse_enum<model::Kind>(text_at(event, "kind"));
                const std::string word =
                    kind ? std::string(model::info_of(*kind).singular) : text_at(event, "kind");
                table.rows.push_back({text_at(event, "at"), word + "/" + text_at(event, "name"),
                                      text_at(event, "text")});
            }
        return table.rows.empty() ? say(language,
                                        "no events yet; they come with work: tandem run "
                                        "-- CMD\n")
                                  : render_table(table, wants_colour(session.terminal()));
    });
    return exit_ok;
}

Result<int> do_job_cancel(Session& session) {
    return act_on_jobs(session, "cancel", cancel_words);
}
Result<int> do_job_retry(Session& session) {
    return act_on_jobs(session, "retry", retry_words);
}
Result<int> do_job_hold(Session& session) {
    return act_on_jobs(session, "hold", hold_words);
}
Result<int> do_job_release(Session& session) {
    return act_on_jobs(session, "release", always("is released"));
}
Result<int> do_job_suspend(Session& session) {
    return act_on_jobs(session, "suspend", suspend_words);
}
Result<int> do_job_resume(Session& session) {
    return act_on_jobs(session, "resume", always("waits its turn again"));
}
Result<int> do_job_requeue(Session& session) {
    return act_on_jobs(session, "requeue", always("is queued again"));
}
Result<int> do_job_front(Session& session) {
    return act_on_jobs(session, "front", always("is the first of its submitter's"));
}
Result<int> do_job_force(Session& session) {
    return act_on_jobs(session, "force", always("starts as soon as there are devices for it"));
}

namespace {

struct ActWithPriority {
    std::string name{};
    Value answer{};
};
Result<ActWithPriority> act_with_priority(Session& session, const char* act, bool dry_run) {
    const Arguments& a = session.arguments();
    TANDEM_LET(key, job_key(session, a.words.front()));
    QueryPairs query{{"priority", a.wanted_priority ? std::to_string(*a.wanted_priority) : ""},
                     {"dryRun", dry_run ? "true" : ""}};
    TANDEM_LET(answer, session.call({.method = "POST",
                                     .path = session.item(key) + "/" + act,
                                     .query = std::move(query)}));
    return ActWithPriority{key.name, std::move(answer)};
}

std::string preview_lines(const Value& preview, codec::Language language) {
    const Value* starts = preview.find("starts");
    if (!starts || !starts->boolean)
        return say(language, "would not start now: {}\n",
                   printable(reason_text(preview.find("reason"), language)));
    std::string nodes;
    if (const Value* list = preview.find("nodes"))
        for (const Value& node : list->items)
            nodes += (nodes.empty() ? "" : ", ") + printable(node.text);
    const std::string text = say(language, "would start on {}\n", nodes);
    const Value* evictions = preview.find("evictions");
    if (!evictions || evictions->items.empty())
        return text + say(language, "  nobody would be asked to leave\n");
    std::string victims;
    for (const Value& eviction : evictions->items) {
        const std::string name = text_at(eviction, "name");
        victims += say(language, "  would evict {}: {}\n",
                       name.empty() ? say(language, "work of others") : printable(name),
                       printable(reason_text(eviction.find("reason"), language)));
    }
    return text + victims;
}

}  // namespace

Result<int> do_job_priority(Session& session) {
    const bool dry_run = session.arguments().dry_run;
    TANDEM_LET(done, act_with_priority(session, "priority", dry_run));
    show(session, done.answer, [&] {
        const codec::Language language = look_of(session).language;
        const auto& wanted = session.arguments().wanted_priority;
        return fmt::format("job/{} {}{}\n", done.name,
                           wanted ? say(language, "has priority {}", *wanted)
                                  : say(language, "has the priority it was submitted with"),
                           dry_run ? say(language, " (dry run)") : "");
    });
    return exit_ok;
}
Result<int> do_job_preview(Session& session) {
    TANDEM_LET(done, act_with_priority(session, "preview", false));
    show(session, done.answer,
         [&] { return preview_lines(done.answer, look_of(session).language); });
    return exit_ok;
}

}  // namespace tandem::cli

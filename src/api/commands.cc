// SPDX-License-Identifier: Apache-2.0
#include "api/commands.h"

#include <fmt/format.h>

#include "codec/json_writer.h"
#include "codec/preview.h"
#include "codec/record.h"
#include "codec/verb.h"
#include "crypto/sha256.h"

namespace tandem::api {
namespace {

constexpr std::size_t idempotency_key_max = 128;

// Of a batch the field is told as its sender wrote it: "actions[3].apply.spec.queue", and of an
// action that names its object by a key "actions[3].delete.name".
std::string field_in_batch(const model::Answer& answer,
                           const std::vector<std::string_view>& verbs) {
    constexpr std::string_view of_keys = "metadata.";
    const auto index = static_cast<std::size_t>(answer.failed_action);
    const std::string_view verb = index < verbs.size() ? verbs[index] : std::string_view("apply");
    std::string_view field = answer.error->field;
    const bool has_object = verb == "apply" || verb == "create" || verb == "update";
    if (!has_object && field.starts_with(of_keys)) field.remove_prefix(of_keys.size());
    return fmt::format("actions[{}].{}.{}", answer.failed_action, verb, field);
}

void answer_error(Call& call, const model::Answer& answer,
                  const std::vector<std::string_view>& verbs) {
    Error error = *answer.error;
    // A key that was used for another request is at fault itself, no action of this one.
    if (!verbs.empty() && error.code != ErrorCode::mismatch) {
        if (!error.field.empty()) error.field = field_in_batch(answer, verbs);
        error.message = fmt::format("action {}: {}", answer.failed_action, error.message);
    }
    call.refuse(error);
}

// Of a batch alone.
std::vector<std::string_view> verbs_of(const std::vector<model::Action>& actions, Show show) {
    std::vector<std::string_view> verbs;
    if (show == Show::outcomes)
        for (const model::Action& action : actions) verbs.push_back(codec::verb_of(action));
    return verbs;
}

// The object at the outcome's version: the row as it is now, else the change that made it so. A request that is asked
// again, whatever became of its object, is answered by the same bytes as long as that change is kept.
Result<std::optional<std::string>> text_at_version(const Parts& parts, const model::Outcome& outcome) {
    TANDEM_LET(row, parts.reader.find(outcome.key));
    if (row && row->version == outcome.version) return std::optional(std::move(row->json));
    auto changes = parts.reader.changes(outcome.version - 1, 1);
    if (!changes && changes.error().code != ErrorCode::gone) return pass_on(changes.error());
    const bool kept = changes && !changes->empty() && changes->front().version == outcome.version;
    if (!kept) return std::optional<std::string>();
    return std::optional(std::move(changes->front().json));
}

// A dry run has no version, and shows its outcome.
void answer_object(const Parts& parts, Call& call, const model::Outcome& outcome,
                   const server::BatchTexts& texts, bool dry_run, int created_status) {
    const int status = outcome.created ? created_status : 200;
    if (!dry_run && outcome.version > 0) {
        if (const std::string* text = texts.find(outcome)) return call.answer(*text, status);
        auto text = text_at_version(parts, outcome);
        if (!text) return call.refuse(text.error());
        if (*text) return call.answer(std::move(**text), status);
    }
    call.answer(render_outcomes({outcome}), status);
}

}  // namespace

Status take_idempotency_key(const Call& call, model::Command& command) {
    command.idempotency_key = call.request.headers.get_or("Idempotency-Key");
    if (command.idempotency_key.size() > idempotency_key_max)
        return invalid_field("Idempotency-Key", "must be at most 128 characters");
    if (!command.idempotency_key.empty())
        command.body_digest = crypto::sha256_hex(call.request.method + " " + call.request.target +
                                                 "\n" + call.request.body);
    return {};
}

std::string render_outcomes(const std::vector<model::Outcome>& outcomes) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("outcomes");
    writer.begin_array();
    for (const model::Outcome& outcome : outcomes) writer.raw(codec::encode(outcome));
    writer.end_array();
    writer.end_object();
    return json;
}

void send_command(const Parts& parts, Call call, std::vector<model::Action> actions, Show show,
                  int created_status) {
    model::Command command{.ticket = 0,
                           .caller = call.caller(),
                           .actions = std::move(actions),
                           .idempotency_key = {},
                           .body_digest = {},
                           .dry_run = call.query_flag("dryRun")};
    if (const Status taken = take_idempotency_key(call, command); !taken)
        return call.refuse(taken.error());
    const bool dry_run = command.dry_run;
    std::vector<std::string_view> verbs = verbs_of(command.actions, show);
    // The callback may run before submit returns; it owns the call from here on.
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued = parts.core.submit(
        std::move(command),
        [&parts, shared, show, dry_run, created_status, verbs = std::move(verbs)](
            const model::Answer& answer, const server::BatchTexts& texts) {
            if (answer.error) return answer_error(*shared, answer, verbs);
            if (!dry_run)
                for (const model::Outcome& outcome : answer.outcomes) shared->touched(outcome);
            if (show == Show::preview && answer.preview)
                return shared->answer(codec::render_preview(*answer.preview));
            if (show != Show::outcomes && !answer.outcomes.empty())
                return answer_object(
                    parts, *shared,
                    show == Show::object ? answer.outcomes.front() : answer.outcomes.back(), texts,
                    dry_run, created_status);
            shared->answer(render_outcomes(answer.outcomes));
        });
    if (!queued) shared->refuse(queued.error());
}

void refuse_unless_answered(const Parts& parts, Call call, Error error, Show show) {
    // Without actions and dry: core looks the key up, and nothing else.
    model::Command command{.ticket = 0,
                           .caller = call.caller(),
                           .actions = {},
                           .idempotency_key = {},
                           .body_digest = {},
                           .dry_run = true};
    if (const Status taken = take_idempotency_key(call, command); !taken)
        return call.refuse(taken.error());
    if (command.idempotency_key.empty()) return call.refuse(error);
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued = parts.core.submit(
        std::move(command), [&parts, shared, show, error = std::move(error)](
                                const model::Answer& answer, const server::BatchTexts& texts) {
            if (answer.error) return shared->refuse(*answer.error);
            if (!answer.replayed || answer.outcomes.empty()) return shared->refuse(error);
            answer_object(parts, *shared,
                          show == Show::object ? answer.outcomes.front() : answer.outcomes.back(),
                          texts, false, 201);
        });
    if (!queued) shared->refuse(queued.error());
}

}  // namespace tandem::api

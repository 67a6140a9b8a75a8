// SPDX-License-Identifier: Apache-2.0
// tandem sim what-if: a server's own exported history, replayed as it was and under a change.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "apps/read_words.h"
#include "apps/sim/figures.h"
#include "apps/sim/input.h"
#include "apps/sim/verbs.h"
#include "codec/manifest.h"
#include "codec/what_if.h"
#include "sim/workload/replay_history.h"

namespace tandem::apps {
namespace {

// With its field in the text: verbs of the simulator show the text alone.
Error plain(const Error& error) {
    return {
        error.code, error.field.empty() ? error.message : error.field + ": " + error.message, {}};
}

Result<sim::History> read_history(const std::string& path) {
    TANDEM_LET(text, read_trace(path));
    sim::HistoryReader reader;
    std::string_view rest = text.text;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        if (const Status taken = reader.take(rest.substr(0, end)); !taken)
            return in_context(path, taken.error());
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    auto history = reader.finish();
    if (!history) return in_context(path, history.error());
    return history;
}

Result<model::WhatIf> read_change(const std::string& path) {
    TANDEM_LET(text, read_trace(path));
    TANDEM_LET(documents, codec::parse_yaml(text.text));
    model::WhatIf change;
    for (std::size_t i = 0; i < documents.size(); ++i) {
        const std::string where = fmt::format("{}, document {}", path, i + 1);
        const codec::Value* kind = documents[i].find("kind");
        if (kind != nullptr && kind->text_or_empty() == "WhatIf") {
            const codec::Value* spec = documents[i].find("spec");
            auto asked = codec::parse_what_if(spec != nullptr ? *spec : codec::make_object());
            if (!asked) return in_context(where, plain(asked.error()));
            asked->actions.insert(asked->actions.end(), change.actions.begin(),
                                  change.actions.end());
            change = *std::move(asked);
            continue;
        }
        auto object = codec::parse_manifest(documents[i]);
        if (!object) return in_context(where, plain(object.error()));
        change.actions.push_back(model::ApplyObject{.object = *std::move(object)});
    }
    return change;
}

struct Question {
    std::string history{};
    std::string change{};
    std::string html{};
    bool json = false;
};

Status tell(const Question& question, const sim::ReplayFigures& before,
            const sim::ReplayFigures* after) {
    TANDEM_TRY(write_page(question.html, sim::page_of(before, after)));
    const std::string text =
        question.json ? sim::render_replay(before, after) + "\n" : sim::render_table(before, after);
    std::fputs(text.c_str(), stdout);
    return {};
}

Result<sim::ReplayFigures> replay(const sim::History& history, const model::WhatIf& change) {
    auto figures = sim::replay_history(history, change);
    if (!figures) return std::unexpected(plain(figures.error()));
    return figures;
}

Status answer(const Question& question) {
    TANDEM_LET(history, read_history(question.history));
    if (question.change.empty()) {
        TANDEM_LET(before, replay(history, {}));
        return tell(question, before, nullptr);
    }
    TANDEM_LET(change, read_change(question.change));
    TANDEM_LET(before, replay(history, {}));
    TANDEM_LET(after, replay(history, change));
    return tell(question, before, &after);
}

}  // namespace

int sim_what_if(const std::vector<std::string>& words) {
    CLI::App app(
        "Replays the history that a server exported (tandem admin export-history FILE), every job\n"
        "at its time and for as long as it really ran, as it was and under other machines, queues\n"
        "or priorities",
        "tandem sim what-if");
    Question question;
    app.add_option("--history", question.history, "exported history, NDJSON, plain or gzip")
        ->required();
    app.add_option("--change", question.change, "what differs: as for tandem what-if -f");
    add_html(app, question.html);
    app.add_flag("--json", question.json, "one JSON object instead of a table");
    if (const auto code = read_words(app, words)) return *code;
    if (const Status answered = answer(question); !answered)
        return refuse("what-if", answered.error());
    return 0;
}

}  // namespace tandem::apps

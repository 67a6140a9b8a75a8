// SPDX-License-Identifier: Apache-2.0
// Show: objects on the terminal, in the form that -o asks for. Tables have columns per kind.
// Thread rule: one owner.
#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "cli/table.h"
#include "codec/document.h"
#include "codec/reasons.h"
#include "model/kind.h"

namespace tandem::cli {

bool wants_colour(const Terminal& terminal);
codec::Language language_of(const Arguments& arguments);
Look look_of(const Session& session);

// Value at a path of names ("status.reason.code"); null when absent. The text of it, or empty.
const codec::Value* find_at(const codec::Value& value, std::string_view path);
std::string text_at(const codec::Value& value, std::string_view path);
std::int64_t number_at(const codec::Value& value, std::string_view path);

// {"code": ..., "params": {...}} as a sentence in the caller's language.
std::string reason_text(const codec::Value* reason, codec::Language language);
// "3s", "5m", "2h", "4d"
std::string render_age(Duration age);

struct TableScope {
    bool with_project = false;
};
Table make_table(model::Kind kind, const std::vector<const codec::Value*>& objects, Instant now,
                 codec::Language language, TableScope scope);

// The whole answer in the asked form; `table` is only called for tables.
void show(const Session& session, const codec::Value& answer,
          const std::function<std::string()>& table);
// A list answer ({"items": [...]}) of one kind.
void show_list(const Session& session, model::Kind kind, const codec::Value& list,
               bool with_project);
void show_one(const Session& session, model::Kind kind, const codec::Value& object);

// How to call a ready service: curl and SDK lines.
std::string calling_lines(const codec::Value& service, const std::string& gateway,
                          codec::Language language);

}  // namespace tandem::cli

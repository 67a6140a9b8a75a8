// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/show.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "codec/document.h"

namespace tandem::cli {
namespace {

using codec::Value;

// The first line; keys are not taken from the command line, where others could read them.
Result<Secret> read_key(const Arguments& arguments, const Terminal& terminal) {
    std::string text;
    if (arguments.key_file == "-") {
        text = terminal.read_input();
    } else {
        std::ifstream stream(arguments.key_file);
        if (!stream)
            return fail(ErrorCode::invalid, fmt::format("reading {} failed", arguments.key_file));
        std::getline(stream, text);
    }
    text.resize(std::min(text.find_first_of("\r\n"), text.size()));
    if (text.empty()) return invalid_field("--key-file", "holds no key");
    return Secret(std::move(text));
}

Status set_context(const Arguments& arguments, const Terminal& terminal, Contexts& contexts) {
    const std::string& name = arguments.words.front();
    TANDEM_TRY(model::check_name(name, "NAME"));
    Context& context = contexts.put(name);
    if (!arguments.server.empty()) context.server = arguments.server;
    if (context.server.empty()) return invalid_field("--server", "must be given for a new context");
    if (auto url = http::parse_url(context.server); !url)
        return in_context("--server", url.error());
    if (!arguments.project.empty()) context.project = arguments.project;
    if (!arguments.name_space.empty()) context.name_space = arguments.name_space;
    if (!arguments.key_file.empty()) {
        TANDEM_LET(key, read_key(arguments, terminal));
        context.key = std::move(key);
    }
    contexts.current = name;
    return {};
}

std::string list_contexts(const Contexts& contexts, codec::Language language) {
    Table table;
    for (const Phrase& header : {Phrase("CURRENT"), Phrase("NAME"), Phrase("SERVER"),
                                 Phrase("KEY"), Phrase("PROJECT"), Phrase("NAMESPACE")})
        table.headers.push_back(say(language, header));
    for (const Context& context : contexts.list)
        table.rows.push_back({context.name == contexts.current ? "*" : "", context.name,
                              context.server,
                              say(language, context.key.empty() ? Phrase("none") : Phrase("kept")),
                              context.project, context.name_space});
    return table.rows.empty()
               ? say(language,
                     "no contexts; add one with: tandem context set NAME --server URL --key-file "
                     "FILE\n")
               : render_table(table, false);
}

// The same for programs; keys stay where they are.
Value value_of(const Context& context, const Contexts& contexts) {
    const auto flag = [](bool is) {
        return Value{.type = codec::ValueType::boolean, .boolean = is};
    };
    Value one = codec::make_object();
    one.add("name", codec::make_text(context.name));
    one.add("current", flag(context.name == contexts.current));
    one.add("server", codec::make_text(context.server));
    one.add("keyKept", flag(!context.key.empty()));
    one.add("project", codec::make_text(context.project));
    one.add("namespace", codec::make_text(context.name_space));
    return one;
}

Value value_of(const Contexts& contexts) {
    Value items{.type = codec::ValueType::array};
    for (const Context& context : contexts.list) items.items.push_back(value_of(context, contexts));
    Value list = codec::make_object();
    list.add("items", std::move(items));
    return list;
}

std::string render(const Arguments& arguments, const Value& value, const std::string& text) {
    if (arguments.output == "json") return codec::render_json_pretty(value);
    if (arguments.output == "yaml") return codec::render_yaml(value);
    return text;
}

}  // namespace

Result<int> do_context(const Arguments& arguments, const Terminal& terminal) {
    TANDEM_LET(file, contexts_file(terminal.environment));
    TANDEM_LET(contexts, load_contexts(file));
    if (arguments.verb == "context list") {
        terminal.out(
            render(arguments, value_of(contexts), list_contexts(contexts, language_of(arguments))));
        return exit_ok;
    }
    const std::string& name = arguments.words.front();
    if (arguments.verb == "context set") {
        TANDEM_TRY(set_context(arguments, terminal, contexts));
    } else if (!contexts.find(name)) {
        return fail(ErrorCode::not_found,
                    fmt::format("there is no context \"{}\"; see: tandem context list", name));
    } else if (arguments.verb == "context use") {
        contexts.current = name;
    } else {
        contexts.remove(name);
    }
    TANDEM_TRY(save_contexts(file, contexts));
    if (const Context* context = contexts.find(name)) {
        const bool set = arguments.verb == "context set";
        terminal.out(render(
            arguments, value_of(*context, contexts),
            set ? say(language_of(arguments), "context {} is {} now\n", name, context->server)
                : std::string()));
    }
    return exit_ok;
}

}  // namespace tandem::cli

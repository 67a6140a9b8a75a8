// SPDX-License-Identifier: Apache-2.0
#include "sim/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/quantity.h"
#include "base/shrink.h"
#include "codec/document.h"
#include "codec/json_writer.h"

namespace tandem::sim {
namespace {

using codec::Value;
using Part = std::variant<Operation, Strike>;

Case case_of(const SeedResult& whole, const std::vector<Part>& parts) {
    Case kept{.seed = whole.seed, .rule = whole.happened.rule};
    for (const Part& part : parts) {
        if (const auto* operation = std::get_if<Operation>(&part))
            kept.operations.push_back(*operation);
        else
            kept.strikes.push_back(std::get<Strike>(part));
    }
    return kept;
}

Result<std::int64_t> integer_at(const Value& of, const std::string& name,
                                const std::string& field) {
    const Value* found = of.find(name);
    if (found == nullptr) return invalid_field(field + name, "is missing");
    const auto number = parse_integer(found->text_or_empty());
    if (!number || *number < 0)
        return invalid_field(field + name, "must be a whole number from 0 on");
    return *number;
}

Result<const Value*> list_at(const Value& document, const std::string& name) {
    const Value* found = document.find(name);
    if (found == nullptr || found->type != codec::ValueType::array)
        return invalid_field(name, "must be a list");
    return found;
}

Result<Operation> parse_operation(const Value& item, const std::string& field) {
    TANDEM_LET(number, integer_at(item, "number", field));
    const Value* what = item.find("what");
    if (what == nullptr) return invalid_field(field + "what", "is missing");
    return Operation{number, std::string(what->text_or_empty())};
}

Result<Strike> parse_strike(const Value& item, const std::string& field) {
    const Value* name = item.find("fault");
    const auto fault = name != nullptr ? fault_named(name->text_or_empty()) : std::nullopt;
    if (!fault) return invalid_field(field + "fault", "must be a fault of src/sim/fault_plan.h");
    TANDEM_LET(ask, integer_at(item, "ask", field));
    return Strike{*fault, ask};
}

}  // namespace

std::optional<Shrunk> shrink_seed(std::uint64_t seed, std::int64_t runs_max, const Rule& rule) {
    Shrunk shrunk{.whole = World(seed, rule).run()};
    if (shrunk.whole.violation.empty()) return {};
    shrunk.least = shrunk.whole;
    std::vector<Part> parts(shrunk.whole.happened.operations.begin(),
                            shrunk.whole.happened.operations.end());
    parts.insert(parts.end(), shrunk.whole.happened.strikes.begin(),
                 shrunk.whole.happened.strikes.end());
    const auto fails = [&](const std::vector<Part>& some) {
        SeedResult result = World(case_of(shrunk.whole, some), rule).run();
        if (result.happened.rule != shrunk.whole.happened.rule) return false;
        shrunk.least = std::move(result);
        return true;
    };
    std::int64_t runs = runs_max;
    shrink_list(std::move(parts), fails, runs);
    shrunk.runs = runs_max - runs;
    return shrunk;
}

std::string render_case(const Case& kept) {
    std::string operations, strikes, rule;
    codec::append_json_text(rule, kept.rule);
    for (const Operation& one : kept.operations) {
        std::string what;
        codec::append_json_text(what, one.what);
        operations += fmt::format("{}\n    {{\"number\": {}, \"what\": {}}}",
                                  operations.empty() ? "" : ",", one.number, what);
    }
    for (const Strike& one : kept.strikes)
        strikes += fmt::format("{}\n    {{\"fault\": \"{}\", \"ask\": {}}}",
                               strikes.empty() ? "" : ",", name_of(one.fault), one.ask);
    return fmt::format(
        "{{\n  \"seed\": {},\n  \"rule\": {},\n  \"operations\": [{}],\n  \"strikes\": [{}]\n}}\n",
        kept.seed, rule, operations, strikes);
}

Result<Case> parse_case(std::string_view json) {
    TANDEM_LET(document, codec::parse_json(json));
    Case kept;
    TANDEM_LET(seed, integer_at(document, "seed", ""));
    kept.seed = static_cast<std::uint64_t>(seed);
    if (const Value* rule = document.find("rule")) kept.rule = rule->text_or_empty();
    TANDEM_LET(operations, list_at(document, "operations"));
    for (std::size_t i = 0; i < operations->items.size(); ++i) {
        TANDEM_LET(one, parse_operation(operations->items[i], fmt::format("operations[{}].", i)));
        kept.operations.push_back(one);
    }
    TANDEM_LET(strikes, list_at(document, "strikes"));
    for (std::size_t i = 0; i < strikes->items.size(); ++i) {
        TANDEM_LET(one, parse_strike(strikes->items[i], fmt::format("strikes[{}].", i)));
        kept.strikes.push_back(one);
    }
    return kept;
}

Result<SeedResult> play_case(const Case& kept, const Rule& rule) {
    SeedResult result = World(kept, rule).run();
    for (std::size_t i = 0; i < kept.operations.size(); ++i) {
        const Operation& one = kept.operations[i];
        const auto& done = result.happened.operations;
        const auto drawn = std::ranges::find(done, one.number, &Operation::number);
        if (drawn == done.end() || drawn->what == one.what) continue;
        return invalid_field(
            fmt::format("operations[{}].what", i),
            fmt::format("this build draws \"{}\" under that number: the case is of another one",
                        drawn->what));
    }
    return result;
}

}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <set>
#include <spanstream>

#include "codec/tree_builder.h"

namespace tandem::codec {
namespace {

std::size_t count_values(const Value& value) {
    std::size_t count = 1;
    for (const Value& item : value.items) count += count_values(item);
    count += value.names.size();
    return count;
}

std::size_t depth_of(const Value& value) {
    std::size_t deepest = 0;
    for (const Value& item : value.items) deepest = std::max(deepest, depth_of(item));
    return value.type == ValueType::array || value.type == ValueType::object ? deepest + 1 : 0;
}

bool is_null_word(std::string_view text) {
    return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

// yaml-cpp's handler: its On* names are the library's. Ends a parse by an exception of the
// library's own kind.
class Handler : public YAML::EventHandler {
  public:
    explicit Handler(int previous_start) : start(previous_start) {}

    void OnDocumentStart(const YAML::Mark& mark) override {
        // The library hands out empty documents for ever where a bracket closes nothing.
        if (mark.pos <= start) refuse(mark, "text follows that belongs to no value");
        start = mark.pos;
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf(mark, {}, anchor); }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& text) override;
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        begin(mark, tag, anchor, ValueType::array);
    }
    void OnSequenceEnd() override { end(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        begin(mark, tag, anchor, ValueType::object);
    }
    void OnMapEnd() override { end(); }

    TreeBuilder builder{};
    int start = -1;  // of the document

  private:
    void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
               ValueType type);
    void end();
    void leaf(const YAML::Mark& mark, Value value, YAML::anchor_t anchor);
    void check(const YAML::Mark& mark) {
        if (builder.error()) throw YAML::ParserException(mark, builder.error()->message);
    }
    [[noreturn]] void refuse(const YAML::Mark& mark, std::string message) {
        builder.fail_with({ErrorCode::invalid, message});
        throw YAML::ParserException(mark, message);
    }
    std::map<YAML::anchor_t, Value> anchored_{};
    std::set<YAML::anchor_t> unfinished_{};
    std::vector<YAML::anchor_t> open_{};  // anchor of each open branch, or 0
    YAML::Mark last_{};
};

void Handler::leaf(const YAML::Mark& mark, Value value, YAML::anchor_t anchor) {
    last_ = mark;
    if (builder.wants_key()) {
        if (value.type == ValueType::null) value.text = "null";
        builder.key(std::move(value.text));
        return check(mark);
    }
    if (anchor) anchored_[anchor] = value;
    builder.leaf(std::move(value));
    check(mark);
}

void Handler::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       const std::string& text) {
    constexpr std::string_view standard = "tag:yaml.org,2002:";
    const std::string_view kind =
        tag.starts_with(standard) ? std::string_view(tag).substr(standard.size()) : tag;
    if (kind == "!" || kind == "str")
        return leaf(mark, {.type = ValueType::text, .text = text}, anchor);
    if (kind != "?" && !kind.empty() && kind != "int" && kind != "float" && kind != "bool" &&
        kind != "null")
        refuse(mark, fmt::format("the tag \"{}\" is not taken here", tag.substr(0, 60)));
    if (is_null_word(text)) return leaf(mark, {}, anchor);
    leaf(mark, {.type = ValueType::scalar, .text = text}, anchor);
}

void Handler::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
    last_ = mark;
    if (unfinished_.contains(anchor))
        refuse(mark, "an alias stands inside what it names: that would be a loop");
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) refuse(mark, "an alias names no anchor");
    if (builder.wants_key()) refuse(mark, "an alias may not be a field's name");
    // Counted before it is copied, so that a bomb never unfolds.
    builder.count(count_values(found->second) - 1);
    if (builder.depth() + depth_of(found->second) > document_depth_max)
        refuse(mark, "the document is nested deeper than 64 levels");
    check(mark);
    builder.leaf(found->second);
    check(mark);
}

void Handler::begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    ValueType type) {
    last_ = mark;
    if (builder.wants_key()) refuse(mark, "a field's name must be a single word");
    const bool usual = tag.empty() || tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:map" ||
                       tag == "tag:yaml.org,2002:seq";
    if (!usual) refuse(mark, fmt::format("the tag \"{}\" is not taken here", tag.substr(0, 60)));
    open_.push_back(anchor);
    if (anchor) unfinished_.insert(anchor);
    builder.begin(type);
    check(mark);
}

void Handler::end() {
    const YAML::anchor_t anchor = open_.back();
    open_.pop_back();
    const Value* value = builder.end();
    check(last_);
    if (anchor == 0) return;
    unfinished_.erase(anchor);
    builder.count(count_values(*value));  // the kept copy
    check(last_);
    anchored_[anchor] = *value;
}

// Control bytes have no place in YAML text; yaml-cpp would take some of them as an end of input.
Status check_control_bytes(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if ((byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7f)
            return fail(ErrorCode::invalid,
                        fmt::format("{}: the text holds a control byte", place_of(text, at)));
    }
    return {};
}

}  // namespace

Result<std::vector<Value>> parse_yaml(std::string_view text) {
    TANDEM_TRY(check_document_text(text));
    TANDEM_TRY(check_control_bytes(text));
    std::vector<Value> documents;
    ErrorCode code = ErrorCode::invalid;
    std::size_t values = 0;
    int start = -1;
    try {
        std::ispanstream stream{std::span<const char>(text)};
        YAML::Parser parser(stream);
        while (true) {
            Handler handler(start);
            handler.builder.count(values);
            const bool more = [&] {
                try {
                    return parser.HandleNextDocument(handler);
                } catch (const YAML::Exception&) {
                    if (handler.builder.error()) code = handler.builder.error()->code;
                    throw;
                }
            }();
            if (!more) break;
            start = handler.start;
            Value root = handler.builder.take_root();
            if (root.type == ValueType::null) continue;
            values += count_values(root);
            documents.push_back(std::move(root));
        }
    } catch (const YAML::Exception& e) {
        return fail(code, fmt::format("line {}, column {}: not usable YAML: {}", e.mark.line + 1,
                                      e.mark.column + 1, e.msg));
    } catch (const std::exception& e) {
        return fail(ErrorCode::invalid, fmt::format("not usable YAML: {}", e.what()));
    }
    return documents;
}

}  // namespace tandem::codec

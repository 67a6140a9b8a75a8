// SPDX-License-Identifier: Apache-2.0
// TreeBuilder: turns the events of a JSON or YAML reader into one Value, holding the limits of
// document.h. Internal to codec. After the first error every call does nothing; error() is then
// what is wrong. Thread rule: one owner.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/document.h"

namespace tandem::codec {

class TreeBuilder {
  public:
    void leaf(Value value);
    void begin(ValueType type);  // array or object
    Value* end();                // the finished branch; null after an error
    void key(std::string name);
    bool wants_key() const {
        return !open_.empty() && open_.back().value.type == ValueType::object &&
               !open_.back().has_key;
    }

    const std::optional<Error>& error() const { return error_; }
    void fail_with(Error error) {
        if (!error_) error_ = std::move(error);
    }
    void count(std::size_t values);  // towards document_values_max
    Value take_root() { return std::move(root_); }
    std::size_t depth() const { return open_.size(); }

  private:
    struct Branch {
        Value value{};
        std::string key{};
        bool has_key = false;
    };
    Value* place(Value value);
    std::vector<Branch> open_{};
    Value root_{};
    std::size_t values_ = 0;
    std::optional<Error> error_{};
};

// "line 3, column 7" of an offset, both from 1.
std::string place_of(std::string_view text, std::size_t offset);
// Text within the size limit and well-formed UTF-8.
Status check_document_text(std::string_view text);

}  // namespace tandem::codec

// SPDX-License-Identifier: Apache-2.0
// Secret: text that must not be shown (keys, passwords, tokens). It has no stream operator, no
// formatter and no conversion; only reveal() gives the text, and only to code that sends or hashes
// it. Cleared when it goes.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace tandem {

class Secret {
  public:
    Secret() = default;
    explicit Secret(std::string text) : text_(std::move(text)) {}
    Secret(const Secret&) = default;
    Secret(Secret&& other) noexcept : text_(other.text_) { other.clear(); }
    Secret& operator=(const Secret&) = default;
    Secret& operator=(Secret&& other) noexcept {
        if (this != &other) {
            clear();
            text_ = other.text_;
            other.clear();
        }
        return *this;
    }
    ~Secret() { clear(); }

    std::string_view reveal() const { return text_; }
    bool empty() const { return text_.empty(); }

  private:
    void clear() {
        volatile char* bytes = text_.data();  // volatile: the store must not be optimised away
        for (std::size_t i = 0; i < text_.size(); ++i) bytes[i] = 0;
        text_.clear();
    }
    std::string text_;
};

}  // namespace tandem

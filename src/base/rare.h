// SPDX-License-Identifier: Apache-2.0
// Rare<T>: an optional value of its own place in memory: one pointer while absent, for what few of
// many rows have. Copies copy the value; otherwise it is used like std::optional. A value that was
// moved from is absent. Thread rule: as T.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace tandem {

template <class T>
class Rare {
  public:
    using value_type = T;

    Rare() = default;
    Rare(std::nullopt_t) {}
    Rare(T value) : value_(std::make_unique<T>(std::move(value))) {}
    Rare(std::optional<T> value) {
        if (value) emplace(*std::move(value));
    }
    Rare(const Rare& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
    Rare(Rare&&) noexcept = default;
    Rare& operator=(const Rare& other) {
        if (!other) value_.reset();
        else if (value_) *value_ = *other;
        else value_ = std::make_unique<T>(*other);
        return *this;
    }
    Rare& operator=(Rare&&) noexcept = default;
    template <class U = T>
        requires std::same_as<std::remove_cvref_t<U>, T>
    Rare& operator=(U&& value) {
        return *this = Rare(T(std::forward<U>(value)));
    }
    ~Rare() = default;

    bool has_value() const { return value_ != nullptr; }
    explicit operator bool() const { return has_value(); }
    T& operator*() { return *value_; }
    const T& operator*() const { return *value_; }
    T* operator->() { return value_.get(); }
    const T* operator->() const { return value_.get(); }
    T value_or(T other) const { return value_ ? *value_ : std::move(other); }
    template <class... A>
    T& emplace(A&&... values) {
        value_ = std::make_unique<T>(std::forward<A>(values)...);
        return *value_;
    }
    void reset() { value_.reset(); }

    friend bool operator==(const Rare& a, const Rare& b) {
        return a && b ? *a == *b : a.has_value() == b.has_value();
    }
    friend bool operator==(const Rare& a, std::nullopt_t) { return !a; }

  private:
    std::unique_ptr<T> value_;
};

}  // namespace tandem

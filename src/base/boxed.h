// SPDX-License-Identifier: Apache-2.0
// Boxed<T>: an optional value that takes one pointer while it is absent, for what most objects of a kind don't have.
// It is used as std::optional is: copies are copies of the value, equal means equal values. Thread rule: a value.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace tandem {

template <class T>
class Boxed {
  public:
    using value_type = T;

    Boxed() = default;
    Boxed(std::nullopt_t) {}
    Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
    Boxed(std::optional<T> value) {
        if (value) emplace(*std::move(value));
    }
    Boxed(const Boxed& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
    Boxed(Boxed&& other) noexcept = default;
    ~Boxed() = default;
    Boxed& operator=(const Boxed& other) {
        if (this != &other) *this = Boxed(other);
        return *this;
    }
    Boxed& operator=(Boxed&& other) noexcept = default;
    // A braced list too is a value.
    template <class U = T>
        requires std::constructible_from<T, U> && (!std::same_as<std::remove_cvref_t<U>, Boxed>)
    Boxed& operator=(U&& value) {
        emplace(std::forward<U>(value));
        return *this;
    }

    template <class... Args>
    T& emplace(Args&&... args) {
        value_ = std::make_unique<T>(std::forward<Args>(args)...);
        return *value_;
    }
    void reset() { value_.reset(); }
    bool has_value() const { return value_ != nullptr; }
    explicit operator bool() const { return has_value(); }
    T& operator*() { return *value_; }
    const T& operator*() const { return *value_; }
    T* operator->() { return value_.get(); }
    const T* operator->() const { return value_.get(); }
    T value_or(T other) const { return value_ ? *value_ : std::move(other); }
    operator std::optional<T>() const { return value_ ? std::optional<T>(*value_) : std::nullopt; }

    friend bool operator==(const Boxed& a, const Boxed& b) {
        return a.has_value() == b.has_value() && (!a || *a == *b);
    }
    friend bool operator==(const Boxed& a, std::nullopt_t) { return !a; }

  private:
    std::unique_ptr<T> value_{};
};

}  // namespace tandem

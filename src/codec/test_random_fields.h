// SPDX-License-Identifier: Apache-2.0
// RandomFields: the visitor of describe.h that fills a struct with seeded random values; for
// round-trip tests, fuzz seeds and benchmarks. Values are such that the wire can carry them
// (quantities not negative, UTF-8). Include the describe_*.h of what is filled. Thread rule: one
// owner.
#pragma once

#include <string>
#include <utility>

#include "base/random.h"
#include "base/time.h"
#include "codec/describe.h"
#include "model/object.h"
#include "model/queue.h"

namespace tandem::codec {

class RandomFields {
  public:
    explicit RandomFields(Random& random) : random_(random) {}

    void named(std::string_view) {}
    template <class T>
    void field(std::string_view, T& member, const Hint& = {}) {
        fill(member);
    }
    template <class T>
    void server_set(std::string_view, T& member, const Hint& = {}) {
        fill(member);
    }
    template <class T>
    void internal(std::string_view, T& member) {
        fill(member);
    }
    void milli(std::string_view, std::int64_t& member, const Hint& = {}) {
        member = random_.between(0, 1'000'000'000);
    }
    void bytes(std::string_view, std::int64_t& member, const Hint& = {}) {
        member = random_.between(0, std::int64_t{1} << 50);
    }
    void quota(std::string_view, std::int64_t& member, const Hint& = {}) {
        member = random_.between(-1, 5000);
    }

    void fill(bool& out) { out = random_.chance(500); }
    void fill(std::int64_t& out) {
        const std::int64_t bound = random_.chance(500) ? 10 : std::int64_t{1} << 62;
        out = random_.between(-bound, bound);
    }
    void fill(std::string& out) {
        static constexpr std::string_view pieces[] = {
            "a", "b-c", "\"",   "\\",   "\n",       "\t",           "/",
            " ", "0",   "\x01", "\x7f", "\xC3\xA9", "\xE4\xBD\xA0", "\xF0\x9F\x98\x80",
            ":", "{",   "true"};
        out.clear();
        for (std::uint64_t i = random_.below(6); i > 0; --i)
            out += pieces[random_.below(std::size(pieces))];
    }
    void fill(Instant& out) { out.ms = random_.between(0, 4'102'444'800'000); }
    void fill(Duration& out) {
        out.ms = random_.between(0, random_.chance(500) ? 10'000 : duration_max.ms);
    }
    void fill(Uid& out) { out = random_.draw_uid(); }
    void fill(RowId& out) { out.value = random_.between(0, 1'000'000); }
    void fill(Seed& out) { out = random_.draw_seed(); }
    void fill(model::TaskName& out) {
        out.generation = random_.between(0, 9);
        out.uid = random_.draw_uid();
        out.epoch = random_.between(0, 99);
        out.rank = random_.between(0, 9999);
    }
    void fill(std::map<std::string, std::string>& out) {
        out.clear();
        for (std::uint64_t i = random_.below(3); i > 0; --i) {
            std::string name;
            fill(name);
            fill(out[name]);
        }
    }
    void fill(std::map<std::string, std::int64_t>& out) {
        out.clear();
        for (std::uint64_t i = random_.below(3); i > 0; --i) {
            std::string name;
            fill(name);
            fill(out[name]);
        }
    }
    void fill(model::Reason& out) {
        out = {};
        enumerator(out.code);
        if (out.code == model::ReasonCode::none) return;
        for (std::uint64_t i = random_.below(3); i > 0; --i) {
            out.params.push_back({"p" + std::to_string(i), {}});
            fill(out.params.back().value);
        }
    }
    void fill(model::Object& out) {
        out = model::make_object(static_cast<model::Kind>(random_.below(model::kind_count)));
        std::visit([this](auto& body) { describe(*this, body); }, out);
    }
    template <class T>
    void fill(T& out) {
        if constexpr (std::is_enum_v<T>) {
            enumerator(out);
        } else if constexpr (is_optional<T>) {
            out.reset();
            if (random_.chance(500)) fill(out.emplace());
        } else if constexpr (is_vector<T>) {
            out.clear();
            for (std::uint64_t i = random_.below(4); i > 0; --i) fill(out.emplace_back());
        } else if constexpr (is_variant<T>) {
            const std::size_t index = random_.below(std::variant_size_v<T>);
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                ((I == index ? describe(*this, out.template emplace<I>()) : void()), ...);
            }(std::make_index_sequence<std::variant_size_v<T>>{});
        } else {
            describe(*this, out);
        }
    }

  private:
    template <class E>
    void enumerator(E& out) {
        out = static_cast<E>(random_.below(std::size(model::EnumNames<E>::values)));
    }
    Random& random_;
};

}  // namespace tandem::codec

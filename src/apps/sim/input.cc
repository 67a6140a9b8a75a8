// SPDX-License-Identifier: Apache-2.0
#include "apps/sim/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/quantity.h"

namespace tandem::apps {
namespace {

constexpr std::size_t seeds_max = 10'000;

struct Closer {
    void operator()(std::FILE* file) const {
        if (file != stdin) std::fclose(file);
    }
};

Status add_range(const std::string& word, std::vector<std::uint64_t>& seeds) {
    const std::size_t dots = word.find("..");
    TANDEM_LET(first, parse_integer(word.substr(0, dots)));
    std::int64_t last = first;
    if (dots != std::string::npos) {
        TANDEM_LET(end, parse_integer(word.substr(dots + 2)));
        last = end;
    }
    if (first < 0 || last < first)
        return fail(ErrorCode::invalid, "must be A or A..B with 0 <= A <= B");
    for (std::int64_t seed = first; seed <= last; ++seed) {
        if (seeds.size() == seeds_max) return fail(ErrorCode::invalid, "are more than 10000");
        const auto value = static_cast<std::uint64_t>(seed);
        if (std::ranges::find(seeds, value) == seeds.end()) seeds.push_back(value);
    }
    return {};
}

}  // namespace

Result<sim::TraceText> read_trace(const std::string& path) {
    const std::unique_ptr<std::FILE, Closer> file(path == "-" ? stdin
                                                              : std::fopen(path.c_str(), "rb"));
    if (!file) return fail(ErrorCode::invalid, fmt::format("{}: {}", path, std::strerror(errno)));
    std::string bytes;
    std::array<char, 1 << 16> chunk{};
    while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
        bytes.append(chunk.data(), got);
        if (bytes.size() > sim::trace_text_max) break;
    }
    if (std::ferror(file.get()))
        return fail(ErrorCode::invalid, fmt::format("{}: {}", path, std::strerror(errno)));
    return sim::open_trace(path, std::move(bytes));
}

Result<std::vector<std::uint64_t>> parse_seeds(const std::string& text) {
    std::vector<std::uint64_t> seeds;
    std::size_t at = 0;
    while (at <= text.size()) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        if (const Status added = add_range(text.substr(at, comma - at), seeds); !added)
            return invalid_field("--seeds", "--seeds: " + added.error().message);
        at = comma + 1;
    }
    return seeds;
}

int refuse(const std::string& verb, const Error& error) {
    std::fprintf(stderr, "tandem sim %s: %s\n", verb.c_str(), error.message.c_str());
    return 2;
}

}  // namespace tandem::apps

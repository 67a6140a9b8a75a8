// SPDX-License-Identifier: Apache-2.0
#include "executor/local/checkpoints.h"

#include <sys/stat.h>

#include <charconv>
#include <filesystem>

namespace tandem::executor {

namespace fs = std::filesystem;

namespace {

std::optional<std::int64_t> leading_number(std::string_view text) {
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    return value;
}

std::optional<std::int64_t> step_of(const std::string& name) {
    constexpr std::string_view prefix = "step-";
    if (!name.starts_with(prefix)) return std::nullopt;
    std::string_view digits = std::string_view(name).substr(prefix.size());
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
        return std::nullopt;
    }
    return leading_number(digits);
}

}  // namespace

std::int64_t parse_progress(std::string_view text) {
    constexpr std::string_view key = "\"step\"";
    if (std::size_t at = text.find(key); at != std::string_view::npos) {
        text.remove_prefix(at + key.size());
    }
    std::size_t digits = text.find_first_not_of(" \t\r\n:");
    if (digits == std::string_view::npos) return -1;
    return leading_number(text.substr(digits)).value_or(-1);
}

std::optional<CompleteCheckpoint> find_checkpoint(const std::string& folder, std::int64_t after) {
    std::optional<CompleteCheckpoint> best;
    std::error_code error;
    for (fs::directory_iterator each(folder, error), end; !error && each != end;
         each.increment(error)) {
        std::optional<std::int64_t> step = step_of(each->path().filename().string());
        if (!step || *step <= after || (best && *step <= best->step)) continue;
        std::string manifest = each->path().string() + "/manifest.json";
        struct stat facts{};
        if (stat(manifest.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
        best = CompleteCheckpoint{.step = *step,
                                  .path = each->path().string(),
                                  .manifest = manifest,
                                  .at_ms = static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1000 +
                                           facts.st_mtim.tv_nsec / 1'000'000};
    }
    return best;
}

}  // namespace tandem::executor

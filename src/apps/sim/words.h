// SPDX-License-Identifier: Apache-2.0
// The words after a verb of tandem-sim: options with a value, switches, nothing else. Each option
// is asked for once; finish() refuses what nobody asked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace tandem::apps {

class Words {
  public:
    // `switches` take no value.
    static Result<Words> read(const std::vector<std::string>& words,
                              const std::vector<std::string>& switches);
    bool has(const std::string& name);
    Result<std::string> need(const std::string& name);
    std::string or_else(const std::string& name, const std::string& otherwise);
    Result<std::int64_t> integer(const std::string& name, std::int64_t low, std::int64_t high,
                                 std::int64_t otherwise);
    // One of these, and which.
    Result<std::string> choice(const std::string& name, const std::vector<std::string>& choices,
                               const std::string& otherwise);
    Status finish() const;

  private:
    std::map<std::string, std::string> given_{};
    std::map<std::string, bool> asked_{};
};

// What a verb found: printed as one JSON object, or as a table.
struct Figure {
    std::string key{};
    std::string text{};
    bool is_text = false;  // quoted in JSON
};
void print_figures(const std::vector<Figure>& figures, bool as_json);
// An exact fraction, rounded half away from zero to `digits` places: "9.516326".
std::string render_fraction(std::int64_t numerator, std::int64_t denominator, int digits);
// Writes a file whole; the error names it.
Status write_text(const std::string& path, const std::string& text);

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
#include "sim/place/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace tandem::sim {
namespace {

// Percent with four decimals.
std::string number(std::int64_t scaled) {
    return fmt::format("{}.{:04}", scaled / percent_scale, scaled % percent_scale);
}

std::string curve_json(const Curve& curve) {
    std::string out;
    for (const auto& [percent, value] : curve)
        out += fmt::format("{}\"{}\": {}", out.empty() ? "" : ", ", percent, number(value));
    return "{" + out + "}";
}

std::string curves_json(const std::vector<std::uint64_t>& seeds,
                        const std::vector<PlaceCurves>& runs, Curve PlaceCurves::* which) {
    std::string out = "{\"mean\": " + curve_json(mean_of(runs).*which) + ", \"per_seed\": {";
    for (std::size_t i = 0; i < runs.size(); ++i)
        out +=
            fmt::format("{}\"{}\": {}", i == 0 ? "" : ", ", seeds[i], curve_json(runs[i].*which));
    return out + "}}";
}

std::string both_json(const std::vector<std::uint64_t>& seeds,
                      const std::vector<PlaceCurves>& runs) {
    return "\"allocation\": " + curves_json(seeds, runs, &PlaceCurves::allocation) +
           ", \"fragmented\": " + curves_json(seeds, runs, &PlaceCurves::fragmented);
}

}  // namespace

std::string render_json(const PlaceAnswer& answer) {
    std::string out = fmt::format("{{\"policy\": \"{}\", \"seeds\": [{}], \"shuffle\": \"{}\", ",
                                  sched::policy_names[static_cast<std::size_t>(answer.policy)],
                                  fmt::join(answer.seeds, ", "), shuffle_name);
    out += both_json(answer.seeds, answer.runs);
    if (!answer.learned.empty())
        out += ", \"learned_mix\": {" + both_json(answer.seeds, answer.learned) + "}";
    return out + "}\n";
}

std::string render_table(const PlaceAnswer& answer) {
    const PlaceCurves mean = mean_of(answer.runs);
    const PlaceCurves learned = mean_of(answer.learned);
    std::string out = fmt::format("policy {}, {} seeds, shuffle {}\n",
                                  sched::policy_names[static_cast<std::size_t>(answer.policy)],
                                  answer.seeds.size(), shuffle_name);
    out += fmt::format("{:>9} {:>11} {:>11}", "arrived %", "allocated %", "fragmented %");
    if (!answer.learned.empty()) out += fmt::format(" {:>20}", "with a learned mix %");
    out += '\n';
    for (const auto& [percent, value] : mean.allocation) {
        if (percent % 5 != 0 && percent != mean.allocation.rbegin()->first) continue;
        out += fmt::format("{:>9} {:>11} {:>12}", percent, number(value),
                           number(mean.fragmented.at(percent)));
        if (!answer.learned.empty())
            out += fmt::format(" {:>20}", number(learned.allocation.at(percent)));
        out += '\n';
    }
    return out;
}

}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
#include "sim/place/workload.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/random.h"
#include "base/wide.h"
#include "sim/trace/csv.h"

namespace tandem::sim {
namespace {

constexpr std::int64_t cpu_max = 1'000'000'000;
constexpr std::int64_t memory_max = 1'000'000'000'000;
constexpr std::int64_t devices_max = 1024;
constexpr std::size_t pods_max = 20'000'000;

using Models = std::map<std::string, int, std::less<>>;

int model_number(Models& models, PlaceWorkload& work, std::string_view name) {
    const auto [at, added] =
        models.try_emplace(std::string(name), static_cast<int>(work.models.size()));
    if (added) work.models.emplace_back(name);
    return at->second;
}

Status read_nodes(const TraceText& trace, PlaceWorkload& work, Models& models) {
    TANDEM_LET(csv, CsvReader::open(trace));
    TANDEM_LET(name, csv.column("sn"));
    TANDEM_LET(cpu, csv.column("cpu_milli"));
    TANDEM_LET(memory, csv.column("memory_mib"));
    TANDEM_LET(devices, csv.column("gpu"));
    TANDEM_LET(model, csv.column("model"));
    std::set<std::string, std::less<>> seen;
    while (true) {
        TANDEM_LET(more, csv.next());
        if (!more) break;
        PlaceNode node{.name = std::string(csv.text(name))};
        TANDEM_LET(cpu_milli, csv.integer(cpu, 0, cpu_max));
        TANDEM_LET(memory_mib, csv.integer(memory, 0, memory_max));
        TANDEM_LET(count, csv.integer(devices, 0, devices_max));
        node.cpu_milli = cpu_milli;
        node.memory_mib = memory_mib;
        node.devices = count;
        if (node.name.empty()) return csv.error(name, "must not be empty");
        if (!seen.insert(node.name).second)
            return csv.error(name, "stands twice: \"" + node.name + "\"");
        if (count > 0 && csv.text(model).empty())
            return csv.error(model, "must name the model of the node's devices");
        node.model = model_number(models, work, csv.text(model));
        work.total_milli += count * 1000;
        work.nodes.push_back(std::move(node));
    }
    if (work.total_milli == 0) return trace_error(trace, 0, "gpu", "no node has a device");
    return {};
}

Result<sched::Ask> read_ask(const CsvReader& csv, CsvColumn cpu, CsvColumn count, CsvColumn each) {
    TANDEM_LET(cpu_milli, csv.integer(cpu, 0, cpu_max));
    TANDEM_LET(devices, csv.integer(count, 0, devices_max));
    TANDEM_LET(milli, csv.integer(each, 0, 1000));
    if (devices > 0 && milli == 0) return csv.error(each, "must be 1..1000 where num_gpu is not 0");
    if (devices > 1 && milli != 1000)
        return csv.error(each, "must be 1000 where num_gpu is above 1");
    return sched::Ask{.cpu_milli = cpu_milli, .devices = devices * milli};
}

std::vector<int> read_models(std::string_view text, Models& models, PlaceWorkload& work) {
    std::vector<int> found;
    while (!text.empty()) {
        const std::size_t bar = std::min(text.find('|'), text.size());
        if (bar > 0) found.push_back(model_number(models, work, text.substr(0, bar)));
        text.remove_prefix(std::min(bar + 1, text.size()));
    }
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return found;
}

Status read_pods(const TraceText& trace, PlaceWorkload& work, Models& models) {
    TANDEM_LET(csv, CsvReader::open(trace));
    TANDEM_LET(name, csv.column("name"));
    TANDEM_LET(cpu, csv.column("cpu_milli"));
    TANDEM_LET(memory, csv.column("memory_mib"));
    TANDEM_LET(count, csv.column("num_gpu"));
    TANDEM_LET(each, csv.column("gpu_milli"));
    const auto models_asked = csv.find("gpu_spec");
    std::map<sched::MixShape, int> known;
    while (true) {
        TANDEM_LET(more, csv.next());
        if (!more) break;
        if (work.pods.size() == pods_max) return csv.error(name, "is beyond 20 million rows");
        TANDEM_LET(ask, read_ask(csv, cpu, count, each));
        TANDEM_LET(memory_mib, csv.integer(memory, 0, memory_max));
        sched::MixShape shape{.ask = ask};
        if (models_asked && ask.devices > 0)
            shape.flavors = read_models(csv.text(*models_asked), models, work);
        const auto [at, added] = known.try_emplace(shape, static_cast<int>(work.shapes.size()));
        if (added) work.shapes.push_back({shape, 0});
        work.shapes[static_cast<std::size_t>(at->second)].count += 1;
        work.demand_milli += ask.devices;
        work.pods.push_back({std::string(csv.text(name)), memory_mib, at->second});
    }
    if (work.pods.empty()) return trace_error(trace, 0, {}, "has no pods");
    std::ranges::sort(work.pods, [](const PlacePod& a, const PlacePod& b) {
        if (a.name != b.name) return a.name < b.name;
        return std::tie(a.shape, a.memory_mib) < std::tie(b.shape, b.memory_mib);
    });
    if (work.demand_milli == 0)
        return trace_error(trace, 0, "num_gpu", "no pod asks for a device: no load can be reached");
    return {};
}

void shuffle(std::vector<int>& places, Random random) {
    for (std::size_t left = places.size(); left > 1; --left) {
        const std::uint64_t drawn = random.below(left);
        std::swap(places[left - 1], places[static_cast<std::size_t>(drawn)]);
    }
}

std::vector<int> all_places(std::size_t size) {
    std::vector<int> places(size);
    std::iota(places.begin(), places.end(), 0);
    return places;
}

}  // namespace

Result<PlaceWorkload> read_place_workload(const TraceText& nodes, const TraceText& pods) {
    PlaceWorkload work;
    Models models;
    TANDEM_TRY(read_nodes(nodes, work, models));
    TANDEM_TRY(read_pods(pods, work, models));
    return work;
}

std::vector<int> arrivals_of(const PlaceWorkload& work, std::uint64_t seed, std::int64_t load) {
    const auto milli_of = [&work](int pod) {
        const PlacePod& which = work.pods[static_cast<std::size_t>(pod)];
        return work.shapes[static_cast<std::size_t>(which.shape)].shape.ask.devices;
    };
    const Random random(seed_from(seed));
    std::vector<int> places = all_places(work.pods.size());
    shuffle(places, random.fork("arrivals"));
    Random tuning = random.fork("load");
    const std::int64_t target =
        static_cast<std::int64_t>(static_cast<Wide>(work.total_milli) * load / 100);
    std::int64_t demand = work.demand_milli;
    while (demand < target) {
        const std::uint64_t drawn = tuning.below(work.pods.size());
        places.push_back(static_cast<int>(drawn));
        demand += milli_of(places.back());
    }
    std::vector<bool> removed(places.size());
    while (demand > target) {
        const std::uint64_t drawn = tuning.below(places.size());
        if (removed[drawn]) continue;
        const std::int64_t milli = milli_of(places[drawn]);
        if (target - (demand - milli) > demand - target) break;  // farther off than it is now
        removed[drawn] = true;
        demand -= milli;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!removed[i]) places[kept++] = places[i];
    }
    places.resize(kept);
    return places;
}

std::vector<int> ranks_of(const PlaceWorkload& work, std::uint64_t seed) {
    std::vector<int> places = all_places(work.nodes.size());
    shuffle(places, Random(seed_from(seed)).fork("ranks"));
    return places;
}

}  // namespace tandem::sim

// SPDX-License-Identifier: Apache-2.0
#include "executor/local/nvidia.h"

#include <map>
#include <string>

#include "base/quantity.h"

namespace tandem::executor {

namespace {

constexpr std::string_view table_source = "nvidia-smi --query-gpu";
constexpr std::string_view log_source = "nvidia-smi -q -x";
constexpr std::int64_t mebibyte = 1 << 20;

std::string_view trim(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\t')) {
        text.remove_suffix(1);
    }
    return text;
}

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    while (true) {
        std::size_t end = text.find(at);
        parts.push_back(trim(text.substr(0, end)));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

bool is_absent(std::string_view value) {
    return value.empty() || value.starts_with("[N/A]") || value.starts_with("[Not Supported]") ||
           value == "N/A";
}

using Row = std::map<std::string, std::string, std::less<>>;

Result<model::Device> device_of(const Row& row) {
    auto text = [&](std::string_view key) {
        auto found = row.find(key);
        return found == row.end() ? std::string() : found->second;
    };
    Result<std::int64_t> index = parse_integer(text("index"));
    if (!index)
        return invalid_field("index", "nvidia-smi: must be a number, is \"" + text("index") + "\"");
    model::Device device{.index = *index, .uuid = text("uuid"), .model = text("name")};
    if (!device.uuid.starts_with("GPU-") && !device.uuid.starts_with("MIG-")) {
        return invalid_field("uuid",
                             "nvidia-smi: must start with GPU-, is \"" + device.uuid + "\"");
    }
    device.flavor = flavor_of(device.model);
    std::string memory = text("memory.total");  // "81920 MiB"; bare with nounits
    Result<std::int64_t> mebibytes = parse_integer(memory.substr(0, memory.find(' ')));
    if (mebibytes && *mebibytes > 0 && *mebibytes < (std::int64_t{1} << 32)) {
        device.memory_bytes = *mebibytes * mebibyte;
    }
    return device;
}

void add_facts(const Row& row, std::int64_t index, std::vector<model::Fact>& facts) {
    for (const auto& [name, value] : row) {
        if (name == "index" || is_absent(value)) continue;
        facts.push_back({.name = "gpu" + std::to_string(index) + "." + name,
                         .value = value,
                         .source = std::string(table_source)});
    }
}

std::vector<std::string> columns_of(std::string_view header) {
    std::vector<std::string> columns;
    for (std::string_view column : split(header, ',')) {
        columns.emplace_back(trim(column.substr(0, column.find('['))));  // "memory.total [MiB]"
    }
    return columns;
}

// Text of the first <tag> in `xml` from `at` on, before `end`.
std::string_view element(std::string_view xml, std::string_view tag) {
    std::string open = "<" + std::string(tag) + ">";
    std::string close = "</" + std::string(tag) + ">";
    std::size_t from = xml.find(open);
    if (from == std::string_view::npos) return {};
    from += open.size();
    std::size_t to = xml.find(close, from);
    return to == std::string_view::npos ? std::string_view() : trim(xml.substr(from, to - from));
}

}  // namespace

std::string flavor_of(std::string_view model) {
    std::string flavor;
    for (char c : model) {
        bool upper = c >= 'A' && c <= 'Z';
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (upper || plain) {
            flavor += upper ? static_cast<char>(c - 'A' + 'a') : c;
        } else if (!flavor.empty() && flavor.back() != '-') {
            flavor += '-';
        }
    }
    while (!flavor.empty() && flavor.back() == '-') flavor.pop_back();
    return flavor.starts_with("nvidia") ? flavor : "nvidia-" + flavor;
}

Result<NvidiaReading> parse_nvidia_table(std::string_view csv) {
    std::vector<std::string_view> lines = split(csv, '\n');
    std::vector<std::string> columns = columns_of(lines.front());
    NvidiaReading reading;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        if (lines[i].empty()) continue;
        std::vector<std::string_view> values = split(lines[i], ',');
        if (values.size() != columns.size()) {
            return fail(ErrorCode::invalid, "nvidia-smi: line " + std::to_string(i + 1) + " has " +
                                                std::to_string(values.size()) + " values for " +
                                                std::to_string(columns.size()) + " columns");
        }
        Row row;
        for (std::size_t at = 0; at < columns.size(); ++at) row[columns[at]] = values[at];
        TANDEM_LET(device, device_of(row));
        add_facts(row, device.index, reading.facts);
        reading.devices.push_back(std::move(device));
    }
    return reading;
}

std::vector<model::Fact> parse_nvidia_log(std::string_view xml) {
    std::vector<model::Fact> facts;
    auto add = [&](std::string name, std::string_view value) {
        if (is_absent(value)) return;
        facts.push_back({std::move(name), std::string(value), std::string(log_source)});
    };
    add("gpu.driver_version", element(xml, "driver_version"));
    add("gpu.cuda_version", element(xml, "cuda_version"));
    std::int64_t index = 0;
    for (std::size_t at = xml.find("<gpu id="); at != std::string_view::npos; ++index) {
        std::size_t end = xml.find("</gpu>", at);
        std::string_view gpu = xml.substr(at, end == std::string_view::npos ? end : end - at);
        std::string name = "gpu" + std::to_string(index) + ".";
        add(name + "product_brand", element(gpu, "product_brand"));
        add(name + "product_architecture", element(gpu, "product_architecture"));
        add(name + "current_ecc", element(gpu, "current_ecc"));
        add(name + "vbios_version", element(gpu, "vbios_version"));
        at = end == std::string_view::npos ? end : xml.find("<gpu id=", end);
    }
    return facts;
}

}  // namespace tandem::executor

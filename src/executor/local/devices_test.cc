// SPDX-License-Identifier: Apache-2.0
#include "executor/local/devices.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

namespace tandem::executor {
namespace {

// Output of `nvidia-smi --query-gpu=... --format=csv` as published in the test data of a public
// exporter: github.com/utkuozdemir/nvidia_gpu_exporter, internal/exporter/testdata/query.txt.
constexpr std::string_view exporter_table =
    "uuid, name, driver_model.current, driver_model.pending, vbios_version, driver_version, "
    "fan.speed [%], "
    "memory.used [MiB], pci.bus_id, serial, compute_cap, pci.sub_device_id, index\n"
    "GPU-df6e7a7c-7314-46f8-abc4-b88b36dcf3aa, NVIDIA GeForce RTX 2080 SUPER, WDDM, WDDM, "
    "90.04.7a.40.73, "
    "466.63, 38 %, 575 MiB, 00000000:01:00.0, [N/A], 7.5, 0x40051458, 0\n"
    "GPU-04757e3e-3077-4e2e-b988-7e2d647b52e9, Some Other GPU, DoesntMatter, DoesntMatter, "
    "1a.2b.3c.4d, "
    "123.45, 50 %, 1234 MiB, 00000000:02:00.0, [N/A], 8.6, 0x12345678, 1\n";

// Lines of `nvidia-smi -q -x` as published in the test data of Telegraf's plugin:
// github.com/influxdata/telegraf, plugins/inputs/nvidia_smi/testdata/a100-sxm4-v12.xml, elements
// that are not read left out.
constexpr std::string_view telegraf_log = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
    <driver_version>535.54.03</driver_version>
    <cuda_version>12.2</cuda_version>
    <attached_gpus>4</attached_gpus>
    <gpu id="00000000:01:00.0">
        <product_name>NVIDIA A100-SXM4-80GB</product_name>
        <product_brand>NVIDIA</product_brand>
        <product_architecture>Ampere</product_architecture>
        <uuid>GPU-513536b6-7d19-9063-b049-1e69664bb298</uuid>
        <vbios_version>92.00.36.00.02</vbios_version>
        <fan_speed>N/A</fan_speed>
        <ecc_mode>
            <current_ecc>Enabled</current_ecc>
        </ecc_mode>
    </gpu>
</nvidia_smi_log>
)";

std::string fact(const std::vector<model::Fact>& facts, std::string_view name) {
    for (const model::Fact& each : facts) {
        if (each.name == name) return each.value;
    }
    return "(absent)";
}

TEST(Nvidia, published_table_gives_devices_and_facts) {
    Result<NvidiaReading> reading = parse_nvidia_table(exporter_table);
    ASSERT_TRUE(reading) << reading.error().message;
    ASSERT_EQ(reading->devices.size(), 2u);
    const model::Device& first = reading->devices[0];
    EXPECT_EQ(first.index, 0);
    EXPECT_EQ(first.uuid, "GPU-df6e7a7c-7314-46f8-abc4-b88b36dcf3aa");
    EXPECT_EQ(first.model, "NVIDIA GeForce RTX 2080 SUPER");
    EXPECT_EQ(first.flavor, "nvidia-geforce-rtx-2080-super");
    EXPECT_EQ(first.memory_bytes, 0) << "the table has no memory.total";
    EXPECT_EQ(reading->devices[1].index, 1);
    EXPECT_EQ(fact(reading->facts, "gpu0.driver_version"), "466.63");
    EXPECT_EQ(fact(reading->facts, "gpu1.pci.bus_id"), "00000000:02:00.0");
    EXPECT_EQ(fact(reading->facts, "gpu0.serial"), "(absent)");
    EXPECT_EQ(reading->facts[0].source, "nvidia-smi --query-gpu");
}

// Unit as nvidia-smi(1) documents it for --format=csv; with nounits the number stands alone.
TEST(Nvidia, memory_is_read_with_and_without_unit) {
    for (std::string_view value : {"81920 MiB", "81920"}) {
        auto reading = parse_nvidia_table("index, uuid, name, memory.total [MiB]\n0, GPU-1, X, " +
                                          std::string(value) + "\n");
        ASSERT_TRUE(reading);
        EXPECT_EQ(reading->devices[0].memory_bytes, std::int64_t{80} << 30);
    }
}

TEST(Nvidia, damaged_tables_are_refused_by_column) {
    EXPECT_EQ(parse_nvidia_table("index, uuid, name\nx, GPU-1, A\n").error().field, "index");
    EXPECT_EQ(parse_nvidia_table("index, uuid, name\n0, 12, A\n").error().field, "uuid");
    EXPECT_FALSE(parse_nvidia_table("index, uuid, name\n0, GPU-1\n"));
    EXPECT_TRUE(parse_nvidia_table("")->devices.empty());
    EXPECT_FALSE(parse_nvidia_table("No devices were found\nx\n"));
}

TEST(Nvidia, published_log_gives_facts) {
    std::vector<model::Fact> facts = parse_nvidia_log(telegraf_log);
    EXPECT_EQ(fact(facts, "gpu.cuda_version"), "12.2");
    EXPECT_EQ(fact(facts, "gpu.driver_version"), "535.54.03");
    EXPECT_EQ(fact(facts, "gpu0.product_architecture"), "Ampere");
    EXPECT_EQ(fact(facts, "gpu0.current_ecc"), "Enabled");
    EXPECT_TRUE(parse_nvidia_log("<gpu id=").empty());
    EXPECT_TRUE(parse_nvidia_log("").empty());
}

TEST(Devices, slices_default_to_one_a_core) {
    auto slices = make_cpu_slices({0, 1, 4}, {});
    ASSERT_EQ(slices->size(), 3u);
    EXPECT_EQ((*slices)[2].cores, (std::vector<std::int64_t>{4}));
    EXPECT_EQ((*slices)[2].flavor, "cpu-slice");
    EXPECT_FALSE((*slices)[2].over_committed);
}

TEST(Devices, fewer_slices_than_cores_share_them_out) {
    auto slices = make_cpu_slices({0, 1, 2, 3, 4}, {.cpu_slices = 2});
    EXPECT_EQ((*slices)[0].cores, (std::vector<std::int64_t>{0, 1}));
    EXPECT_EQ((*slices)[1].cores, (std::vector<std::int64_t>{2, 3, 4}));
}

TEST(Devices, over_commit_only_when_asked_for_and_shown) {
    auto refused = make_cpu_slices({0, 1}, {.cpu_slices = 3});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().field, "--slices");
    auto slices = make_cpu_slices({0, 1}, {.over_commit = 500});
    ASSERT_EQ(slices->size(), 1000u);
    EXPECT_TRUE((*slices)[0].over_committed);
    EXPECT_EQ((*slices)[999].cores, (std::vector<std::int64_t>{1}));
    EXPECT_EQ(make_cpu_slices({0}, {.over_commit = 0}).error().field, "--over-commit");
}

std::string make_tool(const char* name, const std::string& body) {
    std::string path = testing::TempDir() + name;
    std::ofstream(path) << "#!/bin/sh\n" << body;
    chmod(path.c_str(), 0755);
    return path;
}

TEST(Devices, tool_there_gives_gpus_and_no_slices) {
    std::string table = testing::TempDir() + "table.csv";
    std::ofstream(table) << exporter_table;
    auto found = discover_devices({.nvidia_smi = make_tool("smi-good", "cat " + table + "\n")});
    ASSERT_TRUE(found);
    ASSERT_EQ(found->devices.size(), 2u);
    EXPECT_EQ(found->devices[0].uuid, "GPU-df6e7a7c-7314-46f8-abc4-b88b36dcf3aa");
    EXPECT_GT(found->memory_bytes, 0);
    auto both = discover_devices({.cpu_slices = 1, .nvidia_smi = testing::TempDir() + "smi-good"});
    ASSERT_EQ(both->devices.size(), 3u);
    EXPECT_EQ(both->devices[2].index, 2);
}

TEST(Devices, tool_missing_or_failing_gives_slices) {
    auto missing = discover_devices({.nvidia_smi = "/no/such/tool"});
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->devices.size(), usable_cores().size());
    EXPECT_EQ(missing->warning, "");
    auto failing = discover_devices({.nvidia_smi = make_tool("smi-bad", "exit 9\n")});
    ASSERT_TRUE(failing);
    EXPECT_EQ(failing->devices[0].flavor, "cpu-slice");
    EXPECT_NE(failing->warning, "");
}

}  // namespace
}  // namespace tandem::executor

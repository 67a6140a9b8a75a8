// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>
#include <type_traits>

#include "telemetry/log.h"
#include "telemetry/meters.h"
#include "telemetry/metrics.h"
#include "telemetry/process.h"

namespace tandem::telemetry {
namespace {

static_assert(!std::is_constructible_v<Field, std::string_view, Secret>);
static_assert(!std::is_constructible_v<Field, std::string_view, const Secret&>);

class LogFile : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "logXXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        path_ = pattern + "/log";
    }
    void TearDown() override {
        ::unlink(path_.c_str());
        ::rmdir(path_.substr(0, path_.rfind('/')).c_str());
    }
    std::string text() const {
        std::stringstream all;
        all << std::ifstream(path_).rdbuf();
        return all.str();
    }
    // A line from its level on; the time before it varies.
    std::string tail() const {
        std::string line = text();
        return line.substr(line.find("\"level\""));
    }
    std::string path_;
};

TEST_F(LogFile, line_with_fields_is_one_json_object) {
    auto log = Log::to_file(path_).value();
    log.with({{"request", "r1"}})
        .info("ready", {{"port", 8080}, {"tls", true}, {"address", "::1"}});
    EXPECT_EQ(tail(),
              "\"level\":\"info\",\"msg\":\"ready\",\"request\":\"r1\",\"port\":8080,\"tls\":true,"
              "\"address\":\"::1\"}\n");
    EXPECT_EQ(text().substr(0, 9), "{\"time\":\"");
}

TEST_F(LogFile, control_and_broken_bytes_are_escaped) {
    auto log = Log::to_file(path_).value();
    log.warn("a\nb\x1b[0m", {{"v", std::string_view("q\"\\\0\xff\xc3\xa9\xed\xa0\x80", 10)}});
    EXPECT_EQ(tail(),
              "\"level\":\"warn\",\"msg\":\"a\\nb\\u001b[0m\","
              "\"v\":\"q\\\"\\\\\\u0000\\ufffd\xc3\xa9\\ufffd\\ufffd\\ufffd\"}\n");
}

TEST_F(LogFile, braces_are_not_a_format) {
    auto log = Log::to_file(path_).value();
    log.info("{} {0:x} %v");
    EXPECT_EQ(tail(), "\"level\":\"info\",\"msg\":\"{} {0:x} %v\"}\n");
}

TEST_F(LogFile, huge_value_is_cut_and_marked) {
    auto log = Log::to_file(path_).value();
    std::string huge(1 << 20, 'x');
    log.info("m", {{"a", huge}, {"b", huge}, {"c", huge}, {"d", huge}, {"e", huge}});
    EXPECT_LT(text().size(), 70000u);
    EXPECT_TRUE(text().ends_with("\"cut\":true}\n"));
}

TEST_F(LogFile, level_below_least_is_not_written) {
    auto log = Log::to_file(path_, Level::warn).value();
    log.info("no");
    EXPECT_EQ(text(), "");
    log.set_level(Level::debug);
    log.debug("yes");
    EXPECT_NE(text(), "");
}

TEST_F(LogFile, file_has_mode_0600_and_lines_of_threads_stay_whole) {
    auto log = Log::to_file(path_).value();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 200; ++i) log.info("line", {{"i", i}});
        });
    for (auto& thread : threads) thread.join();
    struct stat info{};
    ASSERT_EQ(::stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0600u);
    std::istringstream lines(text());
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count)
        EXPECT_TRUE(line.starts_with("{\"time\"") && line.ends_with("}")) << line;
    EXPECT_EQ(count, 800);
}

TEST(log, file_in_missing_folder_is_an_error) {
    EXPECT_EQ(Log::to_file("/nonexistent/x").error().code, ErrorCode::invalid);
}

TEST(log, default_log_writes_nowhere) {
    Log log;
    log.error("lost");
    EXPECT_FALSE(log.enabled(Level::error));
}

TEST(level, text_round_trip) {
    EXPECT_EQ(parse_level("warn").value(), Level::warn);
    EXPECT_FALSE(parse_level("loud"));
}

TEST(metrics, counter_gauge_histogram_are_rendered) {
    Metrics metrics;
    metrics.counter("requests_total", "Requests.", {{"code", "200"}}).add(2);
    metrics.counter("requests_total", "Requests.", {{"code", "200"}}).add();
    metrics.gauge("live", "Live.").set(7);
    metrics.histogram("wait_seconds", "Wait.", {0.1, 1}).observe(0.5);
    std::string text = metrics.render_prometheus_text();
    EXPECT_NE(text.find("# TYPE requests_total counter"), std::string::npos) << text;
    EXPECT_NE(text.find("requests_total{code=\"200\"} 3"), std::string::npos) << text;
    EXPECT_NE(text.find("live 7"), std::string::npos) << text;
    EXPECT_NE(text.find("wait_seconds_bucket{le=\"0.1\"} 0"), std::string::npos) << text;
    EXPECT_NE(text.find("wait_seconds_bucket{le=\"1\"} 1"), std::string::npos) << text;
}

TEST(metrics, handle_outlives_the_registry) {
    Counter counter;
    {
        Metrics metrics;
        counter = metrics.counter("a_total", "A.");
    }
    counter.add();
    EXPECT_EQ(counter.value(), 1);
}

TEST(metrics, label_sets_beyond_the_bound_share_one) {
    Metrics metrics;
    for (int i = 0; i < 1010; ++i)
        metrics.counter("a_total", "A.", {{"key", std::to_string(i)}}).add();
    EXPECT_EQ(metrics.counter("a_total", "A.", {{"key", "never seen"}}).value(), 10);
}

TEST(metrics, a_hold_counts_for_as_long_as_it_lives) {
    Metrics metrics;
    const Gauge gauge = metrics.gauge("open", "Open.");
    {
        const GaugeHold one(gauge);
        const GaugeHold two(gauge);
        EXPECT_EQ(gauge.value(), 2);
    }
    EXPECT_EQ(gauge.value(), 0);
}

TEST(metrics, a_counter_is_raised_to_what_another_part_says_and_never_lowered) {
    Metrics metrics;
    const Counter counter = metrics.counter("a_total", "A.");
    raise_to(counter, 5);
    raise_to(counter, 3);
    EXPECT_EQ(counter.value(), 5);
    raise_to(counter, 6);
    EXPECT_EQ(counter.value(), 6);
}

TEST(process, tells_memory_processor_and_descriptors) {
    Metrics metrics;
    measure_process(metrics);
    set_build_info(metrics, "1.2.3");
    EXPECT_GT(metrics.gauge("process_resident_memory_bytes", "Memory that is in RAM.").value(),
              1e6);
    EXPECT_GT(metrics.gauge("process_open_fds", "Open descriptors.").value(), 2);
    EXPECT_NE(metrics.render_prometheus_text().find("version=\"1.2.3\""), std::string::npos);
}

}  // namespace
}  // namespace tandem::telemetry

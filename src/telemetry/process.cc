// SPDX-License-Identifier: Apache-2.0
#include "telemetry/process.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

namespace tandem::telemetry {
namespace {

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void measure_memory(Metrics& metrics) {
    std::ifstream file("/proc/self/statm");
    std::int64_t all = 0;
    std::int64_t resident = 0;
    if (!(file >> all >> resident)) return;
    metrics.gauge("process_resident_memory_bytes", "Memory that is in RAM.")
        .set(static_cast<double>(resident * ::sysconf(_SC_PAGESIZE)));
}

void measure_processor(Metrics& metrics) {
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) != 0) return;
    metrics.gauge("process_cpu_seconds", "Processor time so far, user and system.")
        .set(seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
}

void measure_descriptors(Metrics& metrics) {
    DIR* folder = ::opendir("/proc/self/fd");
    if (!folder) return;
    double count = -3;  // ".", ".." and the folder itself
    while (::readdir(folder)) ++count;
    ::closedir(folder);
    metrics.gauge("process_open_fds", "Open descriptors.").set(count);
}

}  // namespace

void measure_process(Metrics& metrics) {
    measure_memory(metrics);
    measure_processor(metrics);
    measure_descriptors(metrics);
}

void set_build_info(Metrics& metrics, const std::string& version) {
    metrics
        .gauge("tandem_build_info", "1; what runs here.",
               {{"version", version}, {"compiler", __VERSION__}})
        .set(1);
}

}  // namespace tandem::telemetry

// SPDX-License-Identifier: Apache-2.0
// Plays one of Kueue's generator files against a stage-server in real time: makes the queues, creates every workload
// when it is due, in batches of what came due meanwhile, and waits until nobody waits or runs.
//
//   kueue-load GENERATOR shape           prints: nodes, devices of each, flavor
//   kueue-load GENERATOR PORT            the key in TANDEM_API_KEY; prints: seconds from the first creation to the
//                                        last end, workloads
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "rest_line.h"
#include "sim/workload/kueue.h"

namespace tandem::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t batch_max = 1000;
constexpr auto tick = std::chrono::milliseconds(10);

std::string batch_of(const std::vector<std::string>& documents) {
    std::string body = "{\"actions\":[";
    for (std::size_t i = 0; i < documents.size(); ++i) body += (i > 0 ? ",{\"create\":" : "{\"create\":") + documents[i] + "}";
    return body + "]}";
}

std::string queue_text(const sim::KueueLoad& load, const sim::KueueQueue& queue) {
    const auto units = [&](std::int64_t milli) { return milli / load.unit_milli; };
    std::string quota = fmt::format(R"({{"flavor":"{}","nominal":"{}")", sim::kueue_flavor, units(queue.nominal_milli));
    if (queue.borrow_milli >= 0) quota += fmt::format(R"(,"borrowLimit":"{}")", units(queue.borrow_milli));
    return fmt::format(R"({{"apiVersion":"tandem/v1","kind":"Queue","metadata":{{"name":"{}"}},"spec":{{"parent":"{}","quotas":[{}}}],)"
                       R"("preemption":{{"reclaim":"{}","withinQueue":"{}"}}}}}})",
                       queue.name, queue.cohort, quota, queue.reclaims ? "any" : "never",
                       queue.preempts_lower ? "lowerPriority" : "never");
}

std::vector<std::string> queue_texts(const sim::KueueLoad& load) {
    std::vector<std::string> texts;
    std::string cohort;
    for (const sim::KueueQueue& queue : load.queues) {
        if (queue.cohort != cohort)
            texts.push_back(fmt::format(R"({{"apiVersion":"tandem/v1","kind":"Queue","metadata":{{"name":"{}"}},"spec":{{}}}})", queue.cohort));
        cohort = queue.cohort;
        texts.push_back(queue_text(load, queue));
    }
    return texts;
}

std::string job_text(const sim::KueueLoad& load, const sim::KueueWork& work) {
    return fmt::format(R"({{"apiVersion":"tandem/v1","kind":"Job","metadata":{{"name":"{}","project":"default","namespace":"default"}},)"
                       R"("spec":{{"queue":"{}","priority":{},"command":["work","{}"],"roles":[{{"name":"worker","replicas":{},)"
                       R"("resources":{{"devices":"{}","flavor":"{}"}}}}]}}}})",
                       work.name, work.queue, work.priority, work.run_time.ms, work.pods, work.request_milli / load.unit_milli,
                       sim::kueue_flavor);
}

// Nobody waits and nobody holds anything.
bool all_is_over(RestLine& line) {
    const std::string view = line.get("/api/v1/queues-view");
    for (const std::string_view field : {"\"usedMilli\":", "\"waiting\":"}) {
        for (std::size_t at = view.find(field); at != std::string::npos; at = view.find(field, at + 1))
            if (view[at + field.size()] != '0') return false;
    }
    return true;
}

int play(const sim::KueueLoad& load, int port, const char* key) {
    RestLine line(port, key);
    std::vector<std::string> queues = queue_texts(load);
    for (std::size_t at = 0; at < queues.size(); at += batch_max) {
        const std::size_t end = std::min(queues.size(), at + batch_max);
        line.post_batch(batch_of({queues.begin() + static_cast<std::ptrdiff_t>(at), queues.begin() + static_cast<std::ptrdiff_t>(end)}),
                        fmt::format("queues-{}", at));
    }
    std::vector<std::string> texts;
    for (const sim::KueueWork& work : load.work) texts.push_back(job_text(load, work));
    const auto begin = Clock::now();
    for (std::size_t at = 0; at < load.work.size();) {
        const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
        std::vector<std::string> due;
        const std::size_t first = at;
        for (; at < load.work.size() && due.size() < batch_max && load.work[at].created.ms <= since; ++at)
            due.push_back(std::move(texts[at]));
        if (due.empty())
            std::this_thread::sleep_for(tick);
        else
            line.post_batch(batch_of(due), fmt::format("work-{}", first));
    }
    const auto deadline = Clock::now() + std::chrono::minutes(10);
    while (!all_is_over(line)) {
        if (Clock::now() > deadline) return std::fprintf(stderr, "not all came to an end\n"), 1;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::printf("%.3f %ld\n", std::chrono::duration<double>(Clock::now() - begin).count(), static_cast<long>(load.work.size()));
    return 0;
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
    if (argc != 3) return std::fprintf(stderr, "kueue-load GENERATOR shape|PORT\n"), 2;
    std::ifstream file(argv[1]);
    std::ostringstream text;
    text << file.rdbuf();
    const auto load = tandem::sim::parse_kueue(text.str());
    if (!load) return std::fprintf(stderr, "%s: %s: %s\n", argv[1], load.error().field.c_str(), load.error().message.c_str()), 1;
    if (std::string_view(argv[2]) == "shape") {
        std::printf("%ld %ld %s\n", tandem::sim::kueue_node_count(*load), tandem::sim::kueue_node_devices(*load),
                    std::string(tandem::sim::kueue_flavor).c_str());
        return 0;
    }
    const char* key = std::getenv("TANDEM_API_KEY");
    if (key == nullptr) return std::fprintf(stderr, "TANDEM_API_KEY is not set\n"), 2;
    return tandem::bench::play(*load, std::atoi(argv[2]), key);
}

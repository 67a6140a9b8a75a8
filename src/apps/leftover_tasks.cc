// SPDX-License-Identifier: Apache-2.0
#include "apps/leftover_tasks.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "executor/local/shim_link.h"
#include "executor/local/task_folders.h"

namespace tandem::apps {
namespace {

constexpr std::int64_t grace_ms = 10'000;

bool lives(const std::string& path) {
    const executor::FolderHandle folder(path);
    return folder && executor::is_locked(folder.fd()) &&
           !executor::read_record(folder.fd(), shim::exit_file);
}

void ask_to_stop(const std::string& path) {
    const executor::FolderHandle folder(path);
    executor::ShimLink link;
    if (!folder || !link.open(folder.fd(), 0)) return;
    shim::Fields request;
    shim::put(request, "type", "stop");
    shim::put(request, "graceMs", grace_ms);
    link.send(request);
    // Closing at once could overtake the request: the answer proves that it was read.
    std::vector<shim::Fields> answers;
    for (int tries = 0; tries < 100 && answers.empty() && link.receive(answers); ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

}  // namespace

std::int64_t end_leftover_tasks(const Home& home, Duration deadline) {
    const auto folders = executor::TaskFolders::open(home.root());
    if (!folders) return 0;
    std::vector<std::string> alive;
    for (const model::TaskName& task : folders->list())
        if (lives(folders->path_of(task))) alive.push_back(folders->path_of(task));
    for (const std::string& path : alive) ask_to_stop(path);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadline.ms);
    while (!alive.empty() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        std::erase_if(alive, [](const std::string& path) { return !lives(path); });
    }
    return static_cast<std::int64_t>(alive.size());
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
#include "apps/waiting_tasks.h"

#include <fmt/format.h>

#include "apps/process.h"
#include "apps/rest.h"

namespace tandem::apps {

std::string waiting_tasks(const Home& home) {
    if (!find_running(home.run_file("server"))) return {};
    const auto answer = Rest(home).get("/api/v1/admin/tasks");
    const codec::Value* items = answer ? answer->find("items") : nullptr;
    if (items == nullptr || items->items.empty()) return {};
    const std::size_t count = items->items.size();
    return fmt::format("{} {} of before a restore {} for a decision", count,
                       count == 1 ? "task" : "tasks", count == 1 ? "waits" : "wait");
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
// What the shim answers to those who ask.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "shim/supervisor.h"

namespace tandem::shim {

TaskStatus Supervisor::current() const {
    TaskStatus status = status_;
    status.output_bytes = ring_.end();
    status.output_dropped = ring_.dropped();
    struct stat facts{};
    if (!spec_.progress_file.empty() && stat(spec_.progress_file.c_str(), &facts) == 0) {
        status.progress_at_ms = static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1000 +
                                facts.st_mtim.tv_nsec / 1'000'000;
        status.progress = read_file(AT_FDCWD, spec_.progress_file.c_str(), 256).value_or("");
    }
    return status;
}

void Supervisor::push(bool state_changed) {
    std::int64_t now = monotonic_ms();
    for (Client& client : door_.clients()) {
        bool output = client.every_ms > 0 && client.pushed_bytes != ring_.end() &&
                      now >= client.pushed_ms + client.every_ms;
        if (!client.subscribed || !(state_changed || output)) continue;
        client.pushed_ms = now;
        client.pushed_bytes = ring_.end();
        Fields fields;
        put(fields, "type", "status");
        put_status(fields, current());
        door_.send(client, fields);
    }
}

void Supervisor::answer_read(Client& client, const Fields& message, Fields reply) {
    auto asked = static_cast<std::size_t>(std::clamp<std::int64_t>(
        number_of(message, "max", static_cast<std::int64_t>(read_bytes_max)), 0,
        static_cast<std::int64_t>(read_bytes_max)));
    OutputSlice slice = read_output(folder_fd_, number_of(message, "offset"), asked);
    put(reply, "type", "output");
    put(reply, "offset", slice.offset);
    put(reply, "end", slice.end);
    put(reply, "data", slice.data);
    door_.send(client, reply);
}

namespace {

void put_hello(Fields& reply, const Fields& message, const std::string& name) {
    std::int64_t highest = std::min<std::int64_t>(number_of(message, "max", 1), protocol_max);
    if (highest < std::max<std::int64_t>(number_of(message, "min", 1), protocol_min)) {
        put(reply, "type", "error");
        put(reply, "text", "no version of the protocol in common");
        return;
    }
    put(reply, "type", "hello");
    put(reply, "version", highest);
    put(reply, "name", name);
}

}  // namespace

void Supervisor::answer(Client& client, const Fields& message) {
    std::string_view type = text_of(message, "type");
    Fields reply;
    put(reply, "id", text_of(message, "id"));
    if (type == "read") return answer_read(client, message, std::move(reply));
    if (type == "hello") {
        put_hello(reply, message, spec_.name);
    } else if (type == "status") {
        put(reply, "type", "status");
        put_status(reply, current());
    } else if (type == "release" && status_.state != TaskState::exited) {
        put(reply, "type", "error");
        put(reply, "text", "the task is not over");
    } else if (type == "stop" || type == "kill") {
        if (!main_ended_) status_.stop_requested = true;
        std::int64_t grace = type == "kill" ? 0 : number_of(message, "graceMs", spec_.grace_ms);
        begin_stop(std::max<std::int64_t>(grace, 0));
        put(reply, "type", "ok");
    } else if (type == "subscribe" || type == "release") {
        client.subscribed = client.subscribed || type == "subscribe";
        client.every_ms = std::max<std::int64_t>(number_of(message, "everyMs", 0), 0);
        client.pushed_bytes = ring_.end();
        client.pushed_ms = monotonic_ms();
        released_ = released_ || type == "release";
        put(reply, "type", "ok");
    } else {
        put(reply, "type", "unsupported");
        put(reply, "of", type);
    }
    door_.send(client, reply);
}

}  // namespace tandem::shim

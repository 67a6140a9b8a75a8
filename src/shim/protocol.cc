// SPDX-License-Identifier: Apache-2.0
#include "shim/protocol.h"

#include <charconv>
#include <cstring>

namespace tandem::shim {

void put(Fields& fields, std::string_view key, std::string_view value) {
    fields.push_back({std::string(key), std::string(value)});
}

void put(Fields& fields, std::string_view key, std::int64_t value) {
    fields.push_back({std::string(key), std::to_string(value)});
}

std::string_view text_of(const Fields& fields, std::string_view key) {
    for (const Field& field : fields) {
        if (field.key == key) return field.value;
    }
    return {};
}

std::int64_t number_of(const Fields& fields, std::string_view key, std::int64_t otherwise) {
    std::string_view text = text_of(fields, key);
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && !text.empty() ? value
                                                                                     : otherwise;
}

std::string encode(const Fields& fields) {
    std::string text;
    for (const Field& field : fields) {
        text += field.key;
        text += '=';
        text += std::to_string(field.value.size());
        text += ':';
        text += field.value;
        text += '\n';
    }
    return text;
}

std::optional<Fields> decode(std::string_view text) {
    Fields fields;
    while (!text.empty()) {
        std::size_t equals = text.find('=');
        if (equals == 0 || equals == std::string_view::npos || equals > 64) return std::nullopt;
        std::size_t size = 0;
        const char* from = text.data() + equals + 1;
        const char* last = text.data() + text.size();
        auto [end, error] = std::from_chars(from, last, size);
        if (error != std::errc() || end == last || *end != ':') return std::nullopt;
        std::size_t rest = static_cast<std::size_t>(last - end) - 1;
        if (size >= rest || end[1 + size] != '\n') return std::nullopt;
        fields.push_back({std::string(text.substr(0, equals)), std::string(end + 1, size)});
        text = std::string_view(end + 2 + size, rest - size - 1);
    }
    return fields;
}

std::string frame(const Fields& fields) {
    std::string body = encode(fields);
    auto size = static_cast<std::uint32_t>(body.size());
    std::string whole(4, '\0');
    for (int i = 0; i < 4; ++i)
        whole[static_cast<std::size_t>(i)] = static_cast<char>(size >> (8 * i));
    return whole += body;
}

Outcome<std::optional<Fields>> take_frame(std::string& buffer) {
    if (buffer.size() < 4) return std::optional<Fields>{};
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        size |= static_cast<std::size_t>(static_cast<unsigned char>(buffer[i])) << (8 * i);
    }
    if (size > frame_bytes_max) return std::unexpected("frame longer than allowed");
    if (buffer.size() < 4 + size) return std::optional<Fields>{};
    std::optional<Fields> fields = decode(std::string_view(buffer).substr(4, size));
    if (!fields) return std::unexpected("frame is not a list of fields");
    buffer.erase(0, 4 + size);
    return fields;
}

std::string_view name_of(TaskState state) {
    switch (state) {
        case TaskState::starting:
            return "starting";
        case TaskState::running:
            return "running";
        case TaskState::stopping:
            return "stopping";
        case TaskState::exited:
            return "exited";
    }
    return "?";
}

namespace {

void put_process(Fields& fields, std::string_view who, const ProcessIdentity& process) {
    put(fields, std::string(who) + "Pid", process.pid);
    put(fields, std::string(who) + "StartTicks", process.start_ticks);
}

ProcessIdentity process_of(const Fields& fields, std::string_view who) {
    return {.pid = static_cast<pid_t>(number_of(fields, std::string(who) + "Pid")),
            .start_ticks = number_of(fields, std::string(who) + "StartTicks")};
}

std::optional<int> maybe_number(const Fields& fields, std::string_view key) {
    if (text_of(fields, key).empty()) return std::nullopt;
    return static_cast<int>(number_of(fields, key));
}

}  // namespace

void put_status(Fields& fields, const TaskStatus& status) {
    put(fields, "state", name_of(status.state));
    put(fields, "name", status.name);
    put(fields, "boot", status.boot);
    put_process(fields, "task", status.task);
    put_process(fields, "shim", status.shim);
    put(fields, "startedMs", status.started_ms);
    put(fields, "endedMs", status.ended_ms);
    put(fields, "goneMs", status.gone_ms);
    put(fields, "ranMs", status.ran_ms);
    if (status.exit_code) put(fields, "exitCode", *status.exit_code);
    if (status.signal) put(fields, "signal", *status.signal);
    put(fields, "startError", status.start_error);
    put(fields, "oomKilled", status.oom_killed);
    put(fields, "timedOut", status.timed_out);
    put(fields, "stopRequested", status.stop_requested);
    put(fields, "notice", status.notice);
    put(fields, "port", status.port);
    put(fields, "outputBytes", status.output_bytes);
    put(fields, "outputAtMs", status.output_at_ms);
    put(fields, "outputDropped", status.output_dropped);
    put(fields, "progress", status.progress);
    put(fields, "progressAtMs", status.progress_at_ms);
}

std::optional<TaskStatus> status_of(const Fields& fields) {
    TaskStatus status;
    std::string_view state = text_of(fields, "state");
    bool known = false;
    for (TaskState each :
         {TaskState::starting, TaskState::running, TaskState::stopping, TaskState::exited}) {
        if (name_of(each) == state) status.state = each, known = true;
    }
    if (!known) return std::nullopt;
    status.name = text_of(fields, "name");
    status.boot = text_of(fields, "boot");
    status.task = process_of(fields, "task");
    status.shim = process_of(fields, "shim");
    status.started_ms = number_of(fields, "startedMs");
    status.ended_ms = number_of(fields, "endedMs");
    status.gone_ms = number_of(fields, "goneMs");
    status.ran_ms = number_of(fields, "ranMs");
    status.exit_code = maybe_number(fields, "exitCode");
    status.signal = maybe_number(fields, "signal");
    status.start_error = text_of(fields, "startError");
    status.oom_killed = number_of(fields, "oomKilled") != 0;
    status.timed_out = number_of(fields, "timedOut") != 0;
    status.stop_requested = number_of(fields, "stopRequested") != 0;
    status.notice = text_of(fields, "notice");
    status.port = static_cast<int>(number_of(fields, "port"));
    status.output_bytes = number_of(fields, "outputBytes");
    status.output_at_ms = number_of(fields, "outputAtMs");
    status.output_dropped = number_of(fields, "outputDropped");
    status.progress = text_of(fields, "progress");
    status.progress_at_ms = number_of(fields, "progressAtMs");
    return status;
}

}  // namespace tandem::shim

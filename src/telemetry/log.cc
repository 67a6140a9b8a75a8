// SPDX-License-Identifier: Apache-2.0
#include "telemetry/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/time.h"

namespace tandem::telemetry {

namespace {

constexpr std::size_t value_max = 16 * 1024;
constexpr std::size_t line_max = 64 * 1024;

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none (RFC 3629
// table 3-7).
std::size_t utf8_length(std::string_view text) {
    auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    auto tail = [&](std::size_t i) { return i < text.size() && (at(i) & 0xC0) == 0x80; };
    unsigned char lead = at(0);
    if (lead < 0x80) return 1;
    if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF) {
        if (!tail(1) || !tail(2)) return 0;
        if ((lead == 0xE0 && at(1) < 0xA0) || (lead == 0xED && at(1) > 0x9F)) return 0;
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        if (!tail(1) || !tail(2) || !tail(3)) return 0;
        if ((lead == 0xF0 && at(1) < 0x90) || (lead == 0xF4 && at(1) > 0x8F)) return 0;
        return 4;
    }
    return 0;
}

void append_character(std::string& out, std::string_view character) {
    static constexpr char digits[] = "0123456789abcdef";
    char c = character[0];
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
    } else if (c == '\n') {
        out += "\\n";
    } else if (c == '\t') {
        out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
        out += "\\u00";
        out += digits[byte >> 4];
        out += digits[byte & 15];
    } else {
        out += character;
    }
}

// Appends `text` as a JSON string; true when it was cut.
bool append_quoted(std::string& out, std::string_view text) {
    std::size_t end = out.size() + value_max;
    out += '"';
    while (!text.empty() && out.size() < end) {
        std::size_t length = utf8_length(text);
        if (length == 0) {
            out += "\\ufffd";
            length = 1;
        } else {
            append_character(out, text.substr(0, length));
        }
        text.remove_prefix(length);
    }
    out += '"';
    return !text.empty();
}

bool append_fields(std::string& out, Fields fields) {
    bool cut = false;
    for (const Field& field : fields) {
        if (out.size() > line_max - value_max) return true;
        out += ',';
        cut |= append_quoted(out, field.key());
        out += ':';
        if (field.quoted())
            cut |= append_quoted(out, field.value());
        else
            out += field.value();
    }
    return cut;
}

Instant wall_now() {
    auto since = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

}  // namespace

class LogSink {
  public:
    LogSink(spdlog::sink_ptr sink, Level least)
        : logger_("tandem", std::move(sink)), least_(least) {
        logger_.set_pattern("%v");
        logger_.set_level(spdlog::level::trace);
        logger_.flush_on(spdlog::level::trace);
        logger_.set_error_handler([this](const std::string&) { dropped_.fetch_add(1); });
    }
    void write(std::string_view line) {
        logger_.log(spdlog::level::info, spdlog::string_view_t(line));
    }

    bool enabled(Level level) const { return level >= least_.load(std::memory_order_relaxed); }
    void set_level(Level least) { least_.store(least); }
    std::uint64_t dropped() const { return dropped_.load(); }

  private:
    spdlog::logger logger_;
    std::atomic<Level> least_;
    std::atomic<std::uint64_t> dropped_ = 0;
};

std::string_view name_of(Level level) {
    switch (level) {
        case Level::debug:
            return "debug";
        case Level::info:
            return "info";
        case Level::warn:
            return "warn";
        case Level::error:
            return "error";
    }
    return "error";
}

Result<Level> parse_level(std::string_view text) {
    for (Level level : {Level::debug, Level::info, Level::warn, Level::error})
        if (text == name_of(level)) return level;
    return fail(ErrorCode::invalid, "must be debug, info, warn or error");
}

Log::Log() = default;
Log::Log(std::shared_ptr<LogSink> sink) : sink_(std::move(sink)) {}

Log Log::to_stderr(Level least) {
    return Log(std::make_shared<LogSink>(std::make_shared<spdlog::sinks::stderr_sink_mt>(), least));
}

Result<Log> Log::to_file(const std::string& path, Level least) {
    // Opened first to get the mode right: the library would make it readable to others.
    int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return fail(ErrorCode::invalid, "opening log file " + path + ": " + std::strerror(errno));
    ::close(descriptor);
    try {
        return Log(std::make_shared<LogSink>(
            std::make_shared<spdlog::sinks::basic_file_sink_mt>(path), least));
    } catch (const spdlog::spdlog_ex& failure) {
        return fail(ErrorCode::invalid, "opening log file " + path + ": " + failure.what());
    }
}

Log Log::with(Fields fields) const {
    Log copy = *this;
    append_fields(copy.context_, fields);
    return copy;
}

bool Log::enabled(Level level) const {
    return sink_ && sink_->enabled(level);
}

void Log::write(Level level, std::string_view message, Fields fields) const {
    if (!enabled(level)) return;
    std::string line = "{\"time\":\"" + render_instant(wall_now()) + "\",\"level\":\"";
    line += name_of(level);
    line += "\",\"msg\":";
    bool cut = append_quoted(line, message);
    line += context_;
    cut |= append_fields(line, fields);
    line += cut ? ",\"cut\":true}" : "}";
    sink_->write(line);
}

void Log::set_level(Level least) const {
    if (sink_) sink_->set_level(least);
}

std::uint64_t Log::dropped_lines() const {
    return sink_ ? sink_->dropped() : 0;
}

}  // namespace tandem::telemetry

// SPDX-License-Identifier: Apache-2.0
// Log: structured logs, one JSON object a line:
//   {"time":"2026-11-30T14:28:59.123Z","level":"info","msg":"server
//   ready","address":"127.0.0.1:8080"}
// Every module that logs is handed a Log; there is no global one. Copies are cheap and share the
// sink; with() gives a copy that adds fields (request id, job) to each line.
//
// Text is taken as UTF-8: control bytes are written as \u00XX and bytes that are not UTF-8 as
// U+FFFD, so one record is always one line of valid JSON. A Secret can't be a field (it does not
// compile). Values are cut at 16 KiB and a line at 64 KiB, then marked "cut":true. Keys are
// constants of the program; `time`, `level`, `msg` and `cut` are taken. Each line is flushed.
// Thread rule: all functions from any thread. A line that can't be written is dropped and counted.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"

namespace tandem::telemetry {

enum class Level : std::uint8_t { debug, info, warn, error };

std::string_view name_of(Level level);
Result<Level> parse_level(std::string_view text);

// One key=value of a line. Numbers and booleans are written bare, text quoted.
class Field {
  public:
    template <class T>
        requires std::convertible_to<T, std::string_view>
    Field(std::string_view key, const T& text)
        : key_(key), value_(std::string_view(text)), quoted_(true) {}
    template <std::integral T>
        requires(!std::same_as<T, bool> && !std::same_as<T, char>)
    Field(std::string_view key, T number) : key_(key), value_(std::to_string(number)) {}
    Field(std::string_view key, std::same_as<bool> auto flag)
        : key_(key), value_(flag ? "true" : "false") {}
    Field(std::string_view key, const Secret&) = delete;

    std::string_view key() const { return key_; }
    std::string_view value() const { return value_; }
    bool quoted() const { return quoted_; }

  private:
    std::string key_;
    std::string value_;
    bool quoted_ = false;
};

using Fields = std::initializer_list<Field>;

class LogSink;

class Log {
  public:
    Log();  // writes nowhere

    static Log to_stderr(Level least = Level::info);
    // Appends; the file is made with mode 0600. Error: the folder is missing or not writable.
    static Result<Log> to_file(const std::string& path, Level least = Level::info);

    Log with(Fields fields) const;

    bool enabled(Level level) const;
    void write(Level level, std::string_view message, Fields fields = {}) const;
    void debug(std::string_view message, Fields fields = {}) const {
        write(Level::debug, message, fields);
    }
    void info(std::string_view message, Fields fields = {}) const {
        write(Level::info, message, fields);
    }
    void warn(std::string_view message, Fields fields = {}) const {
        write(Level::warn, message, fields);
    }
    void error(std::string_view message, Fields fields = {}) const {
        write(Level::error, message, fields);
    }

    void set_level(Level least) const;  // of every copy that shares the sink
    std::uint64_t dropped_lines() const;

  private:
    explicit Log(std::shared_ptr<LogSink> sink);
    std::shared_ptr<LogSink> sink_;
    std::string context_;  // rendered fields of with(), each with its leading comma
};

}  // namespace tandem::telemetry

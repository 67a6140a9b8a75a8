// SPDX-License-Identifier: Apache-2.0
// JsonWriter: appends JSON to a string, one line, without a tree in between. The caller keeps begin
// and end in balance. Text that is not UTF-8 is written with U+FFFD in place of each broken byte,
// so that what was written can always be read. Thread rule: one owner.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem::codec {

class JsonWriter {
  public:
    explicit JsonWriter(std::string& out) : out_(out) {}

    void begin_object() { open('{'); }
    void end_object() { close('}'); }
    void begin_array() { open('['); }
    void end_array() { close(']'); }
    void key(std::string_view name);
    void member(std::string_view name);  // a key that holds nothing to escape: a name of the program's own
    void text(std::string_view value);
    void number(std::int64_t value);
    void boolean(bool value) { raw(value ? "true" : "false"); }
    void null() { raw("null"); }
    void raw(std::string_view json);  // a whole value that is JSON already

  private:
    void separate() {
        if (comma_) out_ += ',';
    }
    void open(char bracket) {
        separate();
        out_ += bracket;
        comma_ = false;
    }
    void close(char bracket) {
        out_ += bracket;
        comma_ = true;
    }
    std::string& out_;
    bool comma_ = false;
};

// Appends `value` as a JSON string with its quotes.
void append_json_text(std::string& out, std::string_view value);

}  // namespace tandem::codec

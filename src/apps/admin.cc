// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "apps/control.h"
#include "apps/home.h"
#include "apps/process.h"
#include "apps/rest.h"
#include "codec/json_writer.h"

namespace tandem::apps {
namespace {

int complain(const Error& error) {
    fmt::print(stderr, "tandem admin: {}{}\n", error.field.empty() ? "" : error.field + ": ", error.message);
    return 1;
}

int post_path(Rest& rest, const std::string& verb, const std::string& file) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("path");
    writer.text(std::filesystem::absolute(file).string());
    writer.end_object();
    if (const auto done = rest.post("/api/v1/admin/" + verb, json); !done) return complain(done.error());
    fmt::print("{}\n", verb == "backup" ? "backup written to " + file : "checked; it is applied at the next start (tandem down, tandem up)");
    return 0;
}

}  // namespace

int admin(const std::vector<std::string>& arguments) {
    Rest rest(Home::find());
    const std::string verb = arguments.empty() ? "" : arguments[0];
    if (verb == "check" && arguments.size() == 1) {
        if (const auto done = rest.post("/api/v1/admin/check"); !done) return complain(done.error());
        fmt::print("the store passes its integrity check\n");
        return 0;
    }
    if ((verb == "backup" || verb == "restore") && arguments.size() == 2) return post_path(rest, verb, arguments[1]);
    if (verb == "export-history" && arguments.size() == 2) {
        if (const Status done = rest.download("/api/v1/admin/history", arguments[1]); !done) return complain(done.error());
        fmt::print("history written to {}\n", arguments[1]);
        return 0;
    }
    fmt::print(stderr, "usage: tandem admin backup FILE | restore FILE | check | export-history FILE\n");
    return 2;
}

int sim(const std::vector<std::string>& arguments) {
    const std::string program = (std::filesystem::path(own_path()).parent_path() / "tandem-sim").string();
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execv(program.c_str(), words.data());
    fmt::print(stderr, "tandem sim: {} can't be started\n", program);
    return 1;
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
#include "apps/home.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "crypto/random_bytes.h"

namespace tandem::apps {
namespace {

constexpr int lock_tries = 50;
constexpr std::chrono::milliseconds lock_wait{20};

std::unexpected<Error> system_error(const std::string& what) {
    return fail(ErrorCode::unavailable, what + ": " + std::strerror(errno));
}

Status write_whole(int descriptor, std::string_view text, const std::string& path) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return system_error("writing " + path);
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fsync(descriptor) != 0) return system_error("writing " + path);
    return {};
}

}  // namespace

std::string environment_or(const char* name, const std::string& otherwise) {
    const char* value = std::getenv(name);
    return value && *value ? value : otherwise;
}

Home Home::find() {
    return Home(environment_or("TANDEM_HOME", environment_or("HOME", "/root") + "/.tandem"));
}

bool Home::exists() const {
    return std::filesystem::exists(database());
}

Status Home::make() const {
    for (const std::string& folder : {root_, root_ + "/run", root_ + "/logs", gateway()}) {
        std::error_code error;
        std::filesystem::create_directories(folder, error);
        if (error)
            return fail(ErrorCode::unavailable, "making " + folder + ": " + error.message(),
                        "home");
        if (::chmod(folder.c_str(), 0700) != 0) return system_error("protecting " + folder);
    }
    return {};
}

Status lock_home(const Home& home) {
    const int descriptor = ::open(home.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return system_error("opening " + home.lock());
    // A server that was killed while it started a shim leaves the lock with that one until it
    // becomes its own program.
    for (int tries = 0; tries < lock_tries; ++tries) {
        if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return {};
        std::this_thread::sleep_for(lock_wait);
    }
    ::close(descriptor);
    return fail(ErrorCode::conflict,
                "another server runs on " + home.root() + "; see tandem status", "home");
}

UpTurn::~UpTurn() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

Result<UpTurn> take_turn_of_up(const Home& home) {
    const std::string file = home.root() + "/run/up.lock";
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0) return system_error("opening " + file);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return UpTurn(descriptor);
    ::close(descriptor);
    return fail(ErrorCode::conflict,
                "another tandem up of " + home.root() + " is at work; see tandem status in a moment",
                "home");
}

Result<std::string> read_file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) return fail(ErrorCode::not_found, "reading " + path + ": " + std::strerror(errno));
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

Status write_file(const std::string& path, std::string_view text) {
    const std::string temporary = path + ".new";
    const int descriptor =
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (descriptor < 0) return system_error("opening " + temporary);
    const Status written = write_whole(descriptor, text, temporary);
    ::close(descriptor);
    TANDEM_TRY(written);
    if (::rename(temporary.c_str(), path.c_str()) != 0)
        return system_error("renaming " + temporary);
    return {};
}

namespace {

// As crypto::draw_token() draws it: 32 bytes in base64url.
constexpr std::size_t secret_length = 43;

bool is_secret(const std::string& text) {
    return text.size() == secret_length && std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
           });
}

}  // namespace

Status check_secret(const Home& home) {
    const auto known = read_file(home.secret());
    if (known && is_secret(*known)) return {};
    if (!home.exists()) return {};
    std::string fault = "is missing";
    if (known)
        fault = known->size() == secret_length
                    ? "is damaged: it holds bytes that no secret has"
                    : fmt::format("is damaged: it holds {} bytes, {} are right", known->size(),
                                  secret_length);
    else if (std::filesystem::exists(home.secret()))
        fault = "can't be read";
    return fail(
        ErrorCode::conflict,
        fmt::format(
            "{} {}, and the store is there: the keys of model servers that run are derived from "
            "it. Bring the file back from a copy of the home, or draw another: tandem admin "
            "new-secret (model servers that run must then be started again; API keys stay valid)",
            home.secret(), fault),
        "home");
}

std::vector<std::string> open_secrets(const Home& home) {
    std::vector<std::string> open;
    for (const std::string& file : {home.secret(), home.admin_key()}) {
        struct stat facts{};
        if (::stat(file.c_str(), &facts) == 0 && (facts.st_mode & 0077) != 0) open.push_back(file);
    }
    return open;
}

Status draw_secret(const Home& home) {
    return write_file(home.secret(), crypto::draw_token());
}

Result<Secret> load_secret(const Home& home) {
    TANDEM_TRY(check_secret(home));
    if (!is_secret(read_file(home.secret()).value_or(""))) TANDEM_TRY(draw_secret(home));
    TANDEM_LET(text, read_file(home.secret()));
    return Secret(std::move(text));
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
// tandem doctor: can this machine carry an installation, and is the one it has well? One line a check:
// ok, warning (works, with less) or problem (does not work), and what to do.
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

#include "apps/control.h"
#include "apps/home.h"
#include "apps/options.h"
#include "apps/process.h"
#include "apps/rest.h"
#include "executor/local/devices.h"

namespace tandem::apps {
namespace {

struct Finding {
    enum class Grade : std::uint8_t { ok, warning, problem } grade = Grade::ok;
    std::string what{};
    std::string advice{};
};
using Grade = Finding::Grade;

Finding check_home(const Home& home) {
    if (!std::filesystem::exists(home.root())) return {Grade::ok, "home " + home.root() + " is not there yet", ""};
    if (::access(home.root().c_str(), W_OK) != 0)
        return {Grade::problem, "home " + home.root() + " can't be written", "run as its owner, or set TANDEM_HOME"};
    const auto mode = std::filesystem::status(home.root()).permissions();
    if ((mode & std::filesystem::perms::others_all) != std::filesystem::perms::none)
        return {Grade::problem, "home " + home.root() + " is open to other users", "chmod 700 " + home.root()};
    return {Grade::ok, "home " + home.root(), ""};
}

Finding check_space(const Home& home) {
    struct statvfs room {};
    const std::string place = std::filesystem::exists(home.root()) ? home.root() : "/";
    if (::statvfs(place.c_str(), &room) != 0) return {Grade::warning, "free space can't be read", ""};
    const auto free_mb = static_cast<std::int64_t>(room.f_bavail) * static_cast<std::int64_t>(room.f_frsize) / 1'000'000;
    if (free_mb < 1000) return {Grade::warning, fmt::format("{} MB free on the disk of {}", free_mb, place), "models and logs need room"};
    return {Grade::ok, fmt::format("{} MB free", free_mb), ""};
}

Finding check_devices() {
    const auto found = executor::discover_devices({});
    if (!found) return {Grade::problem, "devices: " + found.error().message, "see the message"};
    if (found->devices.empty()) return {Grade::problem, "no device can be offered", "tandem up --slices N"};
    const model::Device& first = found->devices.front();
    return {Grade::ok, fmt::format("{} devices of flavor {} ({})", found->devices.size(), first.flavor, first.model), found->warning};
}

Finding check_shim() {
    const auto shim = std::filesystem::path(own_path()).parent_path() / "tandem-shim";
    if (::access(shim.c_str(), X_OK) == 0) return {Grade::ok, "tandem-shim beside the program", ""};
    return {Grade::problem, "tandem-shim is not at " + shim.string(), "install both programs into one folder"};
}

Finding check_runtimes(const UpOptions& options) {
    if (!options.runtimes.empty() && std::filesystem::is_directory(options.runtimes))
        return {Grade::ok, "runtime templates in " + options.runtimes, ""};
    return {Grade::warning, "no folder of runtime templates", "tandem up --runtimes DIR, or set TANDEM_RUNTIMES; services need one"};
}

Finding check_server(const Home& home) {
    if (!find_running(home.run_file("server"))) return {Grade::ok, "server is not running", "tandem up"};
    const auto health = Rest(home).get("/healthz");
    if (health) return {Grade::ok, "server is ready", ""};
    return {Grade::problem, "server does not answer: " + health.error().message, "see " + home.log_file("server")};
}

Finding check_gateway(const Home& home, const UpOptions& options) {
    const auto running = find_running(home.run_file("gateway"));
    if (!running) return {Grade::ok, "gateway is not running", "tandem up"};
    if (running->url.starts_with("https://"))  // its certificate is for the host's public name, which is not known here
        return {Grade::ok, "gateway listens with TLS at " + running->url, ""};
    const auto status = probe_url(running->url, options.tls_certificate);
    if (status && *status == 200) return {Grade::ok, "gateway is ready", ""};
    return {Grade::problem, "gateway does not answer", "see " + home.log_file("gateway")};
}

Finding check_store(const Home& home) {
    if (!home.exists()) return {Grade::ok, "no store yet", ""};
    if (!find_running(home.run_file("server"))) return {Grade::ok, "store is checked at the next start", ""};
    Rest rest(home);
    const auto checked = rest.post("/api/v1/admin/check");
    if (checked) return {Grade::ok, "store passes its integrity check", ""};
    return {Grade::problem, "store: " + checked.error().message, "restore a backup: tandem admin restore FILE"};
}

void print(const Finding& finding) {
    const char* word = finding.grade == Grade::ok ? "ok" : finding.grade == Grade::warning ? "warning" : "problem";
    fmt::print("{:<8} {}{}{}\n", word, finding.what, finding.advice.empty() ? "" : "  -> ", finding.advice);
}

}  // namespace

int doctor(const std::vector<std::string>&) {
    const Home home = Home::find();
    const UpOptions options = load_options(home);
    bool problems = false;
    for (const Finding& finding : {check_home(home), check_space(home), check_shim(), check_devices(), check_runtimes(options),
                                   check_server(home), check_gateway(home, options), check_store(home)}) {
        print(finding);
        problems = problems || finding.grade == Grade::problem;
    }
    return problems ? 1 : 0;
}

}  // namespace tandem::apps

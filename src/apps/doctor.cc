// SPDX-License-Identifier: Apache-2.0
// tandem doctor: can this machine carry an installation, and is the one it has well? One line a
// check: ok, warning (works, with less) or problem (does not work), and what to do.
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

#include "apps/control.h"
#include "apps/home.h"
#include "apps/options.h"
#include "apps/process.h"
#include "apps/report.h"
#include "apps/rest.h"
#include "executor/local/devices.h"
#include "store/sqlite/backup.h"

namespace tandem::apps {
namespace {

struct Finding {
    enum class Grade : std::uint8_t { ok, warning, problem } grade = Grade::ok;
    std::string what{};
    std::string advice{};
};
using Grade = Finding::Grade;

Finding check_home(const Home& home) {
    if (!std::filesystem::exists(home.root()))
        return {Grade::ok, "home " + home.root() + " is not there yet", ""};
    if (::access(home.root().c_str(), W_OK) != 0)
        return {Grade::problem, "home " + home.root() + " can't be written",
                "run as its owner, or set TANDEM_HOME"};
    const auto mode = std::filesystem::status(home.root()).permissions();
    if ((mode & std::filesystem::perms::others_all) != std::filesystem::perms::none)
        return {Grade::problem, "home " + home.root() + " is open to other users",
                "chmod 700 " + home.root()};
    if (const Status secret = check_secret(home); !secret)
        return {Grade::problem, secret.error().message, ""};
    return {Grade::ok, "home " + home.root(), ""};
}

Finding check_space(const Home& home) {
    struct statvfs room{};
    const std::string place = std::filesystem::exists(home.root()) ? home.root() : "/";
    if (::statvfs(place.c_str(), &room) != 0)
        return {Grade::warning, "free space can't be read", ""};
    const auto free_mb = static_cast<std::int64_t>(room.f_bavail) *
                         static_cast<std::int64_t>(room.f_frsize) / 1'000'000;
    if (free_mb < 1000)
        return {Grade::warning, fmt::format("{} MB free on the disk of {}", free_mb, place),
                "models and logs need room"};
    return {Grade::ok, fmt::format("{} MB free", free_mb), ""};
}

std::string_view text_of(const codec::Value* value, std::string_view name) {
    const codec::Value* found = value ? value->find(name) : nullptr;
    return found ? found->text_or_empty() : std::string_view();
}

// As the server that runs has them.
Finding check_served_devices(const Home& home) {
    const auto nodes = Rest(home).get("/api/v1/nodes");
    if (!nodes)
        return {Grade::problem, "devices: " + nodes.error().message,
                "see " + home.log_file("server")};
    std::int64_t count = 0, shared = 0;
    std::string first;
    const codec::Value* items = nodes->find("items");
    for (const codec::Value& node : items ? items->items : std::vector<codec::Value>{}) {
        const codec::Value* status = node.find("status");
        const codec::Value* devices = status ? status->find("devices") : nullptr;
        if (!devices) continue;
        for (const codec::Value& device : devices->items) {
            if (count++ == 0)
                first =
                    fmt::format("{} ({})", text_of(&device, "flavor"), text_of(&device, "model"));
            const codec::Value* over = device.find("overCommitted");
            shared += over && over->boolean ? 1 : 0;
        }
    }
    if (count == 0)
        return {Grade::problem, "the server offers no device", "tandem down; tandem up --slices N"};
    const std::string note = shared ? fmt::format(", {} of them share cores", shared) : "";
    return {Grade::ok, fmt::format("{} devices of flavor {}{}", count, first, note), ""};
}

// As the next start would have them.
Finding check_devices(const Home& home, const UpOptions& options) {
    if (find_running(home.run_file("server"))) return check_served_devices(home);
    const auto found = executor::discover_devices(
        {.cpu_slices = options.slices, .over_commit = options.over_commit});
    if (!found) return {Grade::problem, "devices: " + found.error().message, "see the message"};
    if (found->devices.empty())
        return {Grade::problem, "no device can be offered", "tandem up --slices N"};
    const model::Device& first = found->devices.front();
    return {Grade::ok,
            fmt::format("{} devices of flavor {} ({})", found->devices.size(), first.flavor,
                        first.model),
            found->warning};
}

Finding check_shim() {
    const auto shim = std::filesystem::path(own_path()).parent_path() / "tandem-shim";
    if (::access(shim.c_str(), X_OK) == 0) return {Grade::ok, "tandem-shim beside the program", ""};
    return {Grade::problem, "tandem-shim is not at " + shim.string(),
            "install both programs into one folder"};
}

Finding check_runtimes(const UpOptions& options) {
    if (!options.runtimes.empty() && std::filesystem::is_directory(options.runtimes))
        return {Grade::ok, "runtime templates in " + options.runtimes, ""};
    return {Grade::warning, "no folder of runtime templates",
            "tandem up --runtimes DIR, or set TANDEM_RUNTIMES; services need one"};
}

Finding check_server(const Home& home) {
    if (!find_running(home.run_file("server")))
        return {Grade::ok, "server is not running", "tandem up"};
    const auto health = Rest(home).get("/healthz");
    if (health) return {Grade::ok, "server is ready", ""};
    return {Grade::problem, "server does not answer: " + health.error().message,
            "see " + home.log_file("server")};
}

Finding check_gateway(const Home& home, const UpOptions& options) {
    const auto running = find_running(home.run_file("gateway"));
    if (!running) return {Grade::ok, "gateway is not running", "tandem up"};
    // Its certificate is for the host's public name, which is not known here.
    if (running->url.starts_with("https://"))
        return {Grade::ok, "gateway listens with TLS at " + running->url, ""};
    const auto status = probe_url(running->url, options.tls_certificate);
    if (status && *status == 200) return {Grade::ok, "gateway is ready", ""};
    return {Grade::problem, "gateway does not answer", "see " + home.log_file("gateway")};
}

// Every page, by the server that has it open, else here, while no server can start.
Status read_store(const Home& home) {
    if (find_running(home.run_file("server"))) {
        TANDEM_TRY(Rest(home).post("/api/v1/admin/check"));
        return {};
    }
    TANDEM_TRY(lock_home(home));
    return store::sqlite::check_store(home.database());
}

Finding check_store(const Home& home) {
    if (!home.exists()) return {Grade::ok, "no store yet", ""};
    const Status read = read_store(home);
    if (read) return {Grade::ok, "store passes its integrity check", ""};
    if (read.error().code == ErrorCode::conflict)
        return {Grade::warning, "store is not checked: a server is on its way",
                "tandem doctor again"};
    return {Grade::problem, "store: " + read.error().message,
            "tandem down; tandem admin restore BACKUP; tandem up"};
}

std::string_view word_of(Grade grade) {
    return grade == Grade::ok ? "ok" : grade == Grade::warning ? "warning" : "problem";
}

}  // namespace

int doctor(const std::vector<std::string>& arguments) {
    const Home home = Home::find();
    const UpOptions options = load_options(home);
    std::string text;
    std::vector<codec::Value> findings;
    bool problems = false;
    for (const Finding& finding :
         {check_home(home), check_space(home), check_shim(), check_devices(home, options),
          check_runtimes(options), check_server(home), check_gateway(home, options),
          check_store(home)}) {
        problems = problems || finding.grade == Grade::problem;
        text += fmt::format("{:<8} {}{}{}\n", word_of(finding.grade), finding.what,
                            finding.advice.empty() ? "" : "  -> ", finding.advice);
        codec::Value& one = findings.emplace_back(codec::make_object());
        one.add("grade", codec::make_text(std::string(word_of(finding.grade))));
        one.add("finding", codec::make_text(finding.what));
        one.add("advice", codec::make_text(finding.advice));
    }
    codec::Value told = codec::make_object();
    told.add("home", codec::make_text(home.root()));
    told.add("well", make_flag(!problems));
    told.add("findings", make_list(std::move(findings)));
    answer(output_of(arguments), told, text);
    return problems ? 1 : 0;
}

}  // namespace tandem::apps

// SPDX-License-Identifier: Apache-2.0
// tandem doctor: can this machine carry an installation, and is the one it has well? One line a
// check: ok, warning (works, with less) or problem (does not work), and what to do.
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "apps/control.h"
#include "apps/home.h"
#include "apps/options.h"
#include "apps/process.h"
#include "apps/report.h"
#include "apps/rest.h"
#include "apps/waiting_tasks.h"
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
    if (const auto open = open_secrets(home); !open.empty())
        return {Grade::problem, open.front() + " is open to other users",
                "chmod 600 " + open.front()};
    return {Grade::ok, "home " + home.root(), ""};
}

Finding check_options_file(const Result<UpOptions>& options) {
    if (!options) return {Grade::problem, options.error().message, ""};
    if (const Status tls = check_tls(*options); !tls)
        return {Grade::problem, "TLS: " + tls.error().field + ": " + tls.error().message,
                "tandem down; tandem up with other files"};
    return {Grade::ok, "options can be read", ""};
}

// What the server is asked below is asked with this key. Absent: nothing is wrong with it.
std::optional<Finding> key_fault(const Home& home) {
    if (!home.exists()) return std::nullopt;
    const std::string advice = "tandem down; tandem admin recover-key; tandem up";
    if (!std::filesystem::exists(home.admin_key()))
        return Finding{Grade::problem, "admin.key is missing in " + home.root(), advice};
    if (!find_running(home.run_file("server"))) return std::nullopt;
    const auto me = Rest(home, brief_patience).get("/api/v1/whoami");
    if (me || me.error().code != ErrorCode::unauthenticated) return std::nullopt;
    return Finding{Grade::problem,
                   "the key in admin.key is not let in: revoked, expired, or of another "
                   "installation",
                   advice};
}

Finding not_done(const std::string& what) {
    return {Grade::warning, what + ": not done, the server takes no key of this home", ""};
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
    const auto nodes = Rest(home, brief_patience).get("/api/v1/nodes");
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
Finding check_devices(const Home& home, const UpOptions& options, bool has_key) {
    if (find_running(home.run_file("server")))
        return has_key ? check_served_devices(home) : not_done("devices");
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
    const auto health = Rest(home, brief_patience).get("/healthz");
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
    const Error& fault = read.error();
    if (fault.code == ErrorCode::conflict)
        return {Grade::warning, "store is not checked: a server is on its way",
                "tandem doctor again"};
    // Asked, and not answered: this says nothing of the store.
    if (fault.code != ErrorCode::invalid && fault.code != ErrorCode::internal)
        return {Grade::warning, "store: not done: " + fault.message, ""};
    return {Grade::problem, "store: " + fault.message,
            "tandem down; tandem admin restore BACKUP; tandem up"};
}

Finding check_tasks(const Home& home) {
    const std::string waiting = waiting_tasks(home);
    if (waiting.empty()) return {Grade::ok, "no task waits for a decision", ""};
    return {Grade::warning, waiting, "tandem admin tasks list, then adopt or end"};
}

std::vector<Finding> check_all(const Home& home) {
    const auto kept = load_options(home);
    const UpOptions options = kept ? *kept : default_options();
    const auto key = key_fault(home);
    const bool unanswered = key && find_running(home.run_file("server"));
    std::vector<Finding> all{check_home(home), check_options_file(kept)};
    if (key) all.push_back(*key);
    for (Finding& one :
         std::vector{check_space(home), check_shim(), check_devices(home, options, !key),
                     check_runtimes(options), check_server(home), check_gateway(home, options),
                     unanswered ? not_done("store") : check_store(home), check_tasks(home)})
        all.push_back(std::move(one));
    return all;
}

std::string_view word_of(Grade grade) {
    return grade == Grade::ok ? "ok" : grade == Grade::warning ? "warning" : "problem";
}

}  // namespace

int doctor(const std::vector<std::string>& arguments) {
    const Home home = Home::find();
    std::string text;
    std::vector<codec::Value> findings;
    bool problems = false;
    for (const Finding& finding : check_all(home)) {
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

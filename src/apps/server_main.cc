// SPDX-License-Identifier: Apache-2.0
#include "apps/server_main.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "api/api.h"
#include "apps/blob_keeper.h"
#include "apps/file_reports.h"
#include "apps/home.h"
#include "apps/intent_router.h"
#include "apps/options.h"
#include "apps/process.h"
#include "apps/report.h"
#include "apps/world_meters.h"
#include "blob/blob_store.h"
#include "codec/json_writer.h"
#include "codec/manifest.h"
#include "core/access.h"
#include "crypto/sha256.h"
#include "executor/local/devices.h"
#include "executor/local/local_executor.h"
#include "server/bootstrap.h"
#include "store/sqlite/sqlite_store.h"

namespace tandem::apps {
namespace {

constexpr Duration stop_grace = seconds(5);
constexpr int api_threads = 2;

// Output files of tasks, as the API reads them.
class ExecutorLogs : public api::TaskLogs {
  public:
    explicit ExecutorLogs(executor::LocalExecutor& executor) : executor_(executor) {}
    Result<api::LogChunk> read(const model::TaskName& task, std::int64_t offset,
                               std::int64_t bytes_max) override {
        TANDEM_LET(slice, executor_.read_log(task, offset, static_cast<std::size_t>(bytes_max)));
        return api::LogChunk{
            .from = slice.offset, .text = std::move(slice.text), .ended = !slice.live};
    }

  private:
    executor::LocalExecutor& executor_;
};

class StoreAdmin : public api::Admin {
  public:
    StoreAdmin(store::sqlite::SqliteStore& store, BlobKeeper& blobs)
        : store_(store), blobs_(blobs) {}
    Status backup(const std::string& path, const std::stop_token& stop) override {
        if (auto done = store_.back_up_to(path, stop); !done) return pass_on(done.error());
        return {};
    }
    Status stage_restore(const std::string& path) override {
        if (auto done = store_.stage_restore_from(path); !done) return pass_on(done.error());
        return {};
    }
    Result<blob::CollectFacts> collect_blobs(const std::stop_token& stop) override {
        return blobs_.collect(stop);
    }
    Status check(const std::stop_token& stop) override { return store_.check_now(stop); }

  private:
    store::sqlite::SqliteStore& store_;
    BlobKeeper& blobs_;
};

Result<model::Answer> submit_and_wait(server::CoreThread& core, model::Command command) {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<model::Answer> result;
    TANDEM_TRY(core.submit(std::move(command),
                           [&](const model::Answer& answer, const server::BatchTexts&) {
                               const std::lock_guard lock(mutex);
                               result = answer;
                               changed.notify_all();
                           }));
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return result.has_value(); });
    if (result->error) return pass_on(*result->error);
    return *result;
}

// Every */runtime.yaml under the folder; one that can't be read stops nothing.
void add_runtimes(model::Command& command, const std::string& folder, const telemetry::Log& log) {
    std::error_code error;
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
        if (std::filesystem::exists(entry.path() / "runtime.yaml"))
            files.push_back((entry.path() / "runtime.yaml").string());
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
        const auto text = read_file(file);
        auto object =
            text ? codec::parse_manifest_text(*text) : Result<model::Object>(pass_on(text.error()));
        if (object)
            command.actions.push_back(
                model::ApplyObject{.object = std::move(*object), .mode = model::ApplyMode::create});
        else
            log.warn("runtime template can't be read",
                     {{"file", file}, {"error", object.error().message}});
    }
}

Status bootstrap(server::CoreThread& core, const Home& home, const UpOptions& options,
                 const telemetry::Log& log) {
    server::Bootstrap start = server::make_bootstrap();
    add_runtimes(start.command, options.runtimes, log);
    // The key's file first: a crash in between leaves a key that opens nothing, and the next start
    // draws another.
    TANDEM_TRY(write_file(home.admin_key(), std::string(start.admin_key.reveal()) + "\n"));
    if (auto done = submit_and_wait(core, std::move(start.command)); !done)
        return in_context("first start", done.error());
    log.info("new installation", {{"adminKeyFile", home.admin_key()}});
    return {};
}

// For tandem up, which says it.
Status tell_revoked(const Home& home, const std::vector<model::ApiKey>& keys) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("revoked");
    writer.begin_array();
    for (const model::ApiKey& key : keys) writer.text(key.meta.name);
    writer.end_array();
    writer.end_object();
    return write_file(home.recovered(), json + "\n");
}

// What the owner of this home has drawn by `tandem admin recover-key`.
Status let_recovered_key_in(server::CoreThread& core, const Home& home, const telemetry::Log& log) {
    if (!std::filesystem::exists(home.recovery())) return {};
    TANDEM_LET(text, read_file(home.recovery()));
    TANDEM_LET(document, codec::parse_json(text));
    const codec::Value* key_id = document.find("keyId");
    const codec::Value* digest = document.find("digest");
    if (!key_id || !digest)
        return fail(ErrorCode::invalid,
                    home.recovery() + " can't be read; remove it, and recover a key again");
    const codec::Value* revokes = document.find("revokeOthers");
    const std::vector<model::ApiKey> others =
        revokes && revokes->boolean ? core.access()->admin_keys() : std::vector<model::ApiKey>{};
    model::Command command = server::make_recovery(std::string(key_id->text_or_empty()),
                                                   std::string(digest->text_or_empty()), others);
    if (auto done = submit_and_wait(core, std::move(command)); !done)
        return in_context(home.recovery(), done.error());
    if (revokes && revokes->boolean) TANDEM_TRY(tell_revoked(home, others));
    std::filesystem::remove(home.recovery());
    log.warn("an admin key was recovered by the owner of the home",
             {{"keyId", key_id->text_or_empty()},
              {"revoked", static_cast<std::int64_t>(others.size())}});
    return {};
}

executor::LocalHooks make_hooks(const Secret& installation, blob::BlobStore& blobs) {
    return {.replica_key =
                [installation](const model::TaskName& task) {
                    return server::replica_key(installation, task);
                },
            .model_path = [&blobs](const std::string& digest) { return blobs.path_of(digest); },
            .digest_of = [](const std::string& path) { return digest_of_file(path); },
            .keep_output = [&blobs](
                               const std::string& name,
                               const std::string& path) { return keep_output(blobs, name, path); }};
}

Result<executor::LocalOptions> local_options(const Home& home, const UpOptions& options) {
    TANDEM_LET(found, executor::discover_devices(
                          {.cpu_slices = options.slices, .over_commit = options.over_commit}));
    char host[256] = "local";
    ::gethostname(host, sizeof host - 1);
    executor::LocalOptions local{
        .home = home.root(),
        .shim = (std::filesystem::path(own_path()).parent_path() / "tandem-shim").string(),
        .node = node_name(host),
        .devices = std::move(found.devices),
        .facts = std::move(found.facts),
        .cpu_milli = found.cpu_milli,
        .memory_bytes = found.memory_bytes,
        .runtimes = options.runtimes,
        .python = options.python};
    for (const char* name : {"PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH",
                             "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"})
        if (const std::string value = environment_or(name, ""); !value.empty())
            local.base_env[name] = value;
    return local;
}

// What callers of models are told.
std::string gateway_url(const UpOptions& options) {
    return (has_tls(options) ? "https://" : "http://") + options.gateway;
}

store::sqlite::SqliteOptions store_options(const Home& home, const UpOptions& options) {
    store::sqlite::SqliteOptions store{.path = home.database()};
    store.segment_log_bytes_max = options.segment_mib << 20;
    store.segment_bytes_max = options.history_mib << 20;
    return store;
}

Result<http::ServerOptions> http_options(const Home& home, const UpOptions& options) {
    TANDEM_LET(address, parse_address(options.listen, "--listen"));
    http::ServerOptions server;
    const bool both = address.host == "localhost";
    http::TcpListen tcp{.address = both ? "127.0.0.1" : address.host, .port = address.port};
    if (has_tls(options))
        tcp.tls = http::TlsFiles{.certificate_file = options.tls_certificate,
                                 .key_file = options.tls_key};
    server.tcp.push_back(tcp);
    if (both && address.port != 0) {
        tcp.address = "::1";
        tcp.if_there = true;
        server.tcp.push_back(std::move(tcp));
    }
    server.unix_sockets.push_back(home.socket());
    server.threads = api_threads;
    return server;
}

class ServerProcess {
  public:
    ServerProcess(Home home, UpOptions options)
        : home_(std::move(home)), options_(std::move(options)) {}

    Status start() {
        TANDEM_TRY(check_public(options_));
        TANDEM_TRY(check_tls(options_));
        // Before anything is made: a start that can't listen, or has no such devices, leaves no
        // home behind.
        TANDEM_TRY(check_is_free(options_.listen, "--listen"));
        TANDEM_LET(local, local_options(home_, options_));
        TANDEM_TRY(check_secret(home_));
        TANDEM_TRY(home_.make());
        TANDEM_TRY(lock_home(home_));
        TANDEM_LET(level, telemetry::parse_level(options_.log_level));
        log_ = telemetry::Log::to_stderr(level);
        TANDEM_TRY(open_parts(std::move(local)));
        TANDEM_TRY(core_->start(TANDEM_VERSION));
        executor_->start(core_->generation());
        if (is_empty()) TANDEM_TRY(bootstrap(*core_, home_, options_, log_));
        TANDEM_TRY(let_recovered_key_in(*core_, home_, log_));
        return serve();
    }

    void stop() {
        std::filesystem::remove(home_.run_file("server"));
        http_->stop(stop_grace);
        core_->stop();
        serving_ = nullptr;
        http_.reset();
        api_.reset();
        keeper_.reset();
        prober_.reset();
        executor_.reset();
        core_.reset();
    }

    const telemetry::Log& log() const { return log_; }

  private:
    bool is_empty() {
        const auto page = store_->reader().list({.kind = model::Kind::project,
                                                 .scope = {.all_projects = true, .projects = {}},
                                                 .limit = 1});
        return page && page->items.empty();
    }

    Status open_parts(executor::LocalOptions local) {
        TANDEM_LET(secret, load_secret(home_));
        TANDEM_LET(store, store::sqlite::SqliteStore::open(store_options(home_, options_), log_));
        store_ = std::move(store);
        TANDEM_LET(blobs, blob::BlobStore::open({.folder = home_.blobs()}, log_));
        blobs_ = std::move(blobs);
        const core::InputSink sink = [this](model::Input input) { core_->post(std::move(input)); };
        TANDEM_LET(executor, executor::LocalExecutor::open(
                                 std::move(local), make_hooks(secret, *blobs_), sink, log_));
        executor_ = std::move(executor);
        TANDEM_LET(prober, probe::Prober::make([this](model::ReplicaProbed report) {
                       core_->post(std::move(report));
                   }));
        prober_ = std::move(prober);
        router_ = std::make_unique<IntentRouter>(*executor_, *prober_, secret);
        core_ = std::make_unique<server::CoreThread>(
            server::CoreThread::Parts{.store = *store_,
                                      .executor = *router_,
                                      .installation_secret = secret,
                                      .log = log_,
                                      .metrics = metrics_,
                                      .on_fatal = [] { ::_exit(70); },
                                      .on_quiet =
                                          [this] {
                                              store_->release_memory();
                                              ::malloc_trim(0);
                                          }});
        keeper_ = std::make_unique<BlobKeeper>(*core_, *blobs_, log_, metrics_);
        logs_ = std::make_unique<ExecutorLogs>(*executor_);
        admin_ = std::make_unique<StoreAdmin>(*store_, *keeper_);
        return {};
    }

    Status serve() {
        const std::string scheme = has_tls(options_) ? "https://" : "http://";
        TANDEM_LET(api, api::Api::make(
                            {.core = *core_,
                             .reader = store_->reader(),
                             .blobs = *blobs_,
                             .logs = *logs_,
                             .admin = *admin_,
                             .log = log_,
                             .metrics = metrics_,
                             .version = TANDEM_VERSION,
                             .measure_world = [this] { meters_.measure(*store_, serving_.load()); },
                             .gateway_address = gateway_url(options_)}));
        api_ = std::move(api);
        TANDEM_LET(http, http_options(home_, options_));
        http.body_gate = [this](const http::Request& request) { return api_->admit_body(request); };
        http.on_refused = [this](const http::RefusedRequest& refused) {
            api_->note_refusal(refused);
        };
        TANDEM_LET(server, http::Server::start(std::move(http), [this](http::Request request,
                                                                       http::Responder responder) {
                       api_->handle(std::move(request), std::move(responder));
                   }));
        http_ = std::move(server);
        serving_ = http_.get();
        TANDEM_LET(address, parse_address(options_.listen, "--listen"));
        const std::string host =
            address.host.find(':') == std::string::npos ? address.host : "[" + address.host + "]";
        const std::string url = fmt::format("{}{}:{}", scheme, host, http_->port());
        TANDEM_TRY(write_record(home_.run_file("server"),
                                record_of_self(url, TANDEM_VERSION, to_arguments(options_))));
        log_.info("server ready",
                  {{"url", url}, {"home", home_.root()}, {"version", TANDEM_VERSION}});
        store_->check_in_background([this](Status status) {
            if (!status) log_.error("store is damaged", {{"error", status.error().message}});
            ::malloc_trim(0);  // what the check has read through
        });
        return {};
    }

    Home home_;
    UpOptions options_;
    telemetry::Log log_;
    telemetry::Metrics metrics_;
    WorldMeters meters_{metrics_, home_};
    std::unique_ptr<store::sqlite::SqliteStore> store_;
    std::unique_ptr<blob::BlobStore> blobs_;
    std::unique_ptr<server::CoreThread> core_;
    std::unique_ptr<executor::LocalExecutor> executor_;
    std::unique_ptr<probe::Prober> prober_;
    std::unique_ptr<IntentRouter> router_;
    std::unique_ptr<BlobKeeper> keeper_;
    std::unique_ptr<ExecutorLogs> logs_;
    std::unique_ptr<StoreAdmin> admin_;
    std::unique_ptr<api::Api> api_;
    std::unique_ptr<http::Server> http_;
    std::atomic<const http::Server*> serving_ = nullptr;  // for the API's threads
};

}  // namespace

int server_main(const std::vector<std::string>& arguments) {
    forbid_core_dumps();
    block_signals();
    const Home home = Home::find();
    const auto kept = load_options(home);
    if (!kept) return complain("server", kept.error());
    const Parsed parsed = parse_up_options("server", arguments, *kept);
    if (!parsed.options) {
        fmt::print(stderr, "{}", parsed.text);
        return parsed.exit_code;
    }
    ServerProcess process(home, *parsed.options);
    if (const Status started = process.start(); !started) {
        const Error& error = started.error();
        fmt::print(stderr, "tandem server: {}{}\n", error.field.empty() ? "" : error.field + ": ",
                   error.message);
        return 1;
    }
    wait_for_signal();
    process.log().info("server stops; tasks run on");
    process.stop();
    return 0;
}

}  // namespace tandem::apps

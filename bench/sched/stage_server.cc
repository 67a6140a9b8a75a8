// SPDX-License-Identifier: Apache-2.0
// A server with all of its parts, store with fsync and REST among them, over an executor whose tasks are notes with
// an end (timed_executor.h): what bench/sched/run.py measures a scheduler by.
//
//   stage-server HOME NODES DEVICES FLAVOR     the admin's key is in HOME/admin.key; serves on a free port of loopback
//   prints: ready PORT                         and ends at TERM
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "api/api.h"
#include "blob/blob_store.h"
#include "server/bootstrap.h"
#include "server/core_thread.h"
#include "store/sqlite/sqlite_store.h"
#include "timed_executor.h"

namespace tandem::bench {
namespace {

class NoLogs : public api::TaskLogs {
  public:
    Result<api::LogChunk> read(const model::TaskName&, std::int64_t, std::int64_t) override { return api::LogChunk{.ended = true}; }
};

class NoAdmin : public api::Admin {
  public:
    Status backup(const std::string&, const std::stop_token&) override { return {}; }
    Status stage_restore(const std::string&) override { return {}; }
    Result<blob::CollectFacts> collect_blobs(const std::stop_token&) override { return blob::CollectFacts{}; }
    Status check(const std::stop_token&) override { return {}; }
};

Status submit_and_wait(server::CoreThread& core, model::Command command) {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<model::Answer> result;
    TANDEM_TRY(core.submit(std::move(command), [&](const model::Answer& answer, const server::BatchTexts&) {
        const std::lock_guard lock(mutex);
        result = answer;
        changed.notify_all();
    }));
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return result.has_value(); });
    if (result->error) return pass_on(*result->error);
    return {};
}

struct StageServer {
    std::string home{};
    Cluster cluster{};
    telemetry::Log log = telemetry::Log::to_stderr(telemetry::Level::warn);
    telemetry::Metrics metrics{};
    std::unique_ptr<store::sqlite::SqliteStore> store{};
    std::unique_ptr<blob::BlobStore> blobs{};
    std::unique_ptr<TimedExecutor> executor{};
    std::unique_ptr<server::CoreThread> core{};
    NoLogs logs{};
    NoAdmin admin{};
    std::unique_ptr<api::Api> api{};
    std::unique_ptr<http::Server> server{};

    Status open();
    Status serve();
    void stop();
};

Status StageServer::open() {
    const bool is_new = !std::filesystem::exists(home + "/tandem.db");
    std::filesystem::create_directories(home + "/blobs");
    TANDEM_LET(opened, store::sqlite::SqliteStore::open({.path = home + "/tandem.db"}, log));
    store = std::move(opened);
    TANDEM_LET(kept, blob::BlobStore::open({.folder = home + "/blobs"}, log));
    blobs = std::move(kept);
    executor = std::make_unique<TimedExecutor>(cluster, home + "/tasks", [this](model::Input input) { core->post(std::move(input)); });
    core = std::make_unique<server::CoreThread>(server::CoreThread::Parts{.store = *store,
                                                                          .executor = *executor,
                                                                          .installation_secret = Secret("stage"),
                                                                          .log = log,
                                                                          .metrics = metrics,
                                                                          .on_fatal = [] { ::_exit(70); },
                                                                          .on_quiet =
                                                                              [this] {
                                                                                  store->release_memory();
                                                                                  ::malloc_trim(0);
                                                                              }});
    TANDEM_TRY(core->start("stage"));
    executor->start();
    if (!is_new) return {};
    server::Bootstrap first = server::make_bootstrap();
    std::ofstream(home + "/admin.key") << first.admin_key.reveal() << '\n';
    return submit_and_wait(*core, std::move(first.command));
}

Status StageServer::serve() {
    TANDEM_LET(made, api::Api::make({.core = *core, .reader = store->reader(), .blobs = *blobs, .logs = logs, .admin = admin,
                                     .log = log, .metrics = metrics, .version = "stage", .measure_world = [] {}}));
    api = std::move(made);
    http::ServerOptions options;
    options.tcp.push_back({.address = "127.0.0.1", .port = 0});
    options.threads = 2;
    options.body_gate = [this](const http::Request& request) { return api->admit_body(request); };
    TANDEM_LET(started, http::Server::start(std::move(options), [this](http::Request request, http::Responder responder) {
                   api->handle(std::move(request), std::move(responder));
               }));
    server = std::move(started);
    std::printf("ready %d\n", static_cast<int>(server->port()));
    std::fflush(stdout);
    return {};
}

void StageServer::stop() {
    server->stop(seconds(5));
    core->stop();
    if (const Status kept = executor->keep(); !kept) std::fprintf(stderr, "%s\n", kept.error().message.c_str());
    server.reset();
    api.reset();
    executor.reset();
    core.reset();
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
    using namespace tandem::bench;
    if (argc != 5) return std::fprintf(stderr, "stage-server HOME NODES DEVICES FLAVOR\n"), 2;
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    ::sigaddset(&signals, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    StageServer stage;
    stage.home = argv[1];
    stage.cluster = {std::atoll(argv[2]), std::atoll(argv[3]), argv[4]};
    for (const auto& step : {&StageServer::open, &StageServer::serve}) {
        if (const auto done = (stage.*step)(); !done) return std::fprintf(stderr, "stage-server: %s\n", done.error().message.c_str()), 1;
    }
    int signal = 0;
    ::sigwait(&signals, &signal);
    stage.stop();
    return 0;
}

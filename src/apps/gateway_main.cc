// SPDX-License-Identifier: Apache-2.0
#include "apps/gateway_main.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "apps/home.h"
#include "apps/options.h"
#include "apps/process.h"
#include "gateway/gateway.h"

namespace tandem::apps {
namespace {

constexpr Duration stop_grace = seconds(25);

// The gateway's loops share one port (SO_REUSEPORT), which would also let it share that of another program.
Status check_port_is_free(const relay::Endpoint& endpoint) {
    if (endpoint.port == 0) return {};
    const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // waiting rests of old connections don't count
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(endpoint.port);
    address.sin_addr.s_addr = htonl(endpoint.address);
    const int bound = ::bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::close(probe);
    if (bound == 0) return {};
    return fail(ErrorCode::conflict, endpoint.text() + " is in use or not this machine's; choose another with --gateway", "--gateway");
}

Result<std::unique_ptr<gateway::Gateway>> start(const Home& home, const UpOptions& options, const telemetry::Log& log,
                                                telemetry::Metrics& metrics) {
    TANDEM_TRY(check_public(options));
    TANDEM_TRY(home.make());
    TANDEM_LET(listen, relay::Endpoint::parse(options.gateway));
    TANDEM_TRY(check_port_is_free(listen));
    gateway::GatewayOptions wanted;
    wanted.listen = listen;
    wanted.home = home.gateway();
    wanted.server = "unix:" + home.socket();
    return gateway::Gateway::start(std::move(wanted), log, metrics);
}

void wait_for_signal() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    int received = 0;
    sigwait(&set, &received);
}

}  // namespace

int gateway_main(const std::vector<std::string>& arguments) {
    forbid_core_dumps();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signal(SIGPIPE, SIG_IGN);
    const Home home = Home::find();
    const Parsed parsed = parse_up_options("gateway", arguments, load_options(home));
    if (!parsed.options) {
        fmt::print(stderr, "{}", parsed.text);
        return parsed.exit_code;
    }
    const auto level = telemetry::parse_level(parsed.options->log_level);
    const telemetry::Log log = telemetry::Log::to_stderr(level.value_or(telemetry::Level::info));
    telemetry::Metrics metrics;
    auto gateway = start(home, *parsed.options, log, metrics);
    if (!gateway) {
        const Error& error = gateway.error();
        fmt::print(stderr, "tandem gateway: {}{}\n", error.field.empty() ? "" : error.field + ": ", error.message);
        return 1;
    }
    const std::string url = "http://" + (*gateway)->endpoint().text();
    if (const Status written = write_record(home.run_file("gateway"), record_of_self(url, TANDEM_VERSION)); !written) {
        fmt::print(stderr, "tandem gateway: {}\n", written.error().message);
        return 1;
    }
    log.info("gateway ready", {{"url", url}, {"home", home.gateway()}});
    wait_for_signal();
    log.info("gateway stops; running answers may end");
    std::filesystem::remove(home.run_file("gateway"));
    (*gateway)->stop(stop_grace);
    return 0;
}

}  // namespace tandem::apps

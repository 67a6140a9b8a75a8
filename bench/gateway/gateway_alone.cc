// SPDX-License-Identifier: Apache-2.0
// The gateway without the rest of the product, for measurements: gateway-alone LISTEN HOME SERVER_URL [THREADS].
// Prints "ready ADDRESS" and runs until TERM.
#include <csignal>
#include <cstdio>
#include <string>

#include <pthread.h>

#include "gateway/gateway.h"

int main(int argc, char** argv) {
    using namespace tandem;
    if (argc < 4) {
        std::fprintf(stderr, "usage: gateway-alone LISTEN HOME SERVER_URL [THREADS]\n");
        return 2;
    }
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    const auto listen = relay::Endpoint::parse(argv[1]);
    if (!listen) {
        std::fprintf(stderr, "LISTEN %s\n", listen.error().message.c_str());
        return 2;
    }
    telemetry::Metrics metrics;
    gateway::GatewayOptions options{.name = "bench", .listen = *listen, .home = argv[2], .server = argv[3]};
    if (argc > 4) options.threads = std::stoi(argv[4]);
    options.limits.requests_per_connection = 10'000'000;  // as the peer is set
    auto gateway = gateway::Gateway::start(std::move(options), telemetry::Log::to_stderr(telemetry::Level::warn), metrics);
    if (!gateway) {
        std::fprintf(stderr, "%s\n", gateway.error().message.c_str());
        return 1;
    }
    std::printf("ready %s\n", (*gateway)->endpoint().text().c_str());
    std::fflush(stdout);
    int signal = 0;
    sigwait(&ends, &signal);
    (*gateway)->stop(seconds(1));
    return 0;
}

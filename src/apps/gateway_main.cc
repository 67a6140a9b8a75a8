// SPDX-License-Identifier: Apache-2.0
#include "apps/gateway_main.h"

#include <fmt/format.h>

#include <filesystem>

#include "apps/home.h"
#include "apps/options.h"
#include "apps/process.h"
#include "apps/report.h"
#include "gateway/gateway.h"
#include "telemetry/process.h"

namespace tandem::apps {
namespace {

constexpr Duration stop_grace = seconds(25);

Result<std::unique_ptr<gateway::Gateway>> start(const Home& home, const UpOptions& options,
                                                const telemetry::Log& log,
                                                telemetry::Metrics& metrics) {
    TANDEM_TRY(check_public(options));
    TANDEM_TRY(check_tls(options));
    TANDEM_TRY(home.make());
    auto listen = relay::parse_listen(options.gateway);
    if (!listen) return invalid_field("--gateway", listen.error().message);
    for (const auto& endpoint : *listen)
        if (Status free = relay::check_port_is_free(endpoint);
            !free && relay::has_address(endpoint))
            return fail(ErrorCode::conflict,
                        free.error().message + "; choose another with --gateway", "--gateway");
    gateway::GatewayOptions wanted;
    wanted.listen = listen->front();
    wanted.also_listen.assign(listen->begin() + 1, listen->end());
    if (has_tls(options)) wanted.tls = relay::TlsFiles{options.tls_certificate, options.tls_key};
    wanted.home = home.gateway();
    wanted.server = "unix:" + home.socket();
    return gateway::Gateway::start(std::move(wanted), log, metrics);
}

}  // namespace

int gateway_main(const std::vector<std::string>& arguments) {
    forbid_core_dumps();
    block_signals();
    const Home home = Home::find();
    const auto kept = load_options(home);
    if (!kept) return complain("gateway", kept.error());
    const Parsed parsed = parse_up_options("gateway", arguments, *kept);
    if (!parsed.options) {
        fmt::print(stderr, "{}", parsed.text);
        return parsed.exit_code;
    }
    const auto level = telemetry::parse_level(parsed.options->log_level);
    const telemetry::Log log = telemetry::Log::to_stderr(level.value_or(telemetry::Level::info));
    telemetry::Metrics metrics;
    telemetry::set_build_info(metrics, TANDEM_VERSION);
    auto gateway = start(home, *parsed.options, log, metrics);
    if (!gateway) {
        const Error& error = gateway.error();
        fmt::print(stderr, "tandem gateway: {}{}\n", error.field.empty() ? "" : error.field + ": ",
                   error.message);
        return 1;
    }
    const auto endpoint = (*gateway)->endpoint();
    const std::string url = (has_tls(*parsed.options) ? "https://" : "http://") + endpoint.text();
    if (const Status written =
            write_record(home.run_file("gateway"),
                         record_of_self(url, TANDEM_VERSION, to_arguments(*parsed.options)));
        !written) {
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

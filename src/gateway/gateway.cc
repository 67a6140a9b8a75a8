// SPDX-License-Identifier: Apache-2.0
#include "gateway/gateway.h"

#include "crypto/random_bytes.h"
#include "gateway/files.h"
#include "gateway/front.h"
#include "gateway/server_link.h"

namespace tandem::gateway {

// Order matters: what is declared later uses what is declared earlier, and ends first.
struct Gateway::Parts {
    Parts(GatewayOptions wanted, telemetry::Log logger, telemetry::Metrics& metrics,
          std::unique_ptr<UsageJournal> rows)
        : options(std::move(wanted)),
          log(std::move(logger)),
          journal(std::move(rows)),
          dispatcher(options.held_per_service_max, [this] { wake(); }),
          leases(options.home + "/leases", clock.now(), [this] { wake(); }),
          commons{options, clock, board, dispatcher, leases, *journal, metrics, log} {}

    void wake() {
        if (link) link->wake();
    }

    GatewayOptions options;
    telemetry::Log log;
    Clock clock;
    std::unique_ptr<UsageJournal> journal;
    RouteBoard board;
    std::unique_ptr<ServerLink> link;
    Dispatcher dispatcher;
    LeaseDesk leases;
    Commons commons;
    std::unique_ptr<relay::Server> server;
};

Gateway::Gateway(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Gateway::~Gateway() {
    stop(milliseconds(0));
}

Result<std::unique_ptr<Gateway>> Gateway::start(GatewayOptions options, telemetry::Log log,
                                                telemetry::Metrics& metrics) {
    if (options.home.empty())
        return invalid_field("home", "must name a folder for the gateway's own files");
    if (options.threads < 1 || options.threads > 256)
        return invalid_field("threads", "must be 1..256");
    TANDEM_TRY(make_private_folder(options.home));
    TANDEM_LET(journal, UsageJournal::open(options.home + "/usage", options.journal_bytes_max));
    auto parts =
        std::make_unique<Parts>(std::move(options), std::move(log), metrics, std::move(journal));
    Parts& p = *parts;
    const LinkParts link_parts{.options = p.options,
                               .clock = p.clock,
                               .board = p.board,
                               .dispatcher = p.dispatcher,
                               .leases = p.leases,
                               .journal = *p.journal,
                               .log = p.log};
    load_routes(link_parts);
    if (!p.options.server.empty()) {
        TANDEM_LET(link, ServerLink::make(link_parts));
        p.link = std::move(link);
    }
    const auto seed = crypto::draw_seed();
    TANDEM_LET(server, relay::Server::start(
                           {.listen = p.options.listen,
                            .also = p.options.also_listen,
                            .tls = p.options.tls,
                            .threads = p.options.threads,
                            .limits = p.options.limits},
                           [&p, seed](relay::Loop& loop, int index) {
                               const auto own =
                                   Random(seed).fork("loop" + std::to_string(index)).draw_seed();
                               return std::make_unique<Front>(p.commons, loop, own);
                           }));
    p.server = std::move(server);
    if (p.link) p.link->start();
    p.log.info("gateway ready",
               {{"address", p.server->endpoint().text()}, {"loops", p.options.threads}});
    if (const auto count = p.journal->settled_at_start(); count > 0)
        p.log.warn(
            "calls were open when this gateway last ended without notice; they are settled from "
            "their last marks",
            {{"calls", count}});
    return std::unique_ptr<Gateway>(new Gateway(std::move(parts)));
}

relay::Endpoint Gateway::endpoint() const {
    return parts_ ? parts_->server->endpoint() : relay::Endpoint{};
}

bool Gateway::connected() const {
    return parts_ && parts_->link && parts_->link->connected();
}

std::int64_t Gateway::unshipped_rows() const {
    return parts_ ? parts_->journal->synced() - parts_->journal->acknowledged() : 0;
}

void Gateway::stop(Duration grace) {
    if (!parts_) return;
    parts_->server->stop(grace);  // the loops still take posts of the threads that end next
    if (parts_->link) parts_->link->stop();
    parts_->server.reset();
    parts_.reset();  // the journal's end writes and syncs what is pending
}

}  // namespace tandem::gateway

// SPDX-License-Identifier: Apache-2.0
// Front: the gateway's endpoints on one loop: calls of models, their list, health, metrics; all
// else is a 404 of OpenAI's shape. Keys are checked before any body is read.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "gateway/answers.h"
#include "gateway/key_check.h"
#include "gateway/lane.h"
#include "net/relay/exchange.h"

namespace tandem::gateway {

struct ModelEndpoint;

class Front final : public relay::Handler {
  public:
    Front(Commons& commons, relay::Loop& loop, const Seed& seed)
        : lane_(commons, loop, seed), keys_(draw_secret(lane_.random)) {}

    std::unique_ptr<relay::RequestSink> on_request(const relay::RequestHead& head,
                                                   relay::Exchange& exchange) override;
    std::int64_t body_bytes_max(const relay::RequestHead& head) const override;
    std::string render_refusal(int status, std::string_view what) const override;
    std::string refusal_headers() override;

  private:
    std::string make_request_id();
    std::string request_id_of(const relay::RequestHead& head);
    std::expected<const model::FeedKey*, ApiError> caller_of(const relay::RequestHead& head);
    std::unique_ptr<relay::RequestSink> start_completion(const relay::RequestHead& head,
                                                         relay::Exchange& exchange,
                                                         const ModelEndpoint& endpoint,
                                                         std::string request_id);
    void answer_models(const relay::RequestHead& head, relay::Exchange& exchange,
                       const std::string& request_id);
    void answer_metrics(const relay::RequestHead& head, relay::Exchange& exchange,
                        const std::string& request_id);
    void answer_health(relay::Exchange& exchange, const std::string& request_id);
    void answer_ready(relay::Exchange& exchange, const std::string& request_id);
    void refuse(relay::Exchange& exchange, const std::string& request_id, const ApiError& error,
                Dialect dialect = Dialect::openai);

    static crypto::SipKey draw_secret(Random& random);

    Lane lane_;
    KeyMemo keys_;
};

}  // namespace tandem::gateway

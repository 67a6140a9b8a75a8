// SPDX-License-Identifier: Apache-2.0
// Exchange: a request on its way, between the HTTP server's responder and the handler's. However it
// is answered, by whichever thread, its line goes to the access log before the answer goes out.
// Thread rule: facts belong to whoever holds the Call; the answer may come from any thread.
#pragma once

#include "api/access_log.h"
#include "net/http/server.h"

namespace tandem::api {

class Exchange final : public http::ResponseSink {
  public:
    Exchange(AccessLog& log, const http::Request& request, http::Responder inner);

    void respond(std::uint64_t ticket, http::Response response) override;
    std::shared_ptr<http::StreamSink> start_stream(std::uint64_t ticket, int status,
                                                   http::Headers headers) override;

    AccessFacts facts{};

  private:
    void record(int status, bool stream);

    AccessLog& log_;
    http::Responder inner_;
    std::chrono::steady_clock::time_point since_;
};

}  // namespace tandem::api

// SPDX-License-Identifier: Apache-2.0
// Api: all routes over one HTTP server. Gives the server a handler and a gate for large bodies; a
// route without a rule stops the start.
#pragma once

#include <memory>

#include "api/errands.h"
#include "api/foresight.h"
#include "api/router.h"
#include "api/ticker.h"
#include "api/weights_gate.h"
#include "net/http/server.h"

namespace tandem::api {

class Api {
  public:
    static Result<std::unique_ptr<Api>> make(Parts parts);

    void handle(http::Request request, http::Responder responder) const;
    // Upload parts and batches may be larger, for callers that show a usable key.
    http::BodyVerdict admit_body(const http::Request& request) const;

    void note_refusal(const http::RefusedRequest& refused) const { router_.note_refusal(refused); }

    const Router& router() const { return router_; }

  private:
    explicit Api(Parts parts);
    Parts parts_;
    Ticker ticker_;
    Router router_;
    Errands errands_;  // the last three: they end before what they use
    WeightsGate weights_;
    StartTimes start_times_;
    Questions questions_;
};

}  // namespace tandem::api

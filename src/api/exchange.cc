// SPDX-License-Identifier: Apache-2.0
#include "api/exchange.h"

namespace tandem::api {
namespace {

class PassedStream final : public http::StreamSink {
  public:
    explicit PassedStream(http::Stream inner) : inner_(std::move(inner)) {}
    bool write(std::string_view text) override { return inner_.write(text); }
    std::size_t room() const override { return inner_.room(); }
    void close() override { inner_.close(); }
    void on_closed(std::move_only_function<void()> callback) override {
        inner_.on_closed(std::move(callback));
    }
    void on_drained(std::move_only_function<void()> callback) override {
        inner_.on_drained(std::move(callback));
    }

  private:
    http::Stream inner_;
};

}  // namespace

Exchange::Exchange(AccessLog& log, const http::Request& request, http::Responder inner)
    : facts{.request_id = request.id,
            .method = request.method,
            .path = request.path,
            .peer = request.peer},
      log_(log),
      inner_(std::move(inner)),
      since_(std::chrono::steady_clock::now()) {}

void Exchange::record(int status, bool stream) {
    log_.record(facts, status, stream,
                std::chrono::duration_cast<std::chrono::microseconds>(
                    std::chrono::steady_clock::now() - since_));
}

void Exchange::respond(std::uint64_t, http::Response response) {
    record(response.status, false);
    inner_.respond(std::move(response));
}

std::shared_ptr<http::StreamSink> Exchange::start_stream(std::uint64_t, int status,
                                                         http::Headers headers) {
    record(status, true);
    return std::make_shared<PassedStream>(inner_.start_stream(status, std::move(headers)));
}

}  // namespace tandem::api

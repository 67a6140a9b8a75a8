// SPDX-License-Identifier: Apache-2.0
// RequestParser and ResponseParser: bytes to one message each, over Beast's parser, with the checks
// that Beast leaves open. Inside net/http only. RequestParser refuses what could be read
// differently by another server (request smuggling): bare LF, folded lines, names with '_',
// Content-Length with Transfer-Encoding or twice. Thread rule: one owner. Both are used for one
// message and then made anew.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http/message.h"
#include "net/http/server.h"

namespace tandem::http {

struct Refusal {
    int status = 400;
    std::string detail;
};
template <class T>
using Accepted = std::expected<T, Refusal>;

struct Framing {
    bool keep_alive = false;
    bool http_11 = true;
    bool chunked = false;
    bool expects_continue = false;
    std::int64_t content_length = 0;
    bool has_body() const { return chunked || content_length > 0; }
};

class RequestParser {
  public:
    RequestParser();
    ~RequestParser();

    // Looks for a whole head at the start of `bytes`, which must begin with the bytes of the calls
    // before. Gives its length when it is there (request and framing are then filled), nothing when
    // it is not yet.
    Accepted<std::optional<std::size_t>> take_head(std::string_view bytes, const Limits& limits);
    // For a chunked body: appends to request.body, gives how many bytes were used.
    Accepted<std::size_t> take_chunked(std::string_view bytes, std::int64_t body_max);
    bool chunked_done() const;

    bool started() const { return scanned_ > 0; }
    Request request;
    Framing framing;

  private:
    class Engine;
    Accepted<bool> scan(std::string_view bytes, const Limits& limits);
    Accepted<void> finish_head();
    std::unique_ptr<Engine> engine_;
    std::size_t begin_ = 0;    // after empty lines before the request line
    std::size_t scanned_ = 0;  // start of the first line that is not whole yet
    std::int64_t lines_ = 0;
};

class ResponseParser {
  public:
    // Pieces of the body go to `on_body`; false from it ends the message early (stopped()).
    ResponseParser(bool answer_to_head, std::int64_t header_bytes_max,
                   std::function<bool(std::string_view)> on_body);
    ~ResponseParser();

    // How many of `bytes` were used; the rest is given again with more behind it. Interim (1xx)
    // answers are passed over.
    Result<std::size_t> feed(std::string_view bytes);
    Status feed_end();  // the peer has closed

    bool head_done() const;
    bool done() const;
    bool stopped() const;
    bool keep_alive() const;  // once done
    Response& response();     // status and headers once head_done()

  private:
    class Engine;
    void restart();
    bool answer_to_head_;
    std::int64_t header_bytes_max_;
    std::function<bool(std::string_view)> on_body_;
    std::unique_ptr<Engine> engine_;
};

}  // namespace tandem::http

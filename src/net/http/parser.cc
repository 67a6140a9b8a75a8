// SPDX-License-Identifier: Apache-2.0
// The only file that sees Beast. Its own assertions are off here, as in the builds it is usually
// shipped in: one of them can be reached from outside (an empty chunked body that arrives in
// pieces). http_fuzz watches the memory.
#define BOOST_DISABLE_ASSERTS
#include "net/http/parser.h"

#include <algorithm>
#include <random>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "base/hex.h"
#include "base/quantity.h"

namespace tandem::http {

namespace beast = boost::beast;
using beast::http::field;
using beast_text = beast::string_view;
using beast_error = boost::system::error_code;

namespace {

std::string_view view(beast_text text) {
    return {text.data(), text.size()};
}

std::unexpected<Refusal> refuse(int status, std::string detail) {
    return std::unexpected(Refusal{status, std::move(detail)});
}

// Unique within a process and hard to meet in another: 32 random bits of the thread, 64 of a
// counter from a random start. An id is for finding log lines, not a secret.
std::string make_request_id() {
    thread_local std::uint64_t counter =
        (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}();
    thread_local std::uint32_t thread = std::random_device{}();
    ++counter;
    std::uint8_t bytes[12];
    for (int i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(thread >> (8 * i));
    for (int i = 0; i < 8; ++i) bytes[4 + i] = static_cast<std::uint8_t>(counter >> (56 - 8 * i));
    return render_hex(bytes);
}

bool sane_request_id(std::string_view id) {
    return !id.empty() && id.size() <= 64 && std::ranges::all_of(id, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '.' || c == '_' || c == '-';
    });
}

}  // namespace

class RequestParser::Engine : public beast::http::basic_parser<true> {
  public:
    explicit Engine(RequestParser& owner) : owner_(owner) {
        header_limit(1 << 30);  // scan() has checked the sizes already
        body_limit(boost::none);
    }
    std::int64_t body_max = 0;
    std::optional<Refusal> refusal;

  protected:
    void on_request_impl(beast::http::verb, beast_text method, beast_text target, int version,
                         beast_error&) override {
        owner_.request.method = view(method);
        owner_.request.target = view(target);
        owner_.framing.http_11 = version == 11;
    }
    void on_response_impl(int, beast_text, int, beast_error&) override {}
    void on_field_impl(field, beast_text name, beast_text value, beast_error& error) override {
        if (head_done_) return;  // trailers are not used
        if (view(name).find('_') != std::string_view::npos) {
            refusal = Refusal{400, "header names must not hold '_'"};
            error = beast::http::error::bad_field;
        }
        owner_.request.headers.add(std::string(view(name)), std::string(view(value)));
    }
    void on_header_impl(beast_error&) override { head_done_ = true; }
    void on_body_init_impl(const boost::optional<std::uint64_t>&, beast_error&) override {}
    std::size_t on_body_impl(beast_text body, beast_error&) override { return body.size(); }
    void on_chunk_header_impl(std::uint64_t size, beast_text, beast_error& error) override {
        auto have = static_cast<std::uint64_t>(owner_.request.body.size());
        if (size <= static_cast<std::uint64_t>(body_max) - std::min<std::uint64_t>(have, body_max))
            return;
        refusal = Refusal{413, "the body is larger than " + std::to_string(body_max) + " bytes"};
        error = beast::http::error::body_limit;
    }
    std::size_t on_chunk_body_impl(std::uint64_t, beast_text body, beast_error&) override {
        owner_.request.body.append(body.data(), body.size());
        return body.size();
    }
    void on_finish_impl(beast_error&) override {}

  private:
    RequestParser& owner_;
    bool head_done_ = false;
};

RequestParser::RequestParser() : engine_(std::make_unique<Engine>(*this)) {}
RequestParser::~RequestParser() = default;

// Walks whole lines once; true when the head's empty line has been seen. scanned_ is then behind
// it.
Accepted<bool> RequestParser::scan(std::string_view bytes, const Limits& limits) {
    auto limit = [](std::int64_t value) { return static_cast<std::size_t>(value); };
    while (true) {
        std::size_t end = bytes.find('\n', scanned_);
        std::size_t length = std::min(end, bytes.size()) - scanned_;
        if (lines_ == 0 && length > limit(limits.request_line_max))
            return refuse(414, "the request line is longer than " +
                                   std::to_string(limits.request_line_max) + " bytes");
        if (lines_ > 0 && scanned_ + length - begin_ > limit(limits.header_bytes_max))
            return refuse(431, "the headers are larger than " +
                                   std::to_string(limits.header_bytes_max) + " bytes");
        if (length > 0 && lines_ > 0 && (bytes[scanned_] == ' ' || bytes[scanned_] == '\t'))
            return refuse(400, "folded header lines are not allowed");
        if (end == bytes.npos) return false;
        if (length == 0 || bytes[end - 1] != '\r') return refuse(400, "lines must end in CR LF");
        scanned_ = end + 1;
        if (length == 1 &&
            lines_ == 0) {  // RFC 9112 2.2: empty lines before a request are passed over
            begin_ = scanned_;
            if (begin_ > 8) return refuse(400, "empty lines instead of a request");
            continue;
        }
        if (length == 1) return true;
        if (++lines_ > limits.headers_max + 1)
            return refuse(431,
                          "there are more than " + std::to_string(limits.headers_max) + " headers");
    }
}

Accepted<std::optional<std::size_t>> RequestParser::take_head(std::string_view bytes,
                                                              const Limits& limits) {
    auto whole = scan(bytes, limits);
    if (!whole) return std::unexpected(std::move(whole).error());
    if (!*whole) return std::optional<std::size_t>{};
    beast_error error;
    engine_->put({bytes.data() + begin_, scanned_ - begin_}, error);
    if (engine_->refusal) return std::unexpected(*engine_->refusal);
    if (error) {
        std::string_view line = bytes.substr(begin_, bytes.find('\r', begin_) - begin_);
        bool versioned = std::ranges::count(line, ' ') == 2 && line.find(" HTTP/") != line.npos;
        bool other_version = versioned && error == beast::http::error::bad_version;
        return refuse(other_version ? 505 : 400,
                      other_version ? "the HTTP version must be 1.0 or 1.1" : error.message());
    }
    if (!engine_->is_header_done()) return refuse(400, "the request head is malformed");
    auto finished = finish_head();
    if (!finished) return std::unexpected(std::move(finished).error());
    return scanned_;
}

Accepted<void> RequestParser::finish_head() {
    const Headers& headers = request.headers;
    auto target = parse_target(request.target);
    if (!target) return refuse(400, target.error().message);
    request.path = std::move(target->path);
    request.query = std::move(target->query);
    int hosts = 0, lengths = 0, encodings = 0;
    std::string_view id;
    for (const auto& [name, value] : headers) {
        if (same_name(name, "Host")) {
            ++hosts;
        } else if (same_name(name, "Content-Length")) {
            ++lengths;
            auto length = parse_integer(value);
            if (value.starts_with('-') || !length)
                return refuse(400, "Content-Length must be one whole number");
            framing.content_length = *length;
        } else if (same_name(name, "Transfer-Encoding")) {
            ++encodings;
            if (!same_name(value, "chunked"))
                return refuse(501, "Transfer-Encoding must be 'chunked'");
            framing.chunked = true;
        } else if (same_name(name, "Content-Encoding")) {
            if (!same_name(value, "identity"))
                return refuse(415, "Content-Encoding must be 'identity'");
        } else if (same_name(name, "Expect")) {
            if (!same_name(value, "100-continue"))
                return refuse(417, "Expect must be '100-continue'");
            framing.expects_continue = framing.http_11;
        } else if (same_name(name, "X-Request-Id") && sane_request_id(value)) {
            id = value;
        }
    }
    if (hosts > 1 || (hosts == 0 && framing.http_11))
        return refuse(400, "one Host header is needed");
    if (lengths > 1) return refuse(400, "Content-Length occurs twice");
    if (encodings > 1 || (encodings > 0 && (lengths > 0 || !framing.http_11)))
        return refuse(400, "Transfer-Encoding must stand alone, once, in HTTP/1.1");
    if (request.method == "CONNECT") return refuse(501, "CONNECT is not supported");
    request.id = id.empty() ? make_request_id() : std::string(id);
    framing.keep_alive = engine_->keep_alive();
    if (framing.chunked) engine_->eager(true);
    return {};
}

Accepted<std::size_t> RequestParser::take_chunked(std::string_view bytes, std::int64_t body_max) {
    engine_->body_max = body_max;
    if (bytes.empty()) return 0;
    beast_error error;
    std::size_t used = engine_->put({bytes.data(), bytes.size()}, error);
    if (engine_->refusal) return std::unexpected(*engine_->refusal);
    if (error && error != beast::http::error::need_more) return refuse(400, error.message());
    // What is left is part of a chunk's head or of trailers: short, or something is wrong.
    if (!engine_->is_done() && bytes.size() - used > 16 * 1024)
        return refuse(400, "a chunk header or the trailers are too long");
    return used;
}

bool RequestParser::chunked_done() const {
    return engine_->is_done();
}

class ResponseParser::Engine : public beast::http::basic_parser<false> {
  public:
    Engine(const std::function<bool(std::string_view)>& on_body, bool answer_to_head,
           std::int64_t header_max)
        : on_body_(on_body) {
        header_limit(static_cast<std::uint32_t>(header_max));
        body_limit(boost::none);
        skip(answer_to_head);
        // Not eager: put() returns after the head, so that an interim answer can be told from the
        // last one.
    }
    Response response;
    bool stopped = false;

  protected:
    void on_request_impl(beast::http::verb, beast_text, beast_text, int, beast_error&) override {}
    void on_response_impl(int status, beast_text, int, beast_error&) override {
        response.status = status;
    }
    void on_field_impl(field, beast_text name, beast_text value, beast_error&) override {
        if (!is_header_done())
            response.headers.add(std::string(view(name)), std::string(view(value)));
    }
    void on_header_impl(beast_error&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, beast_error&) override {}
    std::size_t on_body_impl(beast_text body, beast_error& error) override {
        return give(body, error);
    }
    void on_chunk_header_impl(std::uint64_t, beast_text, beast_error&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, beast_text body, beast_error& error) override {
        return give(body, error);
    }
    void on_finish_impl(beast_error&) override {}

  private:
    std::size_t give(beast_text body, beast_error& error) {
        if (!body.empty() && !on_body_(view(body))) {
            stopped = true;
            error = beast::http::error::body_limit;
        }
        return body.size();
    }
    const std::function<bool(std::string_view)>& on_body_;
};

ResponseParser::ResponseParser(bool answer_to_head, std::int64_t header_bytes_max,
                               std::function<bool(std::string_view)> on_body)
    : answer_to_head_(answer_to_head),
      header_bytes_max_(header_bytes_max),
      on_body_(std::move(on_body)) {
    restart();
}
ResponseParser::~ResponseParser() = default;

void ResponseParser::restart() {
    engine_ = std::make_unique<Engine>(on_body_, answer_to_head_, header_bytes_max_);
}

Result<std::size_t> ResponseParser::feed(std::string_view bytes) {
    std::size_t used = 0;
    while (used < bytes.size() && !engine_->is_done()) {
        beast_error error;
        std::size_t step = engine_->put({bytes.data() + used, bytes.size() - used}, error);
        used += step;
        if (engine_->stopped) return used;
        if (error == beast::http::error::need_more) break;
        if (error) return fail(ErrorCode::invalid, "the answer is not HTTP: " + error.message());
        int status = engine_->response.status;
        if (engine_->is_header_done() && status / 100 == 1 && status != 101)
            restart();
        else if (step == 0 && !engine_->is_done())
            break;
    }
    // Left over is a part of a head, a chunk's head or trailers.
    if (!engine_->is_done() && bytes.size() - used > static_cast<std::size_t>(header_bytes_max_))
        return fail(ErrorCode::invalid, "the answer's headers are too large");
    return used;
}

Status ResponseParser::feed_end() {
    if (engine_->is_done()) return {};
    if (!engine_->got_some()) return fail(ErrorCode::unavailable, "closed before answering");
    beast_error error;
    engine_->put_eof(error);
    if (error) return fail(ErrorCode::unavailable, "cut off in the middle of its answer");
    return {};
}

bool ResponseParser::head_done() const {
    return engine_->is_header_done();
}
bool ResponseParser::done() const {
    return engine_->is_done();
}
bool ResponseParser::stopped() const {
    return engine_->stopped;
}
bool ResponseParser::keep_alive() const {
    return engine_->is_done() && engine_->keep_alive();
}
Response& ResponseParser::response() {
    return engine_->response;
}

}  // namespace tandem::http

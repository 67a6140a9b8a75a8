// SPDX-License-Identifier: Apache-2.0
// TLS over memory: bytes of the socket in, plain bytes out, and back. The owner moves the bytes, so
// one piece of code serves blocking clients and event loops. TLS 1.2 and 1.3, HTTP/1.1 by ALPN.
// Inside net/http only. Thread rule: TlsContext is shared and immutable; a TlsSession has one
// owner.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/server.h"

struct ssl_ctx_st;
struct ssl_st;
struct bio_st;

namespace tandem::http {

struct ClientTlsFiles {
    std::string ca_file{};  // empty: the system's
    std::string certificate_file{};
    std::string key_file{};
};

class TlsContext {
  public:
    static Result<std::shared_ptr<TlsContext>> for_server(const TlsFiles& files);
    static Result<std::shared_ptr<TlsContext>> for_client(const ClientTlsFiles& files);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

  private:
    friend class TlsSession;
    TlsContext(ssl_ctx_st* context, bool server) : context_(context), server_(server) {}
    ssl_ctx_st* context_;
    bool server_;
};

// A server's certificate, read again when its files have changed (looked at every two seconds at most): new ones
// serve new connections, those that run keep theirs; files that can't be used change nothing. One owner.
class ServerIdentity {
  public:
    static Result<std::shared_ptr<ServerIdentity>> load(TlsFiles files);
    const std::shared_ptr<TlsContext>& current();

  private:
    using Clock = std::chrono::steady_clock;
    using Stamp = std::array<std::int64_t, 12>;  // times, inodes and sizes of the three files
    explicit ServerIdentity(TlsFiles files) : files_(std::move(files)), seen_(stamp()) {}
    Stamp stamp() const;

    TlsFiles files_;
    Stamp seen_;
    Clock::time_point looked_{};
    std::shared_ptr<TlsContext> context_;
};

class TlsSession {
  public:
    // `host` is verified and sent as SNI by clients; servers leave it empty.
    TlsSession(std::shared_ptr<TlsContext> context, const std::string& host = {});
    ~TlsSession();
    TlsSession(const TlsSession&) = delete;
    TlsSession& operator=(const TlsSession&) = delete;

    // Takes bytes of the socket (none starts a client's handshake) and appends what they decrypt
    // to.
    Status receive(std::string_view cipher, std::string& plain);
    Status send(std::string_view plain);  // requires: ready()
    std::string take_output();            // what must now be sent on the socket
    void say_goodbye();                   // adds close_notify to the output

    bool ready() const { return ready_; }
    bool peer_closed() const { return peer_closed_; }
    std::string peer_name() const;  // common name of the verified peer's certificate

  private:
    Status broken() const;
    std::shared_ptr<TlsContext> context_;
    ssl_st* session_;
    bio_st* incoming_;  // owned by session_
    bio_st* outgoing_;
    bool ready_ = false;
    bool peer_closed_ = false;
};

}  // namespace tandem::http

// SPDX-License-Identifier: Apache-2.0
// TLS on the public side of the relay: TLS 1.2 and 1.3, server certificates from PEM files. OpenSSL works on the
// connection's socket itself; a plain connection has no session and pays nothing.
// TlsIdentity looks at its files again from time to time: new ones serve new connections, those that run keep what
// they began with; files that can't be used change nothing and are told by error().
// Thread rule: identity: any thread; a session: its connection's loop.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "net/relay/outgoing.h"
#include "net/relay/socket.h"

struct ssl_ctx_st;
struct ssl_st;

namespace tandem::relay {

struct TlsFiles {
    std::string certificate_file{};  // PEM, own certificate first, then those that vouch for it
    std::string key_file{};
};

class TlsSession {
  public:
    TlsSession(ssl_ctx_st* context, const Fd& socket);
    ~TlsSession();
    TlsSession(const TlsSession&) = delete;
    TlsSession& operator=(const TlsSession&) = delete;

    ReadResult read(char* into, std::size_t room);  // also what the handshake needs
    IoState write(std::string_view bytes, std::size_t& sent);
    void say_goodbye();

  private:
    ssl_st* session_;
    bool broken_ = false;
};

class TlsIdentity {
  public:
    // Error: a file that can't be read, or a key that is not the certificate's.
    static Result<std::shared_ptr<TlsIdentity>> load(TlsFiles files);
    std::unique_ptr<TlsSession> accept(const Fd& socket);
    // Reads the files again if they have changed; looks at most every two seconds. True: there is a new certificate.
    bool refresh(std::int64_t now_ms);
    std::string error() const;                      // why the files as they are now are not used; empty: they are

  private:
    struct Stamp {                                  // of both files
        std::int64_t numbers[8] = {};
        bool operator==(const Stamp&) const = default;
    };
    explicit TlsIdentity(TlsFiles files) : files_(std::move(files)) {}
    Stamp stamp() const;
    Status read();

    TlsFiles files_;
    mutable std::mutex mutex_;
    std::shared_ptr<ssl_ctx_st> context_;
    Stamp seen_;
    std::int64_t looked_ms_ = 0;
    std::string error_;
};

}  // namespace tandem::relay

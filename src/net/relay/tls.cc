// SPDX-License-Identifier: Apache-2.0
#include "net/relay/tls.h"

#include <algorithm>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include "base/assert.h"

namespace tandem::relay {
namespace {

constexpr std::int64_t look_every_ms = 2'000;

std::string last_reason() {
    const auto code = ERR_peek_last_error();
    ERR_clear_error();
    const char* reason = code ? ERR_reason_error_string(code) : nullptr;
    return reason ? reason : "unknown reason";
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* offered, unsigned int offered_length, void*) {
    static constexpr unsigned char http_11[] = "\x08http/1.1";
    if (SSL_select_next_proto(const_cast<unsigned char**>(out), out_length, http_11, 9, offered,
                              offered_length) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    return SSL_TLSEXT_ERR_OK;
}

Result<std::shared_ptr<SSL_CTX>> make_context(const TlsFiles& files) {
    std::shared_ptr<SSL_CTX> made(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    SSL_CTX* context = made.get();
    TANDEM_ASSERT(context, "OpenSSL gives a context");
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(
        context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);  // one read a record, not two
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
    if (SSL_CTX_use_certificate_chain_file(context, files.certificate_file.c_str()) != 1)
        return fail(ErrorCode::invalid,
                    "TLS certificate " + files.certificate_file + ": " + last_reason());
    if (SSL_CTX_use_PrivateKey_file(context, files.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
        return fail(ErrorCode::invalid, "TLS key " + files.key_file + ": " + last_reason());
    if (SSL_CTX_check_private_key(context) != 1)
        return fail(ErrorCode::invalid,
                    "TLS key " + files.key_file + " does not belong to " + files.certificate_file);
    return made;
}

}  // namespace

TlsSession::TlsSession(ssl_ctx_st* context, const Fd& socket) : session_(SSL_new(context)) {
    TANDEM_ASSERT(session_, "OpenSSL gives a session");
    SSL_set_fd(session_, socket.get());
    SSL_set_accept_state(session_);
}

TlsSession::~TlsSession() {
    SSL_free(session_);
}

ReadResult TlsSession::read(char* into, std::size_t room) {
    ReadResult result;
    if (SSL_read_ex(session_, into, room, &result.bytes) == 1) return result;  // there may be more
    switch (SSL_get_error(session_, 0)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            result.drained = true;
            break;  // tried again when either can be
        case SSL_ERROR_ZERO_RETURN:
            result.ended = true;
            break;
        default:
            result.broken = broken_ = true;
            break;
    }
    ERR_clear_error();
    return result;
}

IoState TlsSession::write(std::string_view bytes, std::size_t& sent) {
    if (SSL_write_ex(session_, bytes.data(), bytes.size(), &sent) == 1) return IoState::done;
    const int error = SSL_get_error(session_, 0);
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ) return IoState::blocked;
    broken_ = true;
    return IoState::broken;
}

void TlsSession::say_goodbye() {
    if (broken_ || !SSL_is_init_finished(session_)) return;
    SSL_shutdown(session_);
    ERR_clear_error();
}

Result<std::shared_ptr<TlsIdentity>> TlsIdentity::load(TlsFiles files) {
    auto identity = std::shared_ptr<TlsIdentity>(new TlsIdentity(std::move(files)));
    identity->seen_ = identity->stamp();
    TANDEM_TRY(identity->read());
    return identity;
}

Status TlsIdentity::read() {
    TANDEM_LET(made, make_context(files_));
    context_ = std::move(made);
    return {};
}

TlsIdentity::Stamp TlsIdentity::stamp() const {
    Stamp result;
    auto* at = result.numbers;
    for (const std::string* path : {&files_.certificate_file, &files_.key_file}) {
        struct stat facts{};
        if (::stat(path->c_str(), &facts) == 0) {
            at[0] = facts.st_mtim.tv_sec;
            at[1] = facts.st_mtim.tv_nsec;
            at[2] = static_cast<std::int64_t>(facts.st_ino);
            at[3] = facts.st_size;
        }
        at += 4;
    }
    return result;
}

std::unique_ptr<TlsSession> TlsIdentity::accept(const Fd& socket) {
    const std::lock_guard lock(mutex_);
    return std::make_unique<TlsSession>(context_.get(), socket);
}

bool TlsIdentity::refresh(std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    if (now_ms - looked_ms_ < look_every_ms) return false;
    looked_ms_ = now_ms;
    const auto now = stamp();
    if (now == seen_) return false;
    const auto made = read();
    if (!made) {  // half-written, perhaps: looked at again, whatever their stamps say
        error_ = made.error().message;
        return false;
    }
    seen_ = now;
    error_.clear();
    return true;
}

std::string TlsIdentity::error() const {
    const std::lock_guard lock(mutex_);
    return error_;
}

}  // namespace tandem::relay

// SPDX-License-Identifier: Apache-2.0
#include "net/http/tls.h"

#include <arpa/inet.h>
#include <sys/stat.h>

#include <algorithm>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/assert.h"
#include "net/http/tls_files.h"

namespace tandem::http {

namespace {

std::string last_reason() {
    unsigned long code = ERR_peek_last_error();
    ERR_clear_error();
    const char* reason = code ? ERR_reason_error_string(code) : nullptr;
    return reason ? reason : "unknown reason";
}

std::unexpected<Error> bad_file(const std::string& what, const std::string& file,
                                const std::string& field = {}) {
    return fail(ErrorCode::invalid, "reading " + what + " " + file + ": " + last_reason(), field);
}

Status use_identity(SSL_CTX* context, const std::string& certificate, const std::string& key) {
    if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1)
        return bad_file("TLS certificate", certificate, "certificate_file");
    const bool used = SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) == 1;
    // It looks at the certificate, too.
    const int reason = used ? 0 : ERR_GET_REASON(ERR_peek_last_error());
    const bool foreign = reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH;
    if (!used && !foreign) return bad_file("TLS key", key, "key_file");
    ERR_clear_error();
    if (foreign || SSL_CTX_check_private_key(context) != 1)
        return fail(ErrorCode::invalid,
                    "TLS key " + key + " does not belong to certificate " + certificate,
                    "key_file");
    return {};
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_length,
                    const unsigned char* offered, unsigned int offered_length, void*) {
    static constexpr unsigned char http_11[] = "\x08http/1.1";
    if (SSL_select_next_proto(const_cast<unsigned char**>(out), out_length, http_11, 9, offered,
                              offered_length) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    return SSL_TLSEXT_ERR_OK;
}

void set_common(SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // 34 KB less per idle connection
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}

}  // namespace

TlsContext::~TlsContext() {
    SSL_CTX_free(context_);
}

Result<std::shared_ptr<TlsContext>> TlsContext::for_server(const TlsFiles& files) {
    std::shared_ptr<TlsContext> made(new TlsContext(SSL_CTX_new(TLS_server_method()), true));
    SSL_CTX* context = made->context_;
    TANDEM_ASSERT(context, "OpenSSL gives a context");
    set_common(context);
    TANDEM_TRY(use_identity(context, files.certificate_file, files.key_file));
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
    if (!files.client_ca_file.empty()) {
        if (SSL_CTX_load_verify_file(context, files.client_ca_file.c_str()) != 1)
            return bad_file("client CA", files.client_ca_file, "client_ca_file");
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    return made;
}

Status check_tls_files(const TlsFiles& files) {
    TANDEM_TRY(TlsContext::for_server(files));
    return {};
}

Result<std::shared_ptr<TlsContext>> TlsContext::for_client(const ClientTlsFiles& files) {
    std::shared_ptr<TlsContext> made(new TlsContext(SSL_CTX_new(TLS_client_method()), false));
    SSL_CTX* context = made->context_;
    TANDEM_ASSERT(context, "OpenSSL gives a context");
    set_common(context);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    static constexpr unsigned char http_11[] = "\x08http/1.1";
    SSL_CTX_set_alpn_protos(context, http_11, 9);
    if (!files.certificate_file.empty())
        TANDEM_TRY(use_identity(context, files.certificate_file, files.key_file));
    if (files.ca_file.empty())
        SSL_CTX_set_default_verify_paths(context);
    else if (SSL_CTX_load_verify_file(context, files.ca_file.c_str()) != 1)
        return bad_file("CA", files.ca_file);
    return made;
}

Result<std::shared_ptr<ServerIdentity>> ServerIdentity::load(TlsFiles files) {
    std::shared_ptr<ServerIdentity> made(new ServerIdentity(std::move(files)));
    TANDEM_LET(context, TlsContext::for_server(made->files_));
    made->context_ = std::move(context);
    return made;
}

ServerIdentity::Stamp ServerIdentity::stamp() const {
    Stamp result{};
    auto at = result.begin();
    for (const std::string* path :
         {&files_.certificate_file, &files_.key_file, &files_.client_ca_file}) {
        struct stat facts{};
        if (!path->empty() && ::stat(path->c_str(), &facts) == 0)
            std::ranges::copy(
                std::array<std::int64_t, 4>{facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec,
                                            static_cast<std::int64_t>(facts.st_ino), facts.st_size},
                at);
        at += 4;
    }
    return result;
}

const std::shared_ptr<TlsContext>& ServerIdentity::current() {
    const auto now = Clock::now();
    if (now - looked_ < std::chrono::seconds(2)) return context_;
    looked_ = now;
    const Stamp stamp_now = stamp();
    if (stamp_now == seen_) return context_;
    if (auto made =
            TlsContext::for_server(files_)) {  // else half-written, perhaps: looked at again
        context_ = std::move(*made);
        seen_ = stamp_now;
    }
    return context_;
}

TlsSession::TlsSession(std::shared_ptr<TlsContext> context, const std::string& host)
    : context_(std::move(context)),
      session_(SSL_new(context_->context_)),
      incoming_(BIO_new(BIO_s_mem())),
      outgoing_(BIO_new(BIO_s_mem())) {
    TANDEM_ASSERT(session_ && incoming_ && outgoing_, "OpenSSL gives a session");
    BIO_set_mem_eof_return(incoming_, -1);  // empty means "later", not "ended"
    SSL_set_bio(session_, incoming_, outgoing_);
    if (context_->server_) {
        SSL_set_accept_state(session_);
        return;
    }
    SSL_set_connect_state(session_);
    unsigned char address[16];
    bool numeric = inet_pton(AF_INET, host.c_str(), address) == 1 ||
                   inet_pton(AF_INET6, host.c_str(), address) == 1;
    if (numeric) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_), host.c_str());
    } else {
        SSL_set1_host(session_, host.c_str());
        SSL_set_tlsext_host_name(session_, host.c_str());
    }
}

TlsSession::~TlsSession() {
    SSL_free(session_);
}

Status TlsSession::broken() const {
    long verdict = SSL_get_verify_result(session_);
    std::string reason = last_reason();
    if (verdict != X509_V_OK) reason += std::string(": ") + X509_verify_cert_error_string(verdict);
    return fail(ErrorCode::unavailable, "TLS failed: " + reason);
}

Status TlsSession::receive(std::string_view cipher, std::string& plain) {
    ERR_clear_error();
    if (!cipher.empty()) BIO_write(incoming_, cipher.data(), static_cast<int>(cipher.size()));
    if (!ready_) {
        int result = SSL_do_handshake(session_);
        if (result != 1) {
            int error = SSL_get_error(session_, result);
            if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return {};
            return broken();
        }
        ready_ = true;
    }
    char buffer[16 * 1024];
    while (true) {
        int got = SSL_read(session_, buffer, sizeof buffer);
        if (got > 0) {
            plain.append(buffer, static_cast<std::size_t>(got));
            continue;
        }
        int error = SSL_get_error(session_, got);
        if (error == SSL_ERROR_ZERO_RETURN)
            peer_closed_ = true;
        else if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
            return broken();
        return {};
    }
}

Status TlsSession::send(std::string_view plain) {
    TANDEM_ASSERT(ready_, "TLS is ready before data is sent");
    ERR_clear_error();
    while (!plain.empty()) {
        int piece = static_cast<int>(std::min<std::size_t>(plain.size(), 1 << 20));
        int sent = SSL_write(session_, plain.data(), piece);
        if (sent <= 0) return broken();
        plain.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
}

std::string TlsSession::take_output() {
    std::string output(BIO_ctrl_pending(outgoing_), '\0');
    if (!output.empty()) BIO_read(outgoing_, output.data(), static_cast<int>(output.size()));
    return output;
}

void TlsSession::say_goodbye() {
    if (ready_) SSL_shutdown(session_);
    ERR_clear_error();
}

std::string TlsSession::peer_name() const {
    X509* certificate = SSL_get0_peer_certificate(session_);
    if (!certificate || SSL_get_verify_result(session_) != X509_V_OK) return {};
    char name[256];
    int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name,
                                           sizeof name);
    return length > 0 ? std::string(name, static_cast<std::size_t>(length)) : std::string();
}

}  // namespace tandem::http

// SPDX-License-Identifier: Apache-2.0
// The public side of the relay: both kinds of addresses, TLS, certificates that change while
// streams run.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/relay/server.h"

namespace tandem::relay {
namespace {

// Answers with the caller's address; /stream is answered by and by, as calls of /more come.
class TestHandler final : public Handler {
  public:
    std::unique_ptr<RequestSink> on_request(const RequestHead& head, Exchange& exchange) override {
        if (head.path == "/stream") {
            stream_ = &exchange;
            exchange.start({.status = 200});
            exchange.send("one");
            return std::make_unique<Sink>();
        }
        if (head.path == "/more" && stream_) {
            stream_->send("two");
            stream_->finish();
            stream_ = nullptr;
        }
        if (head.method == "POST") return std::make_unique<Echo>(exchange);
        exchange.respond({}, exchange.peer().text() + "END");
        return nullptr;
    }
    std::int64_t body_bytes_max(const RequestHead&) const override { return 8 << 20; }
    std::string render_refusal(int, std::string_view what) const override {
        return std::string(what);
    }

  private:
    struct Sink : RequestSink {
        void on_body(std::string_view) override {}
        void on_body_end() override {}
        void on_drained() override {}
        void on_client_gone() override {}
    };
    struct Echo final : Sink {
        explicit Echo(Exchange& to) : exchange(to) {}
        void on_body(std::string_view piece) override { body.append(piece); }
        void on_body_end() override { exchange.respond({}, body); }
        Exchange& exchange;
        std::string body;
    };
    Exchange* stream_ = nullptr;
};

std::unique_ptr<Server> serve(ServerOptions options) {
    auto server =
        Server::start(options, [](Loop&, int) { return std::make_unique<TestHandler>(); });
    EXPECT_TRUE(server) << server.error().message;
    return server ? std::move(*server) : nullptr;
}

Fd connect_to(const char* host, std::uint16_t port) {
    const bool v6 = std::string_view(host).contains(':');
    Fd fd(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0));
    const timeval limit{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in v4_address{
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {}, .sin_zero = {}};
    sockaddr_in6 v6_address{.sin6_family = AF_INET6,
                            .sin6_port = htons(port),
                            .sin6_flowinfo = 0,
                            .sin6_addr = {},
                            .sin6_scope_id = 0};
    ::inet_pton(v6 ? AF_INET6 : AF_INET, host,
                v6 ? static_cast<void*>(&v6_address.sin6_addr) : &v4_address.sin_addr);
    const int rc =
        v6 ? ::connect(fd.get(), reinterpret_cast<sockaddr*>(&v6_address), sizeof v6_address)
           : ::connect(fd.get(), reinterpret_cast<sockaddr*>(&v4_address), sizeof v4_address);
    if (rc != 0) fd.reset();
    return fd;
}

std::string ask_plain(const char* host, std::uint16_t port) {
    const auto fd = connect_to(host, port);
    if (!fd) return "not reached";
    const std::string_view request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    if (::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "not sent";
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;)
        text.append(buffer, static_cast<std::size_t>(n));
    const auto body = text.find("\r\n\r\n");
    return body == std::string::npos ? text : text.substr(body + 4);
}

TEST(Listening, all_addresses_means_both_kinds) {
    const bool has_v6 = has_address(*Endpoint::parse("[::1]:0"));
    const auto server = serve({.listen = *Endpoint::parse("[::]:0")});
    EXPECT_TRUE(ask_plain("127.0.0.1", server->endpoint().port).starts_with("127.0.0.1:"));
    if (has_v6) EXPECT_TRUE(ask_plain("::1", server->endpoint().port).starts_with("[::1]:"));
}

TEST(Listening, localhost_means_both_loopback_addresses_on_one_port) {
    const auto wanted = parse_listen("localhost:0");
    ASSERT_TRUE(wanted);
    ASSERT_EQ(wanted->size(), 2u);
    const auto server = serve({.listen = wanted->front(), .also = {wanted->back()}, .threads = 2});
    EXPECT_TRUE(ask_plain("127.0.0.1", server->endpoint().port).starts_with("127.0.0.1:"));
    if (has_address(wanted->back()))
        EXPECT_TRUE(ask_plain("::1", server->endpoint().port).starts_with("[::1]:"));
    EXPECT_FALSE(check_port_is_free(server->endpoint()));
}

TEST(Listening, addresses_are_read_and_told_alike) {
    for (const auto* text :
         {"127.0.0.1:80", "[::1]:8080", "0.0.0.0:1", "[::]:2", "[2001:db8::7]:65535"})
        EXPECT_EQ(Endpoint::parse(text)->text(), text);
    for (const auto* text :
         {"", "127.0.0.1", "::1:80", "[::1]", "1.2.3:4", "[1.2.3.4]:5", "host:80", "[::1]:65536"})
        EXPECT_FALSE(Endpoint::parse(text)) << text;
    EXPECT_EQ(Endpoint::parse("[2001:db8:1:2:3::7]:5")->network(),
              Endpoint::parse("[2001:db8:1:2::]:0"));
    EXPECT_TRUE(Endpoint::parse("[::1]:5")->loopback() &&
                Endpoint::parse("127.9.9.9:5")->loopback());
    EXPECT_FALSE(Endpoint::parse("[::2]:5")->loopback() ||
                 Endpoint::parse("10.0.0.1:5")->loopback());
}

// A folder with a self-signed certificate, made anew by issue().
class Certificate {
  public:
    explicit Certificate(const std::string& name) {
        char folder[] = "/tmp/tandem-tls-XXXXXX";
        folder_ = ::mkdtemp(folder);
        issue(name);
    }
    ~Certificate() { std::filesystem::remove_all(folder_); }
    TlsFiles files() const {
        return {.certificate_file = folder_ + "/cert.pem", .key_file = folder_ + "/key.pem"};
    }
    void issue(const std::string& name) {
        EVP_PKEY* key = EVP_EC_gen("P-256");
        X509* made = X509_new();
        X509_set_version(made, 2);
        X509_gmtime_adj(X509_getm_notBefore(made), -3600);
        X509_gmtime_adj(X509_getm_notAfter(made), 3600);
        X509_set_pubkey(made, key);
        X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
        X509_set_issuer_name(made, X509_get_subject_name(made));
        X509_sign(made, key, EVP_sha256());
        write(files().key_file, [key](FILE* file) {
            PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
        });
        write(files().certificate_file, [made](FILE* file) { PEM_write_X509(file, made); });
        X509_free(made);
        EVP_PKEY_free(key);
    }

  private:
    static void write(const std::string& path, const std::function<void(FILE*)>& fill) {
        FILE* file = std::fopen((path + ".new").c_str(), "w");
        fill(file);
        std::fclose(file);
        std::filesystem::rename(path + ".new", path);
    }
    std::string folder_;
};

class TlsPeer {
  public:
    explicit TlsPeer(std::uint16_t port, int version_max = TLS1_3_VERSION)
        : fd_(connect_to("127.0.0.1", port)) {
        std::signal(SIGPIPE, SIG_IGN);  // of this side
        SSL_CTX* context = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_security_level(context, 0);
        SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
        SSL_CTX_set_max_proto_version(context, version_max);
        session_ = SSL_new(context);
        SSL_CTX_free(context);
        SSL_set_fd(session_, fd_.get());
        up_ = SSL_connect(session_) == 1;
    }
    ~TlsPeer() { SSL_free(session_); }
    TlsPeer(const TlsPeer&) = delete;
    TlsPeer& operator=(const TlsPeer&) = delete;
    bool up() const { return up_; }
    std::string name() const {
        X509* shown = SSL_get0_peer_certificate(session_);
        char name[64] = {};
        if (shown)
            X509_NAME_get_text_by_NID(X509_get_subject_name(shown), NID_commonName, name,
                                      sizeof name);
        return name;
    }
    void send(std::string_view text) {
        std::size_t sent = 0;
        for (; !text.empty(); text.remove_prefix(sent))
            if (SSL_write_ex(session_, text.data(), text.size(), &sent) != 1) return;
    }
    std::string read_until(std::string_view mark) {
        char buffer[65536];
        for (std::size_t n = 0; !text_.contains(mark);) {
            if (SSL_read_ex(session_, buffer, sizeof buffer, &n) != 1) return {};
            text_.append(buffer, n);
        }
        const auto end = text_.find(mark) + mark.size();
        const auto result = text_.substr(0, end);
        text_.erase(0, end);
        return result;
    }

  private:
    Fd fd_;
    SSL* session_ = nullptr;
    bool up_ = false;
    std::string text_;
};

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

TEST(RelayTls, requests_small_and_large_are_answered) {
    const Certificate certificate("a");
    const auto server = serve({.tls = certificate.files()});
    TlsPeer peer(server->endpoint().port);
    ASSERT_TRUE(peer.up());
    for (int i = 0; i < 3; ++i) {
        peer.send(get);
        EXPECT_TRUE(peer.read_until("\r\n\r\n").starts_with("HTTP/1.1 200"));
        EXPECT_FALSE(peer.read_until("END").empty());
    }
    peer.send(get);
    peer.send(get);  // pipelined
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(peer.read_until("END").empty());
    const std::string body(5'000'000, 'b');
    peer.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body);
    EXPECT_TRUE(peer.read_until(body).ends_with("\r\n\r\n" + body));
}

TEST(RelayTls, old_versions_and_plain_text_are_refused) {
    const Certificate certificate("a");
    const auto server = serve({.tls = certificate.files()});
    EXPECT_FALSE(TlsPeer(server->endpoint().port, TLS1_1_VERSION).up());
    EXPECT_TRUE(TlsPeer(server->endpoint().port, TLS1_2_VERSION).up());
    EXPECT_FALSE(ask_plain("127.0.0.1", server->endpoint().port).contains("127.0.0.1"));
}

TEST(RelayTls, new_certificate_serves_new_connections_and_breaks_no_stream) {
    Certificate certificate("before");
    const auto server = serve({.tls = certificate.files()});
    TlsPeer stream(server->endpoint().port);
    stream.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_FALSE(stream.read_until("one\r\n").empty());
    certificate.issue("after");
    std::string shown;
    for (int i = 0; i < 500 && shown != "after"; ++i) {
        shown = TlsPeer(server->endpoint().port).name();
        if (shown != "after") std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(shown, "after");
    EXPECT_EQ(server->tls_error(), "");
    TlsPeer other(server->endpoint().port);
    other.send("GET /more HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_FALSE(stream.read_until("two\r\n0\r\n\r\n").empty());
    EXPECT_EQ(stream.name(), "before");
}

TEST(RelayTls, files_that_can_not_be_used_change_nothing_and_are_told) {
    Certificate certificate("good");
    const Certificate other("other");
    const auto identity = TlsIdentity::load(certificate.files());
    ASSERT_TRUE(identity);
    std::filesystem::copy_file(other.files().key_file, certificate.files().key_file,
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_FALSE((*identity)->refresh(10'000));
    EXPECT_TRUE((*identity)->error().contains("key.pem: key values mismatch"))
        << (*identity)->error();
    certificate.issue("mended");
    EXPECT_FALSE((*identity)->refresh(11'000)) << "looks every two seconds at most";
    EXPECT_TRUE((*identity)->refresh(12'000));
    EXPECT_EQ((*identity)->error(), "");
    EXPECT_FALSE(TlsIdentity::load({.certificate_file = "/nowhere", .key_file = "/nowhere"}));
    EXPECT_FALSE(TlsIdentity::load({.certificate_file = certificate.files().certificate_file,
                                    .key_file = other.files().key_file}));
}

}  // namespace
}  // namespace tandem::relay

// SPDX-License-Identifier: Apache-2.0
// TLS round trips of both clients, with certificates made here.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <thread>

#include "net/http/test_client.h"

namespace tandem::http {
namespace {

// A certificate authority and certificates of it, in a temporary folder.
class TestAuthority {
  public:
    TestAuthority();
    ~TestAuthority();
    TestAuthority(const TestAuthority&) = delete;
    TestAuthority& operator=(const TestAuthority&) = delete;

    struct Files {
        std::string certificate;
        std::string key;
    };
    // `name`: common name; `alternative`: as in "IP:127.0.0.1,DNS:localhost".
    Files issue(const std::string& name, const std::string& alternative);
    std::string ca_file() const { return folder_ + "/ca.pem"; }

  private:
    struct Keys;
    std::string folder_;
    Keys* keys_;
    int count_ = 0;
};

struct TestAuthority::Keys {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = nullptr;
};

X509* make_certificate(const std::string& name, EVP_PKEY* subject_key, long serial) {
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, subject_key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    return certificate;
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
}

void write_pem(const std::string& path, X509* certificate, EVP_PKEY* key) {
    FILE* file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    if (certificate) PEM_write_X509(file, certificate);
    if (key) PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(file);
}

TestAuthority::TestAuthority() : folder_(testing::TempDir() + "tlsXXXXXX"), keys_(new Keys) {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    keys_->certificate = make_certificate("test authority", keys_->key, 1);
    X509_set_issuer_name(keys_->certificate, X509_get_subject_name(keys_->certificate));
    add_extension(keys_->certificate, keys_->certificate, NID_basic_constraints,
                  "critical,CA:TRUE");
    X509_sign(keys_->certificate, keys_->key, EVP_sha256());
    write_pem(ca_file(), keys_->certificate, nullptr);
}

TestAuthority::~TestAuthority() {
    X509_free(keys_->certificate);
    EVP_PKEY_free(keys_->key);
    delete keys_;
    std::filesystem::remove_all(folder_);
}

TestAuthority::Files TestAuthority::issue(const std::string& name, const std::string& alternative) {
    Files files{folder_ + "/" + std::to_string(++count_) + ".pem",
                folder_ + "/" + std::to_string(count_) + ".key"};
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = make_certificate(name, key, count_ + 1);
    X509_set_issuer_name(certificate, X509_get_subject_name(keys_->certificate));
    add_extension(certificate, keys_->certificate, NID_subject_alt_name, alternative);
    X509_sign(certificate, keys_->key, EVP_sha256());
    write_pem(files.certificate, certificate, nullptr);
    write_pem(files.key, nullptr, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return files;
}

class Tls : public testing::Test {
  protected:
    std::unique_ptr<Server> start(const std::string& alternative, bool ask_clients = false) {
        auto files = authority.issue("server", alternative);
        ServerOptions options;
        options.tcp.push_back(
            {.tls = TlsFiles{.certificate_file = files.certificate,
                             .key_file = files.key,
                             .client_ca_file = ask_clients ? authority.ca_file() : ""}});
        options.limits.body_max = 8 * 1024 * 1024;
        return Server::start(std::move(options), echo).value();
    }
    Url url(const Server& server) {
        return {.scheme = Scheme::https, .host = "127.0.0.1", .port = server.port(), .path = ""};
    }
    TestAuthority authority;
};

TEST_F(Tls, round_trip_with_large_bodies_and_keep_alive) {
    auto server = start("IP:127.0.0.1");
    auto client = client_of({.server = url(*server), .ca_file = authority.ca_file()});
    std::string body(3'000'000, 'z');
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(client->send({.method = "PUT", .body = body}).value().body, "PUT / " + body);
    EXPECT_EQ(server->stats().connections, 1);
}

TEST_F(Tls, unknown_authority_and_wrong_host_are_refused) {
    auto server = start("DNS:other.example");
    TestAuthority other;
    auto stranger = client_of({.server = url(*server), .ca_file = other.ca_file()});
    EXPECT_EQ(stranger->send({}).error().code, ErrorCode::unavailable);
    auto wrong_host = client_of({.server = url(*server), .ca_file = authority.ca_file()});
    EXPECT_EQ(wrong_host->send({}).error().code, ErrorCode::unavailable);
    EXPECT_EQ(server->stats().requests, 0u);
}

TEST_F(Tls, client_certificate_is_asked_for_and_its_name_is_told) {
    auto server = start("IP:127.0.0.1", true);
    auto nameless = client_of({.server = url(*server), .ca_file = authority.ca_file()});
    EXPECT_FALSE(nameless->send({}));
    auto identity = authority.issue("gateway-1", "DNS:gateway-1");
    auto known = client_of({.server = url(*server),
                            .ca_file = authority.ca_file(),
                            .certificate_file = identity.certificate,
                            .key_file = identity.key});
    EXPECT_EQ(known->send({}).value().headers.find("X-Peer-Name"), "gateway-1");
}

TEST_F(Tls, plain_http_on_a_tls_port_is_closed) {
    auto server = start("IP:127.0.0.1");
    RawSocket peer(server->port());
    peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    std::string answer = peer.read_all();
    EXPECT_EQ(answer.find("HTTP/1.1 200"), answer.npos);
    EXPECT_EQ(server->stats().requests, 0u);
}

TEST_F(Tls, changed_files_serve_new_connections_and_break_none) {
    auto files = authority.issue("server", "DNS:other.example");
    ServerOptions options;
    options.tcp.push_back(
        {.tls = TlsFiles{.certificate_file = files.certificate, .key_file = files.key}});
    auto server = Server::start(std::move(options), echo).value();
    auto before = client_of({.server = {.scheme = Scheme::https,
                                        .host = "127.0.0.1",
                                        .port = server->port(),
                                        .path = ""},
                             .ca_file = authority.ca_file()});
    EXPECT_FALSE(before->send({})) << "the certificate is another host's";
    auto better = authority.issue("server", "IP:127.0.0.1");
    std::filesystem::rename(better.key, files.key);
    std::filesystem::rename(better.certificate, files.certificate);
    bool good = false;
    for (int i = 0; i < 500 && !good; ++i) {
        good = client_of({.server = url(*server), .ca_file = authority.ca_file()})
                   ->send({})
                   .has_value();
        if (!good) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_TRUE(good);
    auto kept = client_of({.server = url(*server), .ca_file = authority.ca_file()});
    EXPECT_TRUE(kept->send({}));
    std::filesystem::remove(files.key);  // nothing usable: what is there goes on, for old and new
    std::this_thread::sleep_for(std::chrono::milliseconds(2100));
    EXPECT_TRUE(kept->send({}));
    EXPECT_TRUE(client_of({.server = url(*server), .ca_file = authority.ca_file()})->send({}));
}

TEST_F(Tls, missing_files_are_errors_that_name_them) {
    ServerOptions options;
    options.tcp.push_back(
        {.tls = TlsFiles{.certificate_file = "/nonexistent.pem", .key_file = "/k"}});
    auto server = Server::start(std::move(options), echo);
    ASSERT_FALSE(server);
    EXPECT_NE(server.error().message.find("/nonexistent.pem"), std::string::npos);
    EXPECT_FALSE(
        Client::make({.server = parse_url("https://h").value(), .ca_file = "/nonexistent.pem"}));
}

TEST_F(Tls, asynchronous_round_trip) {
    auto server = start("IP:127.0.0.1");
    auto client = AsyncClient::make({.ca_file = authority.ca_file()}).value();
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(await(*client, {.server = url(*server),
                                  .call = {.method = "PUT", .body = std::string(500'000, 'a')}})
                      .value()
                      .body.size(),
                  500'006u);
    EXPECT_EQ(server->stats().connections, 1);
    TestAuthority other;
    auto stranger = AsyncClient::make({.ca_file = other.ca_file()}).value();
    EXPECT_EQ(await(*stranger, {.server = url(*server)}).error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace tandem::http

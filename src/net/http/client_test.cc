// SPDX-License-Identifier: Apache-2.0
// Blocking and asynchronous client against the server and against raw sockets; TLS round trips.
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "net/http/async_client.h"
#include "net/http/client.h"
#include "net/http/sse.h"
#include "net/http/test_certificate.h"
#include "net/http/test_server.h"

namespace tandem::http {

struct TestAuthority::Keys {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = nullptr;
};

namespace {

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

}  // namespace

TestAuthority::TestAuthority() : folder_(testing::TempDir() + "tlsXXXXXX"), keys_(new Keys) {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    keys_->certificate = make_certificate("test authority", keys_->key, 1);
    X509_set_issuer_name(keys_->certificate, X509_get_subject_name(keys_->certificate));
    add_extension(keys_->certificate, keys_->certificate, NID_basic_constraints, "critical,CA:TRUE");
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
    Files files{folder_ + "/" + std::to_string(++count_) + ".pem", folder_ + "/" + std::to_string(count_) + ".key"};
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

namespace {

void echo(Request request, Responder responder) {
    responder.respond({.status = request.path == "/missing" ? 404 : 200,
                       .headers = {{"X-Peer-Name", request.peer_name}},
                       .body = request.method + " " + request.path + " " + request.body});
}

Url url_of(const Server& server) { return {.scheme = Scheme::http, .host = "127.0.0.1", .port = server.port(), .path = ""}; }

std::unique_ptr<Client> client_of(ClientOptions options) { return Client::make(std::move(options)).value(); }

// A listening socket that a test answers by hand.
class FakeServer {
  public:
    FakeServer() {
        descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(descriptor_, 8), 0);
        socklen_t length = sizeof address;
        ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &length);
        url.host = "127.0.0.1";
        url.port = ntohs(address.sin_port);
    }
    ~FakeServer() {
        if (thread_.joinable()) thread_.join();
        ::close(descriptor_);
    }
    // For each text: accept, read a head, send the text, close.
    void answer(std::vector<std::string> texts) {
        thread_ = std::thread([this, texts = std::move(texts)] {
            for (const std::string& text : texts) {
                int peer = ::accept(descriptor_, nullptr, nullptr);
                std::string in;
                char c = 0;
                while (in.find("\r\n\r\n") == in.npos && ::recv(peer, &c, 1, 0) == 1) in += c;
                ::send(peer, text.data(), text.size(), MSG_NOSIGNAL);
                ::shutdown(peer, SHUT_WR);
                while (::recv(peer, &c, 1, 0) > 0) {
                }
                ::close(peer);
            }
        });
    }
    Url url;

  private:
    int descriptor_;
    std::thread thread_;
};

TEST(client, call_gets_status_headers_and_body) {
    auto server = start_server(echo);
    auto client = client_of({.server = url_of(*server)});
    Response response = client->send({.method = "POST", .target = "/a?b=c", .body = "hello"}).value();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "POST /a hello");
    EXPECT_TRUE(response.headers.find("date"));
    EXPECT_EQ(client->send({.target = "/missing"}).value().status, 404);
    EXPECT_EQ(client->send({.method = "HEAD"}).value().body, "");
    EXPECT_EQ(server->stats().connections, 1);  // one connection for all
}

TEST(client, call_with_wrong_parts_is_invalid) {
    auto client = client_of({.server = parse_url("http://127.0.0.1:1").value()});
    EXPECT_EQ(client->send({.method = "GE T"}).error().field, "method");
    EXPECT_EQ(client->send({.target = "x"}).error().field, "target");
    EXPECT_EQ(client->send({.target = "/x y"}).error().field, "target");
    EXPECT_EQ(client->send({.headers = {{"A", "b\r\nC: d"}}}).error().field, "headers");
}

TEST(client, closed_port_and_missing_socket_are_unavailable) {
    std::uint16_t port = 0;
    {
        auto server = start_server(echo);
        port = server->port();
    }
    auto tcp = client_of({.server = {.host = "127.0.0.1", .port = port, .path = ""}});
    EXPECT_EQ(tcp->send({}).error().code, ErrorCode::unavailable);
    auto local = client_of({.server = parse_url("unix:/nonexistent/socket").value()});
    EXPECT_EQ(local->send({}).error().code, ErrorCode::unavailable);
}

TEST(client, reused_connection_that_was_closed_is_replaced) {
    Limits limits;
    limits.idle_max = milliseconds(20);
    auto server = start_server(echo, limits);
    auto client = client_of({.server = url_of(*server)});
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(client->send({.method = "POST"}));
        ::poll(nullptr, 0, 60);
    }
}

TEST(client, total_deadline_ends_a_call) {
    Responder kept;
    auto server = start_server([&](Request, Responder responder) { kept = std::move(responder); });
    auto client = client_of({.server = url_of(*server), .total_deadline = milliseconds(50)});
    EXPECT_EQ(client->send({}).error().code, ErrorCode::unavailable);
}

TEST(client, cancel_ends_a_call_from_another_thread) {
    Responder kept;
    Signal came;
    auto server = start_server([&](Request, Responder responder) {
        kept = std::move(responder);
        came.raise();
    });
    auto client = client_of({.server = url_of(*server)});
    Cancel cancel;
    std::thread other([&] {
        came.wait();
        cancel.cancel();
    });
    EXPECT_EQ(client->send({}, &cancel).error().code, ErrorCode::unavailable);
    other.join();
    EXPECT_FALSE(client->send({}, &cancel));
}

TEST(client, answer_beyond_the_bound_is_too_large) {
    auto server = start_server([](Request, Responder responder) { responder.respond(200, std::string(1001, 'x')); });
    auto client = client_of({.server = url_of(*server), .body_max = 1000});
    EXPECT_EQ(client->send({}).error().code, ErrorCode::too_large);
}

TEST(client, early_refusal_of_a_large_body_is_seen) {
    auto server = start_server(echo);
    auto client = client_of({.server = url_of(*server)});
    EXPECT_EQ(client->send({.method = "PUT", .body = std::string(8'000'000, 'x')}).value().status, 413);
}

TEST(client, broken_answers_are_errors) {
    struct {
        std::string text;
        ErrorCode code;
    } rows[] = {{"", ErrorCode::unavailable},
                {"HTTP/1.1 200 OK\r\n", ErrorCode::unavailable},
                {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", ErrorCode::unavailable},
                {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", ErrorCode::unavailable},
                {"SSH-2.0-x\r\n\r\n", ErrorCode::invalid},
                {"HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x'), ErrorCode::invalid},
                {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", ErrorCode::invalid}};
    for (const auto& row : rows) {
        FakeServer server;
        server.answer({row.text});
        auto client = client_of({.server = server.url});
        auto result = client->send({.method = "POST"});
        ASSERT_FALSE(result) << row.text.substr(0, 60);
        EXPECT_EQ(result.error().code, row.code) << result.error().message;
    }
}

TEST(client, interim_answers_are_passed_over_and_end_of_connection_ends_a_body) {
    FakeServer server;
    server.answer({"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.0 202 OK\r\nC: d\r\n\r\nbody"});
    auto client = client_of({.server = server.url});
    Response response = client->send({}).value();
    EXPECT_EQ(response.status, 202);
    EXPECT_EQ(response.headers.size(), 1u);
    EXPECT_EQ(response.body, "body");
}

TEST(client, stream_gives_events_as_they_come_and_stops_on_cancel) {
    Signal came;
    Stream stream;
    auto server = start_server([&](Request, Responder responder) {
        stream = responder.start_stream(200, {{"Content-Type", "text/event-stream"}});
        stream.write(render_sse({.id = "1", .event = "put", .data = "one"}));
        came.raise();
    });
    auto client = client_of({.server = url_of(*server)});
    Cancel cancel;
    SseReader reader;
    std::vector<SseEvent> events;
    int status = 0;
    Status result = client->stream({}, {.on_head = [&](const Response& head) { return (status = head.status) == 200; },
                                        .on_chunk =
                                            [&](std::string_view piece) {
                                                auto more = reader.feed(piece).value();
                                                events.insert(events.end(), more.begin(), more.end());
                                                if (events.size() == 1) stream.write("data: two\n\n");
                                                if (events.size() == 2) cancel.cancel();
                                                return true;
                                            }},
                                   &cancel);
    EXPECT_EQ(result.error().code, ErrorCode::unavailable);
    EXPECT_EQ(status, 200);
    EXPECT_EQ(events, (std::vector<SseEvent>{{"1", "put", "one"}, {"1", "message", "two"}}));
}

TEST(client, stream_ends_well_when_the_server_closes_it_or_the_reader_stops) {
    auto server = start_server([](Request request, Responder responder) {
        Stream stream = responder.start_stream(request.path == "/bad" ? 503 : 200, {});
        stream.write("abc");
    });
    auto client = client_of({.server = url_of(*server)});
    std::string got;
    EXPECT_TRUE(client->stream({}, {.on_chunk = [&](std::string_view piece) {
                                   got += piece;
                                   return true;
                               }}));
    EXPECT_EQ(got, "abc");
    EXPECT_TRUE(client->stream({}, {.on_chunk = [](std::string_view) { return false; }}));
    bool chunk = false;
    EXPECT_TRUE(client->stream({.target = "/bad"}, {.on_head = [](const Response& head) { return head.status == 200; },
                                                    .on_chunk = [&](std::string_view) { return chunk = true; }}));
    EXPECT_FALSE(chunk);
}

TEST(client, silent_stream_ends_at_its_idle_deadline) {
    Stream stream;
    auto server = start_server([&](Request, Responder responder) { stream = responder.start_stream(200, {}); });
    auto client = client_of({.server = url_of(*server), .stream_idle_deadline = milliseconds(50)});
    EXPECT_EQ(client->stream({}, {.on_chunk = [](std::string_view) { return true; }}).error().code, ErrorCode::unavailable);
}

TEST(client, unix_socket_and_threads_share_one_client) {
    std::string folder = testing::TempDir() + "cliXXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    ServerOptions options;
    options.unix_sockets.push_back(folder + "/s");
    options.threads = 2;
    auto server = Server::start(std::move(options), echo).value();
    auto client = client_of({.server = parse_url("unix:" + folder + "/s").value()});
    std::atomic<int> good = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 100; ++i) {
                auto response = client->send({.method = "PUT", .body = std::to_string(i)});
                if (response && response->body == "PUT / " + std::to_string(i)) ++good;
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(good, 400);
    server.reset();
    ::rmdir(folder.c_str());
}

class Tls : public testing::Test {
  protected:
    std::unique_ptr<Server> start(const std::string& alternative, bool ask_clients = false) {
        auto files = authority.issue("server", alternative);
        ServerOptions options;
        options.tcp.push_back({.tls = TlsFiles{.certificate_file = files.certificate,
                                               .key_file = files.key,
                                               .client_ca_file = ask_clients ? authority.ca_file() : ""}});
        options.limits.body_max = 8 * 1024 * 1024;
        return Server::start(std::move(options), echo).value();
    }
    Url url(const Server& server) { return {.scheme = Scheme::https, .host = "127.0.0.1", .port = server.port(), .path = ""}; }
    TestAuthority authority;
};

TEST_F(Tls, round_trip_with_large_bodies_and_keep_alive) {
    auto server = start("IP:127.0.0.1");
    auto client = client_of({.server = url(*server), .ca_file = authority.ca_file()});
    std::string body(3'000'000, 'z');
    for (int i = 0; i < 3; ++i) EXPECT_EQ(client->send({.method = "PUT", .body = body}).value().body, "PUT / " + body);
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

TEST_F(Tls, missing_files_are_errors_that_name_them) {
    ServerOptions options;
    options.tcp.push_back({.tls = TlsFiles{.certificate_file = "/nonexistent.pem", .key_file = "/k"}});
    auto server = Server::start(std::move(options), echo);
    ASSERT_FALSE(server);
    EXPECT_NE(server.error().message.find("/nonexistent.pem"), std::string::npos);
    EXPECT_FALSE(Client::make({.server = parse_url("https://h").value(), .ca_file = "/nonexistent.pem"}));
}

Result<Response> await(AsyncClient& client, AsyncCall call) {
    std::promise<Result<Response>> promise;
    auto future = promise.get_future();
    client.send(std::move(call), [&](Result<Response> result) { promise.set_value(std::move(result)); });
    if (future.wait_for(std::chrono::seconds(10)) != std::future_status::ready) std::abort();
    return future.get();
}

TEST(async_client, calls_run_side_by_side_and_reuse_connections) {
    auto server = start_server(echo);
    auto client = AsyncClient::make({.calls_max = 8}).value();
    std::atomic<int> good = 0;
    Signal done;
    for (int i = 0; i < 16; ++i)
        client->send({.server = url_of(*server), .call = {.method = "POST", .target = "/x", .body = std::to_string(i)}},
                     [&, i](Result<Response> result) {
                         if (result && result->body == "POST /x " + std::to_string(i)) ++good;
                         done.raise();
                     });
    ASSERT_TRUE(done.wait(16));
    EXPECT_EQ(good, 16);
    EXPECT_TRUE(await(*client, {.server = url_of(*server)}));
    EXPECT_LE(server->stats().connections, 8);
}

TEST(async_client, name_is_looked_up) {
    auto server = start_server(echo);
    auto client = AsyncClient::make({}).value();
    Url url = url_of(*server);
    url.host = "localhost";
    EXPECT_TRUE(await(*client, {.server = url}));
}

TEST(async_client, deadline_refusal_and_bound_are_errors) {
    Responder kept;
    auto server = start_server([&](Request request, Responder responder) {
        if (request.path == "/big") responder.respond(200, std::string(2000, 'x'));
        else kept = std::move(responder);
    });
    auto client = AsyncClient::make({}).value();
    EXPECT_EQ(await(*client, {.server = url_of(*server), .total_deadline = milliseconds(30)}).error().code,
              ErrorCode::unavailable);
    EXPECT_EQ(await(*client, {.server = url_of(*server), .call = {.target = "/big"}, .body_max = 1000}).error().code,
              ErrorCode::too_large);
    EXPECT_EQ(await(*client, {.server = {.host = "127.0.0.1", .port = 1, .path = ""}}).error().code, ErrorCode::unavailable);
    EXPECT_EQ(await(*client, {.server = url_of(*server), .call = {.target = "no"}}).error().code, ErrorCode::invalid);
    EXPECT_EQ(await(*client, {.server = parse_url("unix:/nonexistent").value()}).error().code, ErrorCode::unavailable);
}

TEST(async_client, too_many_calls_are_exhausted_and_waiting_ones_time_out) {
    std::vector<Responder> kept;
    auto server = start_server([&](Request, Responder responder) { kept.push_back(std::move(responder)); });
    auto client = AsyncClient::make({.calls_max = 1}).value();
    std::mutex mutex;
    std::vector<ErrorCode> codes;
    Signal done;
    for (int i = 0; i < 3; ++i)
        client->send({.server = url_of(*server), .total_deadline = milliseconds(100)}, [&](Result<Response> result) {
            std::scoped_lock lock(mutex);
            codes.push_back(result ? ErrorCode::internal : result.error().code);
            done.raise();
        });
    ASSERT_TRUE(done.wait(3));
    EXPECT_EQ(codes, (std::vector{ErrorCode::exhausted, ErrorCode::unavailable, ErrorCode::unavailable}));
    server->stop(Duration{});
}

TEST(async_client, destructor_ends_running_calls) {
    Responder kept;
    Signal came, ended;
    auto server = start_server([&](Request, Responder responder) {
        kept = std::move(responder);
        came.raise();
    });
    auto client = AsyncClient::make({}).value();
    client->send({.server = url_of(*server)}, [&](Result<Response> result) {
        if (!result) ended.raise();
    });
    ASSERT_TRUE(came.wait());
    client.reset();
    EXPECT_TRUE(ended.wait());
}

TEST(async_client, closed_idle_connection_is_replaced) {
    Limits limits;
    limits.idle_max = milliseconds(20);
    auto server = start_server(echo, limits);
    auto client = AsyncClient::make({}).value();
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(await(*client, {.server = url_of(*server), .call = {.method = "POST"}}));
        ::poll(nullptr, 0, 60);
    }
}

TEST_F(Tls, asynchronous_round_trip) {
    auto server = start("IP:127.0.0.1");
    auto client = AsyncClient::make({.ca_file = authority.ca_file()}).value();
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(await(*client, {.server = url(*server), .call = {.method = "PUT", .body = std::string(500'000, 'a')}})
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

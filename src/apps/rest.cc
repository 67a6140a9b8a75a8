// SPDX-License-Identifier: Apache-2.0
#include "apps/rest.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "cli/session.h"

namespace tandem::apps {

Rest::Rest(const Home& home, Duration patience) : home_(home), patience_(patience) {}

Result<Rest> Rest::of_caller(const Home& home) {
    TANDEM_LET(key, cli::key_of_environment([](const char* name) -> std::optional<std::string> {
                   const char* value = std::getenv(name);
                   return value ? std::optional<std::string>(value) : std::nullopt;
               }));
    Rest rest(home);
    rest.key_ = std::move(key);
    return rest;
}

namespace {

void add_key(const Home& home, const std::optional<Secret>& named, http::Call& call) {
    std::string text = named ? std::string(named->reveal()) : read_file(home.admin_key()).value_or("");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (!text.empty()) call.headers.add("Authorization", "Bearer " + text);
}

}  // namespace

Result<codec::Value> Rest::send(http::Call call) {
    add_key(home_, key_, call);
    TANDEM_LET(url, http::parse_url("unix:" + home_.socket()));
    TANDEM_LET(client,
               http::Client::make(
                   {.server = url, .connect_deadline = seconds(2), .total_deadline = minutes(5)}));
    TANDEM_LET(response, client->send(call));
    if (response.status >= 400) return pass_on(cli::error_of(response.status, response.body));
    if (response.body.empty()) return codec::make_object();
    return codec::parse_json(response.body);
}

Result<codec::Value> Rest::get(const std::string& target) {
    return send({.method = "GET",
                 .target = target,
                 .headers = {},
                 .body = {},
                 .total_deadline = patience_});
}

Result<codec::Value> Rest::post(const std::string& target, const std::string& body) {
    return send({.method = "POST",
                 .target = target,
                 .headers = {{"Content-Type", "application/json"}},
                 .body = body});
}

namespace {

constexpr std::size_t refusal_max = 64 * 1024;

// A new, empty file for its owner alone: what a file of this name held, or who could read it, does
// not matter.
Status make_private(const std::string& path) {
    ::unlink(path.c_str());
    const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0)
        return invalid_field("FILE", "can't be written: " + path + ": " + std::strerror(errno));
    ::close(file);
    return {};
}

}  // namespace

Status Rest::download(const std::string& target, const std::string& path) {
    const std::string partial = path + ".partial";
    Status done = fetch(target, partial);
    if (done && ::rename(partial.c_str(), path.c_str()) != 0)
        done = invalid_field("FILE", "can't be written: " + path + ": " + std::strerror(errno));
    if (!done) ::unlink(partial.c_str());
    return done;
}

Status Rest::fetch(const std::string& target, const std::string& path) {
    TANDEM_TRY(make_private(path));
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    if (!file) return invalid_field("FILE", "can't be written: " + path);
    http::Call call{.method = "GET", .target = target, .headers = {}, .body = {}};
    add_key(home_, key_, call);
    TANDEM_LET(url, http::parse_url("unix:" + home_.socket()));
    TANDEM_LET(client, http::Client::make({.server = url, .connect_deadline = seconds(2)}));
    int status = 0;
    std::string refusal;
    http::StreamReader reader{.on_head =
                                  [&](const http::Response& head) {
                                      status = head.status;
                                      return true;
                                  },
                              .on_chunk =
                                  [&](std::string_view chunk) {
                                      if (status >= 400 && refusal.size() < refusal_max)
                                          refusal += chunk;
                                      if (status < 400) file << chunk;
                                      return file.good();
                                  }};
    TANDEM_TRY(client->stream(call, std::move(reader)));
    file.close();
    if (!file) return fail(ErrorCode::storage_full, "can't be written to its end: " + path, "FILE");
    if (status >= 400) return pass_on(cli::error_of(status, refusal));
    return {};
}

Result<int> probe_url(const std::string& url, const std::string& ca_file) {
    TANDEM_LET(parsed, http::parse_url(url));
    TANDEM_LET(client, http::Client::make({.server = parsed,
                                           .ca_file = ca_file,
                                           .connect_deadline = seconds(2),
                                           .total_deadline = seconds(5)}));
    TANDEM_LET(response,
               client->send({.method = "GET", .target = "/healthz", .headers = {}, .body = {}}));
    return response.status;
}

}  // namespace tandem::apps

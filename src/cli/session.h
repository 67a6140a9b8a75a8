// SPDX-License-Identifier: Apache-2.0
// Session: one verb's way to the server: where it is, with which key, in which project; calls and
// their errors. A mutation carries an idempotency key and is sent again when the connection broke;
// problem details come back as Error with the server's code and field. Thread rule: one owner;
// cancel() of a stream from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/cli.h"
#include "codec/document.h"
#include "model/kind.h"
#include "model/meta.h"
#include "net/http/client.h"

namespace tandem::cli {

using QueryPairs = std::vector<std::pair<std::string, std::string>>;

struct Request {
    std::string method = "GET";
    std::string path{};
    QueryPairs query{};  // empty values are left out
    std::string body{};
    std::string content_type = "application/json";
};

class Session {
  public:
    // Flags, then TANDEM_SERVER and TANDEM_API_KEY, then a chosen local installation, the current
    // context, the local installation.
    static Result<Session> open(const Arguments& arguments, const Terminal& terminal,
                                const Options& options);

    Result<codec::Value> call(const Request& request);
    struct Answered {
        int status = 200;
        codec::Value body{};
    };
    Result<Answered> ask(const Request& request);  // the same, where 200 and 201 are told apart
    Result<codec::Value> get(const std::string& path, QueryPairs query = {}) {
        return call({.path = path, .query = std::move(query)});
    }
    // Pieces of the body as they come; reader returns false to end. `head` sees status and headers
    // first.
    struct Reader {
        std::function<bool(std::string_view)> on_piece;
        std::function<void(const http::Response&)> on_head{};
    };
    Status stream(const Request& request, Reader reader, http::Cancel* cancel = nullptr);

    const Arguments& arguments() const { return *arguments_; }
    const Terminal& terminal() const { return *terminal_; }
    const std::string& project() const { return project_; }
    const std::string& name_space() const { return name_space_; }
    const std::string& server() const { return server_; }
    const std::string& client_version() const { return client_version_; }

    // "/api/v1/projects/P/namespaces/N/jobs", in the session's project and namespace; all:
    // "/api/v1/jobs".
    std::string collection(model::Kind kind, bool all = false) const;
    std::string item(const model::ObjectKey& key) const;
    // Name in the session's project and namespace, as far as the kind has them.
    model::ObjectKey key_of(model::Kind kind, std::string name) const;

  private:
    Session() = default;
    http::Call make_call(const Request& request, const std::string& idempotency_key) const;

    const Arguments* arguments_ = nullptr;
    const Terminal* terminal_ = nullptr;
    std::string server_{};
    std::string client_version_{};
    Secret key_{};
    std::string project_{};
    std::string name_space_{};
    std::unique_ptr<http::Client> client_{};
    bool reached_ = false;  // an answer came before
};

// "job/train", or "job" and "train": kind and names. Errors say what is known.
struct Target {
    model::Kind kind = model::Kind::job;
    std::vector<std::string> names{};
};
Result<Target> parse_target(const std::vector<std::string>& words);
Result<model::ObjectKey> parse_one(const Session& session, const std::vector<std::string>& words);

// What TANDEM_API_KEY holds; absent: it is not set. Error: that can be no key.
Result<std::optional<Secret>> key_of_environment(
    const std::function<std::optional<std::string>(const char* name)>& environment);

// The error that an answer of status >= 400 tells.
Error error_of(int status, std::string_view body);
// "spec.replicas: must be ..."
std::string render_error(const Error& error);

}  // namespace tandem::cli

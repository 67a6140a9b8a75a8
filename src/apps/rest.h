// SPDX-License-Identifier: Apache-2.0
// A small caller of this host's own server, for up, down, status and doctor.
#pragma once

#include <optional>
#include <string>

#include "apps/home.h"
#include "base/secret.h"
#include "base/time.h"
#include "codec/document.h"
#include "net/http/client.h"

namespace tandem::apps {

class Rest {
  public:
    // `patience`: of a get, from connecting to the last byte.
    explicit Rest(const Home& home, Duration patience = seconds(30));
    // With the key of TANDEM_API_KEY where that is set, else the home's. Error: it can be no key.
    static Result<Rest> of_caller(const Home& home);
    // Over the server's unix socket, with the admin key. Error: what the server said, or why it
    // can't be reached.
    Result<codec::Value> get(const std::string& target);
    Result<codec::Value> post(const std::string& target, const std::string& body = "{}");

    // Writes the body of a GET to a file, for its owner alone (0600). The file appears when it is
    // whole.
    Status download(const std::string& target, const std::string& path);

  private:
    Status fetch(const std::string& target, const std::string& path);
    Result<codec::Value> send(http::Call call);
    Home home_;
    Duration patience_;
    std::optional<Secret> key_{};  // absent: the home's
};

// Of verbs that say how things stand: a server that is there answers them at once.
inline constexpr Duration brief_patience = seconds(5);

// GET of a URL without a key; the status, or an error.
Result<int> probe_url(const std::string& url, const std::string& ca_file);

}  // namespace tandem::apps

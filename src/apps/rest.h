// SPDX-License-Identifier: Apache-2.0
// A small caller of this host's own server, for up, down, status and doctor.
#pragma once

#include <string>

#include "apps/home.h"
#include "codec/document.h"
#include "net/http/client.h"

namespace tandem::apps {

class Rest {
  public:
    explicit Rest(const Home& home);
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
};

// GET of a URL without a key; the status, or an error.
Result<int> probe_url(const std::string& url, const std::string& ca_file);

}  // namespace tandem::apps

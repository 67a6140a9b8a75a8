// SPDX-License-Identifier: Apache-2.0
// For tests: a certificate authority and certificates of it, made by OpenSSL in a temporary folder.
#pragma once

#include <string>

namespace tandem::http {

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

}  // namespace tandem::http

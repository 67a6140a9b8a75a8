// SPDX-License-Identifier: Apache-2.0
// Options of the processes of one installation, as given to `tandem up` (and passed on to server
// and gateway). What was given once is kept in the home and used again by the next start.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/home.h"

namespace tandem::apps {

struct UpOptions {
    std::string listen = "127.0.0.1:8080";   // the API
    std::string gateway = "127.0.0.1:8090";  // models
    std::string
        tls_certificate{};  // PEM files of API and gateway, absolute; needed beyond loopback
    std::string tls_key{};
    std::int64_t slices = 0;       // cpu-slice devices; 0: one a core
    std::int64_t over_commit = 1;  // slices a core
    std::string runtimes{};        // folder of runtime templates
    std::string python{};          // interpreter of the runtimes
    std::string log_level = "info";
    std::int64_t segment_mib =
        64;  // of event log, after which a replay segment is followed by the next
    std::int64_t history_mib = 256;  // kept replay segments before the newest
};

// Error text goes to the caller; absent with exit code 0 means help was asked for.
struct Parsed {
    std::optional<UpOptions> options{};
    int exit_code = 0;
    std::string text{};
    std::string output = "table";  // of tandem up
};
Parsed parse_up_options(const std::string& verb, const std::vector<std::string>& arguments,
                        const UpOptions& defaults);

// Those kept in the home, or the defaults of this machine. Error invalid with the file, the place
// of the fault and the way out: what was asked for once is never replaced by defaults.
Result<UpOptions> load_options(const Home& home);
UpOptions default_options();
Status save_options(const Home& home, const UpOptions& options);
std::vector<std::string> to_arguments(const UpOptions& options);
// Those that a process runs with, by its record; `otherwise` when it does not say.
UpOptions options_from(const std::vector<std::string>& arguments, const UpOptions& otherwise);
// A line each: "--slices runs with 2, asked for is 4".
std::vector<std::string> differences(const UpOptions& running, const UpOptions& asked);

struct Address {
    std::string host{};
    std::uint16_t port = 0;
};
// "127.0.0.1:8080", "[::1]:8080". Beyond loopback API and gateway need TLS.
Result<Address> parse_address(const std::string& text, const std::string& field);
// Nobody listens there, and it is this machine's. Error conflict with the option that chooses
// another.
Status check_is_free(const std::string& address, const std::string& field);
bool is_loopback(const std::string& host);
Status check_public(const UpOptions& options);
// Certificate and key are given both or not at all, can be read, and belong together. Error invalid
// with the option.
Status check_tls(const UpOptions& options);
// Speaks TLS, at every address: beyond loopback because it must, on loopback because it was asked
// to.
bool has_tls(const UpOptions& options);

}  // namespace tandem::apps

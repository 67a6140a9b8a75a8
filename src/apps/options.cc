// SPDX-License-Identifier: Apache-2.0
#include "apps/options.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <filesystem>

#include "apps/process.h"
#include "base/quantity.h"
#include "codec/document.h"
#include "codec/json_writer.h"

namespace tandem::apps {
namespace {

void declare(CLI::App& app, UpOptions& options) {
    app.add_option("--listen", options.listen, "address of the API")->capture_default_str();
    app.add_option("--gateway", options.gateway,
                   "address of the gateway (OpenAI-compatible); [::]:PORT is all of IPv6 and IPv4, "
                   "localhost:PORT both loopbacks")
        ->capture_default_str();
    app.add_option("--tls-certificate", options.tls_certificate,
                   "PEM certificate of API and gateway; needed beyond loopback");
    app.add_option("--tls-key", options.tls_key, "PEM key of the certificate");
    app.add_option("--slices", options.slices, "cpu-slice devices to declare; 0: one a core")
        ->check(CLI::Range(0, 100000));
    app.add_option("--over-commit", options.over_commit, "slices that share a core")
        ->check(CLI::Range(1, 100000));
    app.add_option("--runtimes", options.runtimes, "folder of runtime templates")
        ->capture_default_str();
    app.add_option("--python", options.python, "interpreter that {python} in runtimes stands for")
        ->capture_default_str();
    app.add_option("--segment-mib", options.segment_mib,
                   "event log, in MiB, after which the next replay segment opens")
        ->capture_default_str()
        ->check(CLI::Range(1, 65536));
    app.add_option("--history-mib", options.history_mib,
                   "older replay segments that are kept, in MiB")
        ->capture_default_str()
        ->check(CLI::Range(0, 1048576));
    app.add_option("--log-level", options.log_level, "debug, info, warn or error")
        ->capture_default_str();
}

// Beside an installed or built binary: ../share/tandem/runtimes, or the source tree's runtimes/.
std::string find_runtimes() {
    const std::filesystem::path program(own_path());
    for (const auto& candidate :
         {program.parent_path() / "../share/tandem/runtimes",
          program.parent_path() / "../../../runtimes", program.parent_path() / "runtimes"})
        if (std::filesystem::is_directory(candidate))
            return std::filesystem::canonical(candidate).string();
    return {};
}

void read_text(const codec::Value& document, std::string_view name, std::string& text) {
    if (const codec::Value* value = document.find(name)) text = std::string(value->text_or_empty());
}
void read_number(const codec::Value& document, std::string_view name, std::int64_t& number) {
    if (const codec::Value* value = document.find(name))
        number = parse_integer(value->text_or_empty()).value_or(number);
}

std::string options_file(const Home& home) {
    return home.root() + "/options.json";
}

}  // namespace

Parsed parse_up_options(const std::string& verb, const std::vector<std::string>& arguments,
                        const UpOptions& defaults) {
    UpOptions options = defaults;
    CLI::App app(verb == "up" ? "Start server and gateway on this machine; again: nothing changes; "
                                "other options need a new start"
                              : "Run the " + verb + " in the foreground",
                 "tandem " + verb);
    declare(app, options);
    app.footer(
        "Examples:\n  tandem " + verb + "\n  tandem " + verb +
        " --slices 4 --over-commit 2\n"
        "The home is $TANDEM_HOME, else ~/.tandem; options are kept there for the next start.");
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        app.parse(reversed);
    } catch (const CLI::CallForHelp&) {
        return {.options = {}, .exit_code = 0, .text = app.help()};
    } catch (const CLI::ParseError& error) {
        return {.options = {},
                .exit_code = 2,
                .text = std::string("tandem ") + verb + ": " + error.what() + "\n"};
    }
    // Services start in folders of their own: a path has to mean the same there.
    if (options.python.find('/') != std::string::npos)
        options.python = std::filesystem::absolute(options.python).lexically_normal().string();
    if (options.python.starts_with('/') && ::access(options.python.c_str(), X_OK) != 0)
        return {.options = {},
                .exit_code = 2,
                .text = "tandem " + verb + ": --python: " + options.python +
                        " is no program that can be run\n"};
    return {.options = std::move(options), .exit_code = 0, .text = {}};
}

UpOptions load_options(const Home& home) {
    UpOptions options;
    options.runtimes = environment_or("TANDEM_RUNTIMES", find_runtimes());
    options.python = environment_or("TANDEM_PYTHON", "python3");
    const auto text = read_file(options_file(home));
    const auto document =
        text ? codec::parse_json(*text) : Result<codec::Value>(pass_on(text.error()));
    if (!document) return options;
    read_text(*document, "listen", options.listen);
    read_text(*document, "gateway", options.gateway);
    read_text(*document, "tlsCertificate", options.tls_certificate);
    read_text(*document, "tlsKey", options.tls_key);
    read_number(*document, "slices", options.slices);
    read_number(*document, "overCommit", options.over_commit);
    read_text(*document, "runtimes", options.runtimes);
    read_text(*document, "python", options.python);
    read_text(*document, "logLevel", options.log_level);
    read_number(*document, "segmentMib", options.segment_mib);
    read_number(*document, "historyMib", options.history_mib);
    return options;
}

Status save_options(const Home& home, const UpOptions& options) {
    std::string json;
    codec::JsonWriter writer(json);
    const auto text = [&](std::string_view name, const std::string& value) {
        writer.key(name);
        writer.text(value);
    };
    writer.begin_object();
    text("listen", options.listen);
    text("gateway", options.gateway);
    text("tlsCertificate", options.tls_certificate);
    text("tlsKey", options.tls_key);
    writer.key("slices");
    writer.number(options.slices);
    writer.key("overCommit");
    writer.number(options.over_commit);
    text("runtimes", options.runtimes);
    text("python", options.python);
    text("logLevel", options.log_level);
    writer.key("segmentMib");
    writer.number(options.segment_mib);
    writer.key("historyMib");
    writer.number(options.history_mib);
    writer.end_object();
    return write_file(options_file(home), json + "\n");
}

namespace {

std::vector<std::pair<std::string, std::string>> list_options(const UpOptions& options) {
    return {{"--listen", options.listen},
            {"--gateway", options.gateway},
            {"--tls-certificate", options.tls_certificate},
            {"--tls-key", options.tls_key},
            {"--slices", std::to_string(options.slices)},
            {"--over-commit", std::to_string(options.over_commit)},
            {"--runtimes", options.runtimes},
            {"--python", options.python},
            {"--segment-mib", std::to_string(options.segment_mib)},
            {"--history-mib", std::to_string(options.history_mib)},
            {"--log-level", options.log_level}};
}

}  // namespace

std::vector<std::string> to_arguments(const UpOptions& options) {
    std::vector<std::string> words;
    for (const auto& [name, value] : list_options(options)) {
        if (value.empty()) continue;
        words.push_back(name);
        words.push_back(value);
    }
    return words;
}

UpOptions options_from(const std::vector<std::string>& arguments, const UpOptions& otherwise) {
    if (arguments.empty()) return otherwise;
    return parse_up_options("up", arguments, {}).options.value_or(otherwise);
}

std::vector<std::string> differences(const UpOptions& running, const UpOptions& asked) {
    const auto now = list_options(running);
    const auto then = list_options(asked);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < now.size(); ++i)
        if (now[i].second != then[i].second)
            lines.push_back(fmt::format("{} runs with {}, asked for is {}", now[i].first,
                                        now[i].second.empty() ? "none" : now[i].second,
                                        then[i].second));
    return lines;
}

Result<Address> parse_address(const std::string& text, const std::string& field) {
    const std::size_t colon = text.rfind(':');
    const auto port = colon == std::string::npos ? Result<std::int64_t>(std::int64_t{-1})
                                                 : parse_integer(text.substr(colon + 1));
    if (!port || *port < 0 || *port > 65535)
        return invalid_field(field,
                             "must be ADDRESS:PORT such as 127.0.0.1:8080, is \"" + text + "\"");
    std::string host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    return Address{.host = host, .port = static_cast<std::uint16_t>(*port)};
}

Status check_is_free(const std::string& text, const std::string& field) {
    TANDEM_LET(address, parse_address(text, field));
    if (address.port == 0) return {};
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const std::string host = address.host == "localhost" ? "127.0.0.1" : address.host;
    if (::getaddrinfo(host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0)
        return invalid_field(field, fmt::format("\"{}\" is no numeric address", address.host));
    const int probe = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on,
                 sizeof on);  // waiting rests of old connections don't count
    const bool bound = ::bind(probe, found->ai_addr, found->ai_addrlen) == 0;
    if (probe >= 0) ::close(probe);
    ::freeaddrinfo(found);
    if (bound) return {};
    return fail(
        ErrorCode::conflict,
        fmt::format("{} is in use or not this machine's; choose another with {}", text, field),
        field);
}

bool is_loopback(const std::string& host) {
    return host.starts_with("127.") || host == "::1" || host == "localhost";
}

Status check_public(const UpOptions& options) {
    TANDEM_LET(listen, parse_address(options.listen, "--listen"));
    const bool tls = !options.tls_certificate.empty() && !options.tls_key.empty();
    if (!is_loopback(listen.host) && !tls)
        return invalid_field("--listen", options.listen +
                                             " is reachable by others: give --tls-certificate and "
                                             "--tls-key, or listen on 127.0.0.1");
    TANDEM_LET(gateway, parse_address(options.gateway, "--gateway"));
    if (!is_loopback(gateway.host) && !tls)
        return invalid_field("--gateway", options.gateway +
                                              " is reachable by others: give --tls-certificate and "
                                              "--tls-key, or listen on 127.0.0.1");
    return {};
}

}  // namespace tandem::apps

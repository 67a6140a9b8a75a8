// SPDX-License-Identifier: Apache-2.0
#include "apps/options.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "apps/process.h"
#include "base/quantity.h"
#include "codec/document.h"
#include "codec/json_writer.h"
#include "net/http/tls_files.h"

namespace tandem::apps {
namespace {

constexpr std::int64_t slices_max = 100'000;
constexpr std::int64_t segment_mib_max = 65'536;
constexpr std::int64_t history_mib_max = 1'048'576;

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
        ->check(CLI::Range(std::int64_t{0}, slices_max));
    app.add_option("--over-commit", options.over_commit, "slices that share a core")
        ->check(CLI::Range(std::int64_t{1}, slices_max));
    app.add_option("--runtimes", options.runtimes, "folder of runtime templates")
        ->capture_default_str();
    app.add_option("--python", options.python, "interpreter that {python} in runtimes stands for")
        ->capture_default_str();
    app.add_option("--segment-mib", options.segment_mib,
                   "event log, in MiB, after which the next replay segment opens")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{1}, segment_mib_max));
    app.add_option("--history-mib", options.history_mib,
                   "older replay segments that are kept, in MiB")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{0}, history_mib_max));
    app.add_option("--log-level", options.log_level, "debug, info, warn or error")
        ->capture_default_str()
        ->check(CLI::IsMember({"debug", "info", "warn", "error"}));
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

// The fields of options.json, as save_options writes them.
struct TextField {
    std::string_view name;
    std::string UpOptions::* member;
};
constexpr TextField text_fields[] = {{"listen", &UpOptions::listen},
                                     {"gateway", &UpOptions::gateway},
                                     {"tlsCertificate", &UpOptions::tls_certificate},
                                     {"tlsKey", &UpOptions::tls_key},
                                     {"runtimes", &UpOptions::runtimes},
                                     {"python", &UpOptions::python},
                                     {"logLevel", &UpOptions::log_level}};
struct NumberField {
    std::string_view name;
    std::int64_t UpOptions::* member;
    std::int64_t low;
    std::int64_t high;
};
constexpr NumberField number_fields[] = {
    {"slices", &UpOptions::slices, 0, slices_max},
    {"overCommit", &UpOptions::over_commit, 1, slices_max},
    {"segmentMib", &UpOptions::segment_mib, 1, segment_mib_max},
    {"historyMib", &UpOptions::history_mib, 0, history_mib_max}};

Status read_field(const std::string& name, const codec::Value& value, UpOptions& options) {
    if (const auto text = std::ranges::find(text_fields, name, &TextField::name);
        text != std::end(text_fields)) {
        if (value.type != codec::ValueType::text) return invalid_field(name, "must be text");
        options.*text->member = value.text;
        return {};
    }
    const auto field = std::ranges::find(number_fields, name, &NumberField::name);
    if (field == std::end(number_fields)) return invalid_field(name, "is not a known option");
    const auto number = value.type == codec::ValueType::number ? parse_integer(value.text)
                                                               : Result<std::int64_t>(-1);
    if (!number || *number < field->low || *number > field->high)
        return invalid_field(name,
                             fmt::format("must be a whole number {}..{}", field->low, field->high));
    options.*field->member = *number;
    return {};
}

Status read_fields(const std::string& text, UpOptions& options) {
    TANDEM_LET(document, codec::parse_json(text));
    if (document.type != codec::ValueType::object)
        return fail(ErrorCode::invalid, "must be an object: {...}");
    for (std::size_t i = 0; i < document.items.size(); ++i)
        TANDEM_TRY(read_field(document.names[i], document.items[i], options));
    return {};
}

// Processes start in folders of their own: a path has to mean the same there.
void make_absolute(std::string& path) {
    if (!path.empty()) path = std::filesystem::absolute(path).lexically_normal().string();
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
    std::string output = "table";
    if (verb == "up")
        app.add_option("-o,--output", output, "table, json or yaml")
            ->check(CLI::IsMember({"table", "json", "yaml"}));
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
    if (options.python.find('/') != std::string::npos) make_absolute(options.python);
    for (std::string* path : {&options.tls_certificate, &options.tls_key, &options.runtimes})
        make_absolute(*path);
    if (options.python.starts_with('/') && ::access(options.python.c_str(), X_OK) != 0)
        return {.options = {},
                .exit_code = 2,
                .text = "tandem " + verb + ": --python: " + options.python +
                        " is no program that can be run\n"};
    std::error_code ignored;
    if (app.count("--runtimes") > 0 && !std::filesystem::is_directory(options.runtimes, ignored))
        return {.options = {},
                .exit_code = 2,
                .text = "tandem " + verb + ": --runtimes: " + options.runtimes + " is no folder\n"};
    return {.options = std::move(options), .exit_code = 0, .text = {}, .output = std::move(output)};
}

UpOptions default_options() {
    UpOptions options;
    options.runtimes = environment_or("TANDEM_RUNTIMES", find_runtimes());
    options.python = environment_or("TANDEM_PYTHON", "python3");
    return options;
}

Result<UpOptions> load_options(const Home& home) {
    UpOptions options = default_options();
    const std::string file = options_file(home);
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return options;
    TANDEM_LET(text, read_file(file));
    if (const Status read = read_fields(text, options); !read) {
        const Error& fault = read.error();
        return fail(
            ErrorCode::invalid,
            fmt::format("{}: {}{}; put it right, or remove the file and give tandem up its "
                        "options again",
                        file, fault.field.empty() ? "" : fault.field + ": ", fault.message));
    }
    return options;
}

Status save_options(const Home& home, const UpOptions& options) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    for (const TextField& field : text_fields) {
        writer.key(field.name);
        writer.text(options.*field.member);
    }
    for (const NumberField& field : number_fields) {
        writer.key(field.name);
        writer.number(options.*field.member);
    }
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

std::string shown(const std::pair<std::string, std::string>& option) {
    if (option.first == "--slices" && option.second == "0") return "one a core";
    return option.second.empty() ? "none" : option.second;
}

}  // namespace

std::vector<std::string> to_arguments(const UpOptions& options) {
    std::vector<std::string> words;
    for (const auto& [name, value] : list_options(options)) {
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
                                        shown(now[i]), shown(then[i])));
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

bool has_tls(const UpOptions& options) {
    return !options.tls_certificate.empty();
}

Status check_tls(const UpOptions& options) {
    constexpr const char* certificate = "--tls-certificate";
    constexpr const char* key = "--tls-key";
    if (options.tls_certificate.empty() && options.tls_key.empty()) return {};
    if (options.tls_key.empty())
        return invalid_field(key, "is needed beside --tls-certificate: the PEM key of it");
    if (options.tls_certificate.empty())
        return invalid_field(certificate, "is needed beside --tls-key: the PEM certificate of it");
    for (const auto& [option, file] :
         {std::pair{certificate, options.tls_certificate}, {key, options.tls_key}})
        if (::access(file.c_str(), R_OK) != 0)
            return invalid_field(option, file + " can't be read: " + std::strerror(errno));
    const Status usable = http::check_tls_files(
        {.certificate_file = options.tls_certificate, .key_file = options.tls_key});
    if (usable) return {};
    return invalid_field(usable.error().field == "certificate_file" ? certificate : key,
                         usable.error().message);
}

namespace {

bool is_wildcard(const std::string& host) {
    return host.empty() || host == "0.0.0.0" || host == "::";
}

// Two of these can't be listened at side by side. Port 0 is any free one.
bool is_same_place(const Address& a, const Address& b) {
    if (a.port != b.port || a.port == 0) return false;
    const auto is_local = [](const Address& one, const char* ip) {
        return one.host == ip || one.host == "localhost";
    };
    return a.host == b.host || is_wildcard(a.host) || is_wildcard(b.host) ||
           (is_local(a, "127.0.0.1") && is_local(b, "127.0.0.1")) ||
           (is_local(a, "::1") && is_local(b, "::1"));
}

}  // namespace

Status check_public(const UpOptions& options) {
    TANDEM_LET(listen, parse_address(options.listen, "--listen"));
    const bool tls = has_tls(options);
    if (!is_loopback(listen.host) && !tls)
        return invalid_field("--listen", options.listen +
                                             " is reachable by others: give --tls-certificate and "
                                             "--tls-key, or listen on 127.0.0.1");
    TANDEM_LET(gateway, parse_address(options.gateway, "--gateway"));
    if (is_same_place(listen, gateway))
        return invalid_field("--gateway", options.gateway + " is where --listen is (" +
                                              options.listen + "): give another address or port");
    if (!is_loopback(gateway.host) && !tls)
        return invalid_field("--gateway", options.gateway +
                                              " is reachable by others: give --tls-certificate and "
                                              "--tls-key, or listen on 127.0.0.1");
    return {};
}

}  // namespace tandem::apps

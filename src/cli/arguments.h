// SPDX-License-Identifier: Apache-2.0
// Arguments: the command line as values. parse_arguments is the only place that knows CLI11.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"

namespace tandem::cli {

struct Arguments {
    std::string verb{};                  // "get", "job cancel"
    std::vector<std::string> words{};    // positional
    std::optional<std::int64_t> wanted_priority{};
    std::vector<std::string> command{};  // behind "--"

    std::string server{};
    std::string context{};
    std::string project{};
    std::string name_space{};
    std::string output = "table";
    std::string language = "en";
    bool all_projects = false;
    bool dry_run = false;

    std::vector<std::string> files{};
    std::string label_selector{};
    std::string field_selector{};
    bool follow = false;
    std::string role{};
    std::int64_t rank = -1;
    std::int64_t epoch = 0;
    std::int64_t limit = 100;
    std::string wait_for{};
    std::string timeout = "0s";  // 0: as long as it takes
    std::string horizon{};
    std::string from{};
    std::string to{};

    // key create, context set
    std::string subject{};
    std::string expires{};
    std::vector<std::string> services{};
    bool inference_only = false;
    std::int64_t requests_per_minute = 0;
    std::int64_t concurrency = 64;
    std::string key_file{};

    // model push
    std::string job{};
    std::string job_output{};
    // run
    std::string name{};
    std::string queue{};
    std::int64_t priority = 0;
    std::string devices = "1";
    std::string flavor{};
    std::string cpu{};
    std::string memory{};
    std::vector<std::string> env{};
    std::string working_directory{};
};

// Either arguments to act on, or an exit code when help was shown or the words were wrong.
struct ParsedArguments {
    std::optional<Arguments> arguments{};
    int exit_code = 0;
};
ParsedArguments parse_arguments(std::vector<std::string> words, const Terminal& terminal,
                                const Options& options);

}  // namespace tandem::cli

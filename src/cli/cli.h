// SPDX-License-Identifier: Apache-2.0
// Cli: the command line of Tandem as a function. apps/main calls run() with the process's terminal;
// tests with their own. Everything goes through REST; verbs that work on this host (up, down,
// doctor, ...) are handed in by apps as HostVerbs, so that help shows one program.
//
// Output goes to out, everything else (errors, progress, questions) to err. Exit codes:
// cli/exit_code.h. Thread rule: one call at a time; interrupts may come from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"
#include "base/time.h"

namespace tandem::cli {

// What the command line needs of the process around it.
struct Terminal {
    std::function<void(std::string_view)> out;
    std::function<void(std::string_view)> err;
    std::function<std::string()> read_input;                // standard input to its end
    // One answer; absent at the end of input, and once `wanted`, which is asked a few times a
    // second, says that nobody waits for it any more.
    std::function<std::optional<std::string>(const std::function<bool()>& wanted)> read_line;
    std::function<std::optional<std::string>(const char* name)> environment;
    std::function<Instant()> now;
    // Calls back on Ctrl-C, from another thread, while the returned guard lives.
    std::function<std::shared_ptr<void>(std::function<void()> on_interrupt)> watch_interrupts;
    bool out_is_terminal = false;
    bool err_is_terminal = false;
    bool in_is_terminal = false;
};
// Of this process. Interrupts are watched by a thread of its own.
Terminal make_process_terminal();

struct HostVerb {
    std::string name;
    std::string summary;
    std::function<int(const std::vector<std::string>& arguments)>
        run;  // without the verb; returns the exit code
};

// Where the installation of this host is and the key it was given at its first start.
struct LocalInstallation {
    std::string server{};  // URL
    Secret key{};          // empty: there is none that can be read, for the reason of `no_key`
    std::string no_key{};
    bool chosen = false;  // the caller names it (TANDEM_HOME): goes before the current context
};

struct Options {
    std::string version{};
    std::vector<HostVerb> host_verbs{};
    std::function<std::optional<LocalInstallation>()> find_local{};
};

int run(int argc, const char* const* argv, const Terminal& terminal, const Options& options);

}  // namespace tandem::cli

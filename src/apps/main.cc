// SPDX-License-Identifier: Apache-2.0
// tandem: one program. `server` and `gateway` are the two long-lived processes that `up` starts;
// the other verbs are the command line.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "apps/control.h"
#include "apps/gateway_main.h"
#include "apps/host_verbs.h"
#include "apps/server_main.h"
#include "cli/cli.h"

#ifndef TANDEM_VERSION
#error "the build defines TANDEM_VERSION"
#endif

namespace {

std::vector<std::string> rest_of(int argc, char** argv) {
    return {argv + 2, argv + argc};
}

}  // namespace

int main(int argc, char** argv) {
    const std::string verb = argc > 1 ? argv[1] : "";
    if (verb == "server") return tandem::apps::server_main(rest_of(argc, argv));
    if (verb == "gateway") return tandem::apps::gateway_main(rest_of(argc, argv));
    tandem::cli::Options options;
    options.version = TANDEM_VERSION;
    options.host_verbs = tandem::apps::host_verbs();
    options.find_local = tandem::apps::find_local;
    return tandem::cli::run(argc, argv, tandem::cli::make_process_terminal(), options);
}

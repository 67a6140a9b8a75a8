// SPDX-License-Identifier: Apache-2.0
// Contexts: servers and keys that a user has named, in $XDG_CONFIG_HOME/tandem/contexts.yaml (or
// ~/.config), written with mode 0600 in a folder of mode 0700. Errors say which file. Thread rule:
// one owner.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"

namespace tandem::cli {

struct Context {
    std::string name{};
    std::string server{};
    Secret key{};
    std::string project{};
    std::string name_space{};
};

struct Contexts {
    std::string current{};
    std::vector<Context> list{};

    const Context* find(std::string_view name) const;
    Context& put(std::string_view name);  // the one of that name, made when there is none
    bool remove(std::string_view name);
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

Result<std::string> contexts_file(const Environment& environment);
Result<Contexts> load_contexts(const std::string& file);  // empty when there is no file
Status save_contexts(const std::string& file, const Contexts& contexts);

}  // namespace tandem::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/context.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "codec/document.h"

namespace tandem::cli {
namespace {

std::unexpected<Error> file_error(const std::string& file, std::string_view doing) {
    return fail(ErrorCode::internal, fmt::format("{} {}: {}", doing, file, std::strerror(errno)));
}

std::string text_of(const codec::Value& value, std::string_view name) {
    const codec::Value* member = value.find(name);
    return member ? std::string(member->text_or_empty()) : std::string();
}

codec::Value value_of(const Context& context) {
    codec::Value value = codec::make_object();
    const auto add = [&](const char* name, std::string_view text) {
        if (!text.empty()) value.add(name, codec::make_text(std::string(text)));
    };
    add("name", context.name);
    add("server", context.server);
    add("key", context.key.reveal());
    add("project", context.project);
    add("namespace", context.name_space);
    return value;
}

// Whole or not at all: written beside, then renamed.
Status write_private(const std::string& file, std::string_view text) {
    const std::string fresh = file + ".new";
    ::unlink(fresh.c_str());
    const int descriptor =
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0) return file_error(fresh, "writing");
    const bool written =
        ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::fsync(descriptor) == 0;
    ::close(descriptor);
    if (!written || ::rename(fresh.c_str(), file.c_str()) != 0) return file_error(file, "writing");
    return {};
}

}  // namespace

const Context* Contexts::find(std::string_view name) const {
    const auto found = std::ranges::find(list, name, &Context::name);
    return found == list.end() ? nullptr : &*found;
}

Context& Contexts::put(std::string_view name) {
    const auto found = std::ranges::find(list, name, &Context::name);
    if (found != list.end()) return *found;
    return list.emplace_back(Context{.name = std::string(name)});
}

bool Contexts::remove(std::string_view name) {
    if (current == name) current.clear();
    return std::erase_if(list, [&](const Context& context) { return context.name == name; }) > 0;
}

Result<std::string> contexts_file(const Environment& environment) {
    if (const auto folder = environment("XDG_CONFIG_HOME"); folder && !folder->empty())
        return *folder + "/tandem/contexts.yaml";
    if (const auto home = environment("HOME"); home && !home->empty())
        return *home + "/.config/tandem/contexts.yaml";
    return fail(ErrorCode::invalid,
                "neither HOME nor XDG_CONFIG_HOME is set: there is no place for contexts");
}

Result<Contexts> load_contexts(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        if (errno == ENOENT || errno == ENOTDIR) return Contexts{};
        return file_error(file, "reading");
    }
    std::stringstream text;
    text << stream.rdbuf();
    const auto documents = codec::parse_yaml(text.str());
    if (!documents) return in_context(fmt::format("reading {}", file), documents.error());
    Contexts contexts;
    if (documents->empty()) return contexts;
    contexts.current = text_of(documents->front(), "current");
    if (const codec::Value* list = documents->front().find("contexts"))
        for (const codec::Value& item : list->items)
            contexts.list.push_back({.name = text_of(item, "name"),
                                     .server = text_of(item, "server"),
                                     .key = Secret(text_of(item, "key")),
                                     .project = text_of(item, "project"),
                                     .name_space = text_of(item, "namespace")});
    return contexts;
}

Status save_contexts(const std::string& file, const Contexts& contexts) {
    codec::Value list{.type = codec::ValueType::array};
    for (const Context& context : contexts.list) list.items.push_back(value_of(context));
    codec::Value root = codec::make_object();
    root.add("current", codec::make_text(contexts.current));
    root.add("contexts", std::move(list));
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    std::filesystem::create_directories(folder, error);
    if (error)
        return fail(ErrorCode::internal,
                    fmt::format("making {}: {}", folder.string(), error.message()));
    ::chmod(folder.c_str(), 0700);
    return write_private(file, codec::render_yaml(root));
}

}  // namespace tandem::cli

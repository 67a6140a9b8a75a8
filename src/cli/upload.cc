// SPDX-License-Identifier: Apache-2.0
#include "cli/upload.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/quantity.h"
#include "cli/show.h"
#include "crypto/sha256.h"

namespace tandem::cli {
namespace {

constexpr std::size_t part_bytes = 8 * 1024 * 1024;

// One line that is written over on terminals; elsewhere only the end is told.
class Progress {
  public:
    Progress(const Terminal& terminal, std::string what, std::int64_t total)
        : terminal_(terminal), what_(std::move(what)), total_(total), began_(terminal.now()) {}
    void show(std::int64_t done) const {
        if (!terminal_.err_is_terminal) return;
        terminal_.err(fmt::format("\r{} {:3}% of {}", what_, total_ ? done * 100 / total_ : 100,
                                  mebibytes(total_)));
    }
    void end() const {
        const Duration took = terminal_.now() - began_;
        terminal_.err(fmt::format("{}{} {} in {}.{} s\n", terminal_.err_is_terminal ? "\r" : "",
                                  what_, mebibytes(total_), took.ms / 1000, took.ms % 1000 / 100));
    }

  private:
    static std::string mebibytes(std::int64_t bytes) {
        return fmt::format("{}.{} MiB", bytes >> 20, (bytes & 0xFFFFF) * 10 >> 20);
    }
    const Terminal& terminal_;
    std::string what_;
    std::int64_t total_;
    Instant began_;
};

}  // namespace

Result<std::string> digest_of_file(const std::string& file) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    std::ifstream stream(file, std::ios::binary);
    if (error || !stream)
        return fail(
            ErrorCode::invalid,
            fmt::format("reading {}: {}", file, error ? error.message() : std::strerror(errno)));
    if (size == 0) return invalid_field("file", file + " is empty; a model is a GGUF file");
    crypto::Sha256 hash;
    std::string part(part_bytes, '\0');
    while (stream) {
        stream.read(part.data(), static_cast<std::streamsize>(part_bytes));
        hash.add({part.data(), static_cast<std::size_t>(stream.gcount())});
    }
    if (stream.bad()) return fail(ErrorCode::invalid, file + " could not be read to its end");
    return crypto::render_digest(hash.finish());
}

Result<std::string> upload_file(Session& session, const std::string& file) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    std::ifstream stream(file, std::ios::binary);
    if (error || !stream)
        return fail(
            ErrorCode::invalid,
            fmt::format("reading {}: {}", file, error ? error.message() : std::strerror(errno)));
    TANDEM_LET(begun, session.call({.method = "POST",
                                    .path = "/api/v1/blobs",
                                    .body = fmt::format("{{\"bytes\":{}}}", size)}));
    const std::string upload = text_at(begun, "upload");
    if (upload.empty()) return fail(ErrorCode::internal, "the server named no upload");
    const std::string path = "/api/v1/blobs/uploads/" + http::encode_component(upload);
    const Progress progress(session.terminal(), "uploading " + file,
                            static_cast<std::int64_t>(size));
    crypto::Sha256 hash;
    std::string part(part_bytes, '\0');
    std::int64_t offset = 0;
    while (stream) {
        stream.read(part.data(), static_cast<std::streamsize>(part_bytes));
        const auto got = static_cast<std::size_t>(stream.gcount());
        if (got == 0) break;
        hash.add({part.data(), got});
        // The offset makes sending a part twice harmless.
        TANDEM_TRY(session.call({.method = "PUT",
                                 .path = path,
                                 .query = {{"offset", std::to_string(offset)}},
                                 .body = part.substr(0, got),
                                 .content_type = "application/octet-stream"}));
        offset += static_cast<std::int64_t>(got);
        progress.show(offset);
    }
    if (stream.bad() || offset != static_cast<std::int64_t>(size))
        return fail(ErrorCode::invalid,
                    fmt::format("{} changed or could not be read to its end", file));
    const std::string digest = crypto::render_digest(hash.finish());
    TANDEM_LET(stored, session.call({.method = "POST",
                                     .path = path + "/finish",
                                     .body = "{\"digest\":\"" + digest + "\"}"}));
    progress.end();
    return text_at(stored, "digest").empty() ? digest : text_at(stored, "digest");
}

}  // namespace tandem::cli

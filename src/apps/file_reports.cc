// SPDX-License-Identifier: Apache-2.0
#include "apps/file_reports.h"

#include <cctype>
#include <fstream>
#include <future>
#include <vector>

#include "crypto/sha256.h"
#include "model/meta.h"

namespace tandem::apps {

Result<std::string> digest_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return fail(ErrorCode::not_found, "can't be read: " + path);
    crypto::Sha256 hash;
    std::vector<char> buffer(1 << 20);
    while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) ||
           file.gcount() > 0)
        hash.add({buffer.data(), static_cast<std::size_t>(file.gcount())});
    return crypto::render_digest(hash.finish());
}

Result<model::OutputRecord> keep_output(blob::BlobStore& blobs, const std::string& name,
                                        const std::string& path) {
    auto kept = std::make_shared<std::promise<Result<blob::BlobFacts>>>();
    auto waiting = kept->get_future();
    TANDEM_TRY(blobs.put_file(
        path, [kept](Result<blob::BlobFacts> facts) { kept->set_value(std::move(facts)); }));
    const Result<blob::BlobFacts> facts = waiting.get();
    if (!facts) return in_context("output " + name, facts.error());
    return model::OutputRecord{.name = name, .digest = facts->digest, .bytes = facts->bytes};
}

std::string node_name(const std::string& host) {
    std::string name;
    for (char c : host) {
        const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        const bool fits = (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') ||
                          lower == '-' || lower == '.';
        name += fits ? lower : '-';
    }
    return model::check_name(name, "name") ? name : "local";
}

}  // namespace tandem::apps

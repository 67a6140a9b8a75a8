// SPDX-License-Identifier: Apache-2.0
// What the repository shows people to apply is itself valid: every manifest under examples/ and
// runtimes/.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "codec/document.h"
#include "codec/manifest.h"

namespace tandem::codec {
namespace {

namespace fs = std::filesystem;

// Tests run somewhere in the tree: in the root, or in a folder of the build.
fs::path repository_root() {
    for (fs::path folder = fs::current_path();; folder = folder.parent_path()) {
        if (fs::is_directory(folder / "examples") && fs::is_directory(folder / "runtimes"))
            return folder;
        if (folder == folder.root_path()) return {};
    }
}

std::vector<fs::path> manifests() {
    std::vector<fs::path> found;
    const fs::path root = repository_root();
    if (root.empty()) return found;
    for (const char* top : {"examples", "runtimes"}) {
        for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / top)) {
            if (entry.path().extension() == ".yaml") found.push_back(entry.path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::string read_file(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

TEST(examples, each_manifest_is_valid) {
    const std::vector<fs::path> files = manifests();
    ASSERT_GE(files.size(), 6u) << "run me inside the repository, not in " << fs::current_path();
    for (const fs::path& file : files) {
        SCOPED_TRACE(file);
        const auto documents = parse_yaml(read_file(file));
        ASSERT_TRUE(documents) << documents.error().message;
        EXPECT_FALSE(documents->empty());
        for (const Value& document : *documents) {
            const auto object = parse_manifest(document);
            ASSERT_TRUE(object) << object.error().field << ": " << object.error().message;
            const Status status = model::check_object(*object);
            EXPECT_TRUE(status) << status.error().field << ": " << status.error().message;
        }
    }
}

}  // namespace
}  // namespace tandem::codec

// SPDX-License-Identifier: Apache-2.0
// Files of a store: durable creation, copies and renames, the identity of an open file, and the mark beside
// the database, which tells a swapped, older or vanished database from the one that ran here last.
// Errors: internal with errno's words; storage_full. Thread rule: any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace tandem::store::sqlite {

bool exists(const std::string& path);
Status create_private(const std::string& path);             // mode 0600; must not exist
Status sync_file(const std::string& path);
Status sync_folder_of(const std::string& path);
Status rename_durably(const std::string& from, const std::string& to);
Status copy_durably(const std::string& from, const std::string& to);  // `to` is replaced, mode 0600
Status remove_if_there(const std::string& path);
Result<std::int64_t> size_of(const std::string& path);

// The first 100 bytes of a database; shorter when the file is.
Result<std::string> read_header(const std::string& path);
bool is_sqlite_header(const std::string& header);
// Such a file has its newest rows in another one, and is no backup by itself.
bool is_log_mode_header(const std::string& header);

struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const FileIdentity&) const = default;
};
std::optional<FileIdentity> identify(const std::string& path);  // absent: no such file

struct StoreMark {
    std::string installation{};
    std::int64_t generation = 0;
    std::int64_t batch = 0;
    bool operator==(const StoreMark&) const = default;
};
Result<std::optional<StoreMark>> read_mark(const std::string& database);
Status write_mark(const std::string& database, const StoreMark& mark);
// The database that is open now is the one that the mark speaks of, or a restored one.
Status check_mark(const StoreMark& mark, const StoreMark& found, const std::string& database);

}  // namespace tandem::store::sqlite

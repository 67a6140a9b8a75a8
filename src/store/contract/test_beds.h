// SPDX-License-Identifier: Apache-2.0
// Beds for the contract test: one store each, that can be closed, killed and opened again. Tests only.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/ports.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace tandem::store {

struct BedOptions {
    std::int64_t change_rows_max = 1'000'000;
    bool small_disk = false;  // room for a few hundred objects
};

class Bed {
  public:
    virtual ~Bed() = default;
    virtual core::Store& store() = 0;
    virtual core::StoreReader& reader() = 0;
    virtual void reopen() = 0;
};

class MemoryBed final : public Bed {
  public:
    explicit MemoryBed(const BedOptions& options)
        : disk_(std::make_shared<MemoryDisk>(MemoryOptions{.change_rows_max = static_cast<std::size_t>(options.change_rows_max)})),
          store_(std::make_unique<MemoryStore>(disk_)), small_(options.small_disk) {}
    core::Store& store() override {
        if (small_ && disk_->rows().objects.size() >= 100) disk_->arm(CommitFault::full);
        return *store_;
    }
    core::StoreReader& reader() override { return *store_; }
    void reopen() override { store_ = std::make_unique<MemoryStore>(disk_); }
    MemoryDisk& disk() { return *disk_; }

  private:
    std::shared_ptr<MemoryDisk> disk_;
    std::unique_ptr<MemoryStore> store_;
    bool small_;
};

class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string form = (std::filesystem::temp_directory_path() / "tandem-store-XXXXXX").string();
        path_ = mkdtemp(form.data());
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

class SqliteBed final : public Bed {
  public:
    explicit SqliteBed(const BedOptions& options) : options_(options) { reopen(); }
    core::Store& store() override { return *store_; }
    core::StoreReader& reader() override { return store_->reader(); }
    void reopen() override {
        store_ = nullptr;
        auto opened = sqlite::SqliteStore::open({.path = folder_ / "store.db", .change_rows_max = options_.change_rows_max,
                                                 .pages_max = options_.small_disk ? 120 : 0});
        if (!opened) throw std::runtime_error(opened.error().message);
        store_ = *std::move(opened);
    }

  private:
    TemporaryFolder folder_{};
    BedOptions options_;
    std::unique_ptr<sqlite::SqliteStore> store_;
};

inline std::unique_ptr<Bed> make_bed(const std::string& kind, const BedOptions& options = {}) {
    if (kind == "memory") return std::make_unique<MemoryBed>(options);
    return std::make_unique<SqliteBed>(options);
}

}  // namespace tandem::store

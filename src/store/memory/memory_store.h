// SPDX-License-Identifier: Apache-2.0
// MemoryStore: Store and StoreReader over a MemoryDisk. Answers exactly as the SQLite store does; both pass
// the same contract test (store/contract). After a fatal outcome it is dead: open a new one on the disk.
// Thread rule: as core/ports.h says.
#pragma once

#include <memory>

#include "core/ports.h"
#include "store/memory/memory_disk.h"

namespace tandem::store {

class MemoryStore final : public core::Store, public core::StoreReader {
  public:
    explicit MemoryStore(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)) {}

    Result<core::RecoveredState> recover() override;
    Status open_segment(const model::CoreMeta& meta, std::string_view core_version, const model::LiveMemory* live) override;
    bool segment_is_full() const override;
    core::CommitOutcome commit(const model::BatchRecord& record) override;

    Result<std::optional<core::ObjectText>> find(const model::ObjectKey& key) override;
    Result<core::ListPage> list(const core::ListQuery& query) override;
    Result<std::vector<core::ChangeText>> changes(std::int64_t after, std::int64_t limit) override;
    Result<std::vector<model::UsageRecord>> usage(const core::UsageQuery& query) override;
    Result<std::vector<model::RequestUsage>> requests(const core::UsageQuery& query) override;
    Result<std::vector<model::EventRecord>> events(const core::ReadScope& scope, const Uid& about,
                                                   std::int64_t limit) override;
    Result<std::vector<model::AuditRecord>> audit(std::int64_t after, std::int64_t limit) override;
    Result<core::RecoveredState> rows() override { return recover(); }
    Status export_history(const std::function<bool(std::string_view line)>& sink) override;

  private:
    std::shared_ptr<MemoryDisk> disk_;
    bool dead_ = false;
};

}  // namespace tandem::store

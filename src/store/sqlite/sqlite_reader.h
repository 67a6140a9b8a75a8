// SPDX-License-Identifier: Apache-2.0
// SqliteReader: what the API reads, over the pool, in slices: no read transaction lasts longer than 20 ms, and
// no line is handed out while one is open. rows() alone reads on a connection of its own, as a
// backup does. Thread rule: any thread.
#pragma once

#include "core/ports.h"
#include "store/query/scope.h"
#include "store/sqlite/kind_numbers.h"
#include "store/sqlite/reader_pool.h"

namespace tandem::store::sqlite {

class SqliteReader final : public core::StoreReader {
  public:
    SqliteReader(ReaderPool& pool, const KindNumbers& kinds) : pool_(&pool), kinds_(&kinds) {}

    Result<std::optional<core::ObjectText>> find(const model::ObjectKey& key) override;
    Result<core::ListPage> list(const core::ListQuery& query) override;
    Result<std::vector<core::ChangeText>> changes(std::int64_t after, std::int64_t limit) override;
    Result<std::vector<model::UsageRecord>> usage(const core::UsageQuery& query) override;
    Result<std::vector<model::RequestUsage>> requests(const core::UsageQuery& query) override;
    Result<std::vector<model::EventRecord>> events(const core::ReadScope& scope, const Uid& about,
                                                   std::int64_t limit) override;
    Result<std::vector<model::AuditRecord>> audit(std::int64_t after, std::int64_t limit) override;
    Result<core::RecoveredState> rows() override;
    Status export_history(const std::function<bool(std::string_view line)>& sink) override;

  private:
    Result<std::vector<model::UsageRecord>> open_usage(const core::UsageQuery& query);
    Result<std::vector<model::UsageRecord>> closed_usage(const core::UsageQuery& query);

    ReaderPool* pool_;
    const KindNumbers* kinds_;
};

}  // namespace tandem::store::sqlite

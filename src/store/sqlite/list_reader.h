// SPDX-License-Identifier: Apache-2.0
// ListReader: one page of a list, over as many slices as its filters need. Thread rule: one call, one owner.
#pragma once

#include "store/query/scope.h"
#include "store/sqlite/kind_numbers.h"
#include "store/sqlite/reader_pool.h"

namespace tandem::store::sqlite {

class ListReader {
  public:
    ListReader(ReaderPool& pool, const KindNumbers& kinds, const core::ListQuery& query, ListPlan plan);
    Result<core::ListPage> read();

  private:
    Status begin(Connection& connection);            // versions and count, in the first slice
    Result<std::int64_t> count(Connection& connection);
    Result<bool> read_slice(ReaderPool::Snapshot& snapshot);  // true: the page is done
    Result<bool> take(const Statement& row, Statement& body);  // true: the page was full already

    ReaderPool* pool_;
    const KindNumbers* kinds_;
    const core::ListQuery* query_;
    ListPlan plan_;
    std::string sql_{};
    std::string key_{};           // what the chosen index is asked for
    std::int64_t place_ = 0;      // of the last row looked at
    std::int64_t last_ = 0;       // place of the last row shown
    std::int64_t total_ = 0;
    core::ListPage page_{};
};

}  // namespace tandem::store::sqlite

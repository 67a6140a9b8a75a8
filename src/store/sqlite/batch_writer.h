// SPDX-License-Identifier: Apache-2.0
// BatchWriter: writes one BatchRecord as rows, inside a transaction that its caller began. Once a second, or
// after a thousand new rows, it lets go of rows that are kept only for a while: twice as many as came in, so
// that no batch pays for a long past.
// A row that breaks a constraint is an error like any other. Thread rule: the writer's thread.
#pragma once

#include <cstdint>

#include "model/batch.h"
#include "store/sqlite/kind_numbers.h"

namespace tandem::store::sqlite {

struct Retention {
    std::int64_t change_rows_max = 1'000'000;
    Duration change_age_max = hours(24);
    Duration event_age_max = hours(24 * 30);
    Duration idempotency_age_max = hours(24);
    std::int64_t segment_bytes_max = 256LL << 20;  // state rows and log of all segments but the newest
};

// How far the log of the newest segment has grown.
struct SegmentLog {
    std::int64_t rows = 0;
    std::int64_t bytes = 0;
    Instant begun{};
    Instant newest{};
};

class BatchWriter {
  public:
    BatchWriter(Connection& connection, const KindNumbers& kinds, Retention retention)
        : connection_(&connection), kinds_(&kinds), retention_(retention) {}

    Status write(const model::BatchRecord& record);
    Status write_meta(const model::CoreMeta& meta);
    const SegmentLog& segment_log() const { return segment_log_; }
    void begin_segment() { segment_log_ = {}; }
    // It could not be opened: half of its limit later it is tried again.
    void put_off_segment() {
        segment_log_.rows /= 2;
        segment_log_.bytes /= 2;
        segment_log_.begun = segment_log_.begun + Duration{(segment_log_.newest - segment_log_.begun).ms / 2};
    }

  private:
    Status write_object(const model::Change& change);
    Status delete_object(const model::Change& change);
    Status write_change(const model::BatchRecord& record, std::size_t index);
    Status write_changes(const model::BatchRecord& record);
    Status write_work(const model::BatchRecord& record);
    Status write_accounts(const model::BatchRecord& record);
    Status write_log(const model::BatchRecord& record);
    Status forget_old(const model::BatchRecord& record);
    // The first row that `oldest` gives is older.
    Result<bool> begins_before(std::string_view oldest, Instant before);
    Status forget_changes(Instant before, std::int64_t version, std::int64_t rows_max);
    Status require_one_row(const model::Change& change);
    template <class... T>
    Status run(std::string_view sql, const T&... values) {
        TANDEM_LET(statement, connection_->prepared(sql));
        return statement->run(values...);
    }

    Connection* connection_;
    const KindNumbers* kinds_;
    Retention retention_;
    Instant swept_{};
    std::int64_t rows_since_sweep_ = 0;
    SegmentLog segment_log_{};
};

}  // namespace tandem::store::sqlite

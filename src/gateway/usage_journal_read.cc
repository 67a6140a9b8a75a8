// SPDX-License-Identifier: Apache-2.0
// The journal's other end: rows that are synced, from memory or from the segments.
#include <algorithm>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "gateway/files.h"
#include "gateway/journal_record.h"
#include "gateway/usage_journal.h"

namespace tandem::gateway {

Result<JournalBatch> UsageJournal::read(std::int64_t from, std::size_t rows_max,
                                        std::size_t bytes_max) {
    JournalBatch batch{.first_sequence = from, .last_sequence = from - 1};
    if (read_recent(batch, rows_max, bytes_max)) return batch;
    return read_file_from(from, rows_max, bytes_max);
}

// False when the first row wanted is not in memory any more.
bool UsageJournal::read_recent(JournalBatch& batch, std::size_t rows_max, std::size_t bytes_max) {
    std::vector<Recent> pieces;
    std::int64_t until = 0;
    {
        const std::lock_guard lock(mutex_);
        if (recent_.empty() || recent_.front().first > batch.first_sequence) return false;
        until = synced_;
        for (const auto& recent : recent_)
            if (recent.last >= batch.first_sequence && recent.first <= until)
                pieces.push_back(recent);
    }
    std::size_t bytes = 0;
    for (const auto& piece : pieces) {
        std::string_view rest = *piece.records;
        for (auto sequence = piece.first; sequence <= std::min(piece.last, until); ++sequence) {
            const auto size = record_size(rest);
            if (batch.rows.size() == rows_max || bytes >= bytes_max) return true;
            if (sequence >= batch.first_sequence) {
                batch.rows.emplace_back(rest.substr(record_head, size));
                batch.last_sequence = sequence;
                bytes += size;
            }
            rest.remove_prefix(record_head + size);
            // A later read may have to go on in the file: it need not search there.
            const auto taken = static_cast<std::int64_t>(piece.records->size() - rest.size());
            cursor_ = {.sequence = sequence + 1,
                       .segment_first = piece.segment_first,
                       .offset = piece.offset + taken};
        }
    }
    return true;
}

Result<JournalBatch> UsageJournal::read_file_from(std::int64_t from, std::size_t rows_max,
                                                  std::size_t bytes_max) {
    Segment segment;
    std::int64_t until = 0;
    {
        const std::lock_guard lock(mutex_);
        until = synced_;
        for (const auto& candidate : segments_)
            if (candidate.first <= from) segment = candidate;
    }
    JournalBatch batch{.first_sequence = from, .last_sequence = from - 1};
    if (from > until) return batch;
    if (segment.path.empty())
        return fail(ErrorCode::internal, fmt::format("row {} is not in the journal", from));
    if (cursor_.sequence != from || cursor_.segment_first != segment.first)
        cursor_ = {.sequence = segment.first, .segment_first = segment.first, .offset = 0};
    relay::Fd file(::open(segment.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return disk_error("opening", segment.path);
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(
        segment.bytes - cursor_.offset, static_cast<std::int64_t>(bytes_max) + record_max));
    const auto text = std::make_unique_for_overwrite<char[]>(size);
    const auto n = ::pread(file.get(), text.get(), size, cursor_.offset);
    if (n < 0) return disk_error("reading", segment.path);
    std::string_view rest(text.get(), static_cast<std::size_t>(n));
    std::size_t bytes = 0;
    while (cursor_.sequence <= until && batch.rows.size() < rows_max && bytes < bytes_max) {
        const auto record = take_record(rest);
        if (!record) break;  // the end of this segment, or of what was read
        if (cursor_.sequence >= from) {
            batch.rows.emplace_back(*record);
            batch.last_sequence = cursor_.sequence;
            bytes += record->size();
        }
        rest.remove_prefix(8 + record->size());
        cursor_.offset += static_cast<std::int64_t>(8 + record->size());
        ++cursor_.sequence;
    }
    return batch;
}

}  // namespace tandem::gateway

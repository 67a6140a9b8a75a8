// SPDX-License-Identifier: Apache-2.0
// UsageJournal: usage rows on the gateway's own disk, in order, until the server has booked them. A
// row counts when it is written and synced (a thread does both for all rows of some milliseconds at
// once); it is deleted only when acknowledged. Epoch: one life of the folder; sequences count from
// 1 in it, without gap. A call is entered by begin() before anything is sent for it, and leaves by
// append(): one that a killed gateway left open is settled by the next open() from its last marks
// (open_calls.h), once.
//
// Folder: `epoch`, `acknowledged` (a number each), `calls.1`, segments `<first sequence>.rows` of
// records
//   u32 length, u32 CRC-32 of the text, text: the row as JSON (codec), both numbers little-endian.
// A torn record at the end of the last segment (a crash while writing) is cut off at start; it was
// never counted. Full (bytes_max, or the disk is): healthy() is false, and the gateway refuses new
// requests rather than serve them unmetered. Thread rule: any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "gateway/open_calls.h"
#include "gateway/row_text.h"
#include "model/usage.h"
#include "net/relay/socket.h"

namespace tandem::gateway {

struct JournalBatch {
    std::int64_t first_sequence = 0;
    std::int64_t last_sequence = 0;
    std::vector<std::string> rows{};  // JSON
};

class UsageJournal {
  public:
    static Result<std::unique_ptr<UsageJournal>> open(const std::string& folder,
                                                      std::int64_t bytes_max);
    ~UsageJournal();  // writes and syncs what is pending
    UsageJournal(const UsageJournal&) = delete;
    UsageJournal& operator=(const UsageJournal&) = delete;

    // Enters a call: who it is of (`at`: now). Empty when there is no room: then it must not be
    // made. prompt_guess: what its prompt counts if nobody ever tells.
    OpenCall begin(const CallFacts& facts, std::int64_t prompt_guess);
    // Sets the row's sequence; returns at once. `call`: what begin() gave for it.
    void append(model::RequestUsage row, OpenCall call = {});
    std::int64_t settled_at_start() const {
        return settled_at_start_;
    }  // calls that an earlier life left open
    bool healthy() const;
    std::int64_t epoch() const { return epoch_; }
    std::int64_t synced() const;  // last sequence that counts
    std::int64_t acknowledged() const;
    // Waits at most `ms` for synced rows behind `after`; true when there are some.
    bool wait_for_rows(std::int64_t after, int ms);
    void wake();  // ends a wait early

    // Synced rows from `from` on, at most rows_max and about bytes_max of them. Error: unreadable.
    Result<JournalBatch> read(std::int64_t from, std::size_t rows_max, std::size_t bytes_max);
    void acknowledge(std::int64_t up_to);

  private:
    struct Segment {
        std::int64_t first = 0;
        std::int64_t bytes = 0;
        std::string path;
    };
    // What was written last stays in memory for the shipper, which follows closely unless the
    // server is away.
    struct Recent {
        std::int64_t first = 0;
        std::int64_t last = 0;
        std::int64_t segment_first = 0;  // where it stands on disk
        std::int64_t offset = 0;
        std::shared_ptr<const std::string> records;
    };
    struct Cursor {  // where the last read ended, so that the next need not search
        std::int64_t sequence = 0;
        std::int64_t segment_first = 0;
        std::int64_t offset = 0;
    };
    struct Pending {
        model::RequestUsage row;
        OpenCall call;
    };
    explicit UsageJournal(std::string folder, std::int64_t bytes_max);
    Status load();
    Status settle_left();
    Status load_segment(Segment& segment, bool last);
    Status open_segment(std::int64_t first);
    void run();
    Status write_out(const std::vector<Pending>& rows);
    std::shared_ptr<const std::string> render(const std::vector<Pending>& rows);
    void keep_recent(Recent recent);
    bool read_recent(JournalBatch& batch, std::size_t rows_max, std::size_t bytes_max);
    Result<JournalBatch> read_file_from(std::int64_t from, std::size_t rows_max,
                                        std::size_t bytes_max);
    bool wait_for_work(std::unique_lock<std::mutex>& lock);
    void sync_calls(std::unique_lock<std::mutex>& lock);
    void drop_acknowledged();
    std::int64_t kept_bytes() const;

    std::string folder_;
    std::int64_t bytes_max_;
    std::int64_t epoch_ = 0;
    mutable std::mutex mutex_;
    std::condition_variable pending_;
    std::condition_variable written_;
    std::vector<Pending> rows_;                             // not yet written
    std::unique_ptr<OpenCalls> calls_;                      // take, give: under mutex_
    bool calls_changed_ = false;                            // begun since the last sync
    std::chrono::steady_clock::time_point calls_synced_{};  // writer thread only
    std::int64_t settled_at_start_ = 0;
    std::deque<Segment> segments_;
    std::int64_t next_sequence_ = 1;
    std::int64_t synced_ = 0;
    std::int64_t acknowledged_ = 0;
    std::int64_t acknowledged_on_disk_ = 0;
    bool failing_ = false;
    bool stopping_ = false;
    bool woken_ = false;
    std::deque<Recent> recent_;
    std::size_t recent_bytes_ = 0;
    RowText row_text_;  // writer thread only
    relay::Fd file_;    // writer thread only
    Cursor cursor_;     // reader thread only
    std::thread writer_;
};

}  // namespace tandem::gateway

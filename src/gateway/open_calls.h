// SPDX-License-Identifier: Apache-2.0
// OpenCalls: calls that are going on, in a file that outlives the process. A loop writes plain
// memory, which is the file's (mmap, shared): a call costs no system call, and a gateway that is
// killed in mid-stream leaves behind who called what, and the last marks of how far it got.
// UsageJournal owns it and settles what an earlier life left.
//
// A slot goes   free ─▶ open ─▶ ended ─▶ free.   open: who and marks count.  ended: the row has its
// sequence and final numbers; it is freed once the row is in the journal, so that a call is always
// in one of the two, and told apart when in both: by its sequence. The file grows by blocks whose
// space is taken beforehand (a full disk is an answer, not a fault) and never shrinks. kill -9
// loses nothing; with power, calls that began since the last sync() may be lost. Thread rule: take,
// give and grow by the journal's lock; a slot's marks by its call's loop; sync by the writer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/usage.h"
#include "net/relay/socket.h"

namespace tandem::gateway {

// Whose call it is; views.
struct CallFacts {
    std::string_view request_id{};
    std::string_view key_id{};
    std::string_view subject{};
    std::string_view project{};
    std::string_view name_space{};
    std::string_view service{};
    Instant at{};
    bool streamed = false;
};

// As it lies in the file: 1,024 bytes, a page holds four. Changing it needs another number in the
// name.
struct CallSlot {
    enum State : std::uint32_t { is_free = 0, is_open = 1, is_ended = 2 };
    enum Flag : std::uint32_t {
        streamed = 1,
        committed = 2,
        aborted = 4,
        counted = 8,
        prompt_told = 16,
        lost = 32,
        prompt_guessed = 64
    };
    std::atomic<std::uint32_t> state;
    std::uint32_t who_crc;                 // of `who` and opened_ms
    std::atomic<std::uint32_t> where_crc;  // of `where`; 0: at no replica
    std::uint16_t who_size;
    std::uint16_t where_size;
    std::atomic<std::uint32_t> flags;
    std::uint32_t reserved;
    std::int64_t opened_ms;                  // wall time
    std::int64_t sequence;                   // of an ended one's row
    std::atomic<std::int64_t> prompt_guess;  // by bytes, see prompt_bound() of completion
    std::atomic<std::int64_t> prompt;
    std::atomic<std::int64_t> cached;
    std::atomic<std::int64_t> completion;
    std::atomic<std::int64_t> status;
    std::atomic<std::int64_t> ttft_ms;
    std::atomic<std::int64_t> total_ms;  // until the last mark
    char who[648];
    char where[280];
};
static_assert(sizeof(CallSlot) == 1024 && std::atomic<std::int64_t>::is_always_lock_free);

// One call's slot, from begin to settle. Empty: nothing is kept. A value; who holds it writes the
// marks.
class OpenCall {
  public:
    OpenCall() = default;
    explicit OpenCall(CallSlot& slot) : slot_(&slot) {}
    explicit operator bool() const { return slot_ != nullptr; }

    void sent_to(std::string_view model_version,
                 std::string_view replica);  // before the first byte goes there
    void failed();                           // that attempt came to nothing
    void prompt_told(std::int64_t prompt, std::int64_t cached);
    void mark(bool committed, std::int64_t pieces, std::int64_t ttft_ms, std::int64_t total_ms);

  private:
    friend class OpenCalls;
    friend class UsageJournal;
    CallSlot* slot_ = nullptr;
};

class OpenCalls {
  public:
    static Result<std::unique_ptr<OpenCalls>> open(const std::string& path, std::size_t slots_max);
    ~OpenCalls();
    OpenCalls(const OpenCalls&) = delete;
    OpenCalls& operator=(const OpenCalls&) = delete;

    // Empty when there is no room (too many, or the disk is full), or when the facts do not fit.
    OpenCall take(const CallFacts& facts, std::int64_t prompt_guess);
    static void end(OpenCall call, const model::RequestUsage& row);  // row: with its sequence
    void give(OpenCall call);
    bool room() const { return !free_.empty() || slots_ < slots_max_; }
    Status sync();

    // What an earlier life left, oldest first: rows as far as they are known, sequence 0 for calls
    // that were open.
    struct Left {
        OpenCall call;
        model::RequestUsage row;
    };
    std::vector<Left> left() const;

  private:
    struct Block {
        CallSlot* slots = nullptr;
    };
    OpenCalls(relay::Fd file, std::size_t slots_max)
        : file_(std::move(file)), slots_max_(slots_max) {}
    Status map_block(bool fresh);

    relay::Fd file_;
    std::size_t slots_max_;
    std::size_t slots_ = 0;
    std::vector<Block> blocks_;
    std::vector<CallSlot*> free_;  // the last given is taken first: few pages stay warm
};

}  // namespace tandem::gateway

// SPDX-License-Identifier: Apache-2.0
#include "gateway/open_calls.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/crc32.h"

namespace tandem::gateway {
namespace {

constexpr std::size_t block_slots = 1024;
constexpr std::size_t block_bytes = block_slots * sizeof(CallSlot);
constexpr auto relaxed = std::memory_order_relaxed;

std::unexpected<Error> os_error(std::string_view doing, int error) {
    return fail(error == ENOSPC ? ErrorCode::storage_full : ErrorCode::unavailable,
                fmt::format("{} the file of open calls: {}", doing, std::strerror(error)));
}

// Texts one after another, each behind its length.
class Packer {
  public:
    Packer(char* at, std::size_t room) : begin_(at), at_(at), end_(at + room) {}
    bool add(std::string_view text) {
        if (text.size() > 0xffff || static_cast<std::size_t>(end_ - at_) < text.size() + 2)
            return false;
        *at_++ = static_cast<char>(text.size() & 0xff);
        *at_++ = static_cast<char>(text.size() >> 8);
        std::memcpy(at_, text.data(), text.size());
        at_ += text.size();
        return true;
    }
    std::uint16_t size() const { return static_cast<std::uint16_t>(at_ - begin_); }

  private:
    char* begin_;
    char* at_;
    char* end_;
};

class Unpacker {
  public:
    explicit Unpacker(std::string_view text) : rest_(text) {}
    std::string take() {
        if (rest_.size() < 2) return {};
        const std::size_t size = static_cast<std::uint8_t>(rest_[0]) |
                                 static_cast<std::size_t>(static_cast<std::uint8_t>(rest_[1])) << 8;
        const auto text = rest_.substr(2, size);
        rest_.remove_prefix(std::min(rest_.size(), size + 2));
        return std::string(text);
    }

  private:
    std::string_view rest_;
};

std::uint32_t crc_of_who(const CallSlot& slot) {
    const std::string_view opened(reinterpret_cast<const char*>(&slot.opened_ms),
                                  sizeof slot.opened_ms);
    return crypto::crc32({slot.who, slot.who_size}, crypto::crc32(opened));
}

// Never 0: that says "at no replica".
std::uint32_t crc_of_where(const CallSlot& slot) {
    return crypto::crc32({slot.where, slot.where_size}) | 1U;
}

void set_flag(CallSlot& slot, std::uint32_t flag, bool on) {
    const auto flags = slot.flags.load(relaxed);
    slot.flags.store(on ? flags | flag : flags & ~flag, relaxed);
}

std::optional<model::RequestUsage> row_of(const CallSlot& slot) {
    if (slot.who_size > sizeof slot.who || slot.where_size > sizeof slot.where) return std::nullopt;
    if (slot.who_crc != crc_of_who(slot)) return std::nullopt;  // power failed over it
    const auto flags = slot.flags.load(relaxed);
    Unpacker who({slot.who, slot.who_size});
    model::RequestUsage row{.request_id = who.take(),
                            .at = {slot.opened_ms},
                            .key_id = who.take(),
                            .subject = who.take(),
                            .project = who.take(),
                            .name_space = who.take(),
                            .service = who.take()};
    const auto where_crc = slot.where_crc.load(relaxed);
    const bool sent = where_crc != 0 && where_crc == crc_of_where(slot);
    if (sent) {
        Unpacker where({slot.where, slot.where_size});
        row.model_version = where.take();
        row.replica = where.take();
    }
    row.prompt_tokens = slot.prompt.load(relaxed);
    row.cached_tokens = slot.cached.load(relaxed);
    row.completion_tokens = slot.completion.load(relaxed);
    row.status = slot.status.load(relaxed);
    row.ttft_ms = slot.ttft_ms.load(relaxed);
    row.total_ms = slot.total_ms.load(relaxed);
    row.at.ms += row.total_ms;
    row.streamed = (flags & CallSlot::streamed) != 0;
    row.aborted = (flags & CallSlot::aborted) != 0;
    row.estimated = (flags & CallSlot::counted) != 0;
    row.prompt_estimated = (flags & CallSlot::prompt_guessed) != 0;
    row.gateway_lost = (flags & CallSlot::lost) != 0;
    if (slot.state.load(relaxed) == CallSlot::is_ended) {
        row.sequence = slot.sequence;
        return row;
    }
    // Killed over it. What never reached a replica has cost nothing.
    row.status = (flags & CallSlot::committed) != 0 ? 200 : 499;
    row.aborted = row.gateway_lost = true;
    row.estimated = sent;
    if (sent && (flags & CallSlot::prompt_told) == 0) {
        row.prompt_tokens = slot.prompt_guess.load(relaxed);
        row.prompt_estimated = true;
    }
    return row;
}

}  // namespace

void OpenCall::sent_to(std::string_view model_version, std::string_view replica) {
    if (!slot_) return;
    slot_->where_crc.store(0, relaxed);
    Packer where(slot_->where, sizeof slot_->where);
    where.add(model_version);
    where.add(replica);
    slot_->where_size = where.size();
    slot_->where_crc.store(crc_of_where(*slot_), std::memory_order_release);
}

void OpenCall::failed() {
    if (!slot_) return;
    slot_->where_crc.store(0, relaxed);
    set_flag(*slot_, CallSlot::prompt_told, false);
    slot_->prompt.store(0, relaxed);
    slot_->cached.store(0, relaxed);
    slot_->completion.store(0, relaxed);
}

void OpenCall::prompt_told(std::int64_t prompt, std::int64_t cached) {
    if (!slot_) return;
    slot_->prompt.store(prompt, relaxed);
    slot_->cached.store(cached, relaxed);
    set_flag(*slot_, CallSlot::prompt_told, true);
}

void OpenCall::mark(bool committed, std::int64_t pieces, std::int64_t ttft_ms,
                    std::int64_t total_ms) {
    if (!slot_) return;
    slot_->completion.store(pieces, relaxed);
    slot_->ttft_ms.store(ttft_ms, relaxed);
    slot_->total_ms.store(total_ms, relaxed);
    if (committed) set_flag(*slot_, CallSlot::committed, true);
}

Result<std::unique_ptr<OpenCalls>> OpenCalls::open(const std::string& path, std::size_t slots_max) {
    relay::Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    struct stat facts{};
    if (!file || ::fstat(file.get(), &facts) != 0) return os_error("opening", errno);
    const auto bytes = static_cast<std::size_t>(facts.st_size);
    auto calls = std::unique_ptr<OpenCalls>(
        new OpenCalls(std::move(file), std::max(slots_max, bytes / sizeof(CallSlot))));
    while (calls->slots_ * sizeof(CallSlot) + block_bytes <= bytes)
        TANDEM_TRY(calls->map_block(false));
    if (calls->blocks_.empty()) TANDEM_TRY(calls->map_block(true));
    return calls;
}

OpenCalls::~OpenCalls() {
    for (const Block& block : blocks_) ::munmap(block.slots, block_bytes);
}

// A fresh block's space is taken first: a store into a page without space would be a signal. What a
// crash left of half a block is zeros, and taken again.
Status OpenCalls::map_block(bool fresh) {
    const auto offset = static_cast<off_t>(slots_ * sizeof(CallSlot));
    if (fresh) {
        const int error = ::posix_fallocate(file_.get(), offset, static_cast<off_t>(block_bytes));
        if (error != 0) return os_error("enlarging", error);
    }
    void* at =
        ::mmap(nullptr, block_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), offset);
    if (at == MAP_FAILED) return os_error("mapping", errno);
    blocks_.push_back({static_cast<CallSlot*>(at)});
    slots_ += block_slots;
    for (std::size_t i = block_slots; i-- > 0;) {
        CallSlot& slot = blocks_.back().slots[i];
        if (slot.state.load(relaxed) == CallSlot::is_free) free_.push_back(&slot);
    }
    return {};
}

OpenCall OpenCalls::take(const CallFacts& facts, std::int64_t prompt_guess) {
    if (free_.empty() && (slots_ >= slots_max_ || !map_block(true))) return {};
    CallSlot& slot = *free_.back();
    Packer who(slot.who, sizeof slot.who);
    for (const std::string_view text : {facts.request_id, facts.key_id, facts.subject,
                                        facts.project, facts.name_space, facts.service})
        if (!who.add(text)) return {};
    free_.pop_back();
    slot.who_size = who.size();
    slot.opened_ms = facts.at.ms;
    slot.who_crc = crc_of_who(slot);
    slot.where_size = 0;
    slot.sequence = 0;
    slot.where_crc.store(0, relaxed);
    slot.flags.store(facts.streamed ? std::uint32_t{CallSlot::streamed} : 0U, relaxed);
    slot.prompt_guess.store(prompt_guess, relaxed);
    for (auto* number : {&slot.prompt, &slot.cached, &slot.completion, &slot.status, &slot.ttft_ms,
                         &slot.total_ms})
        number->store(0, relaxed);
    slot.state.store(CallSlot::is_open, std::memory_order_release);
    return OpenCall(slot);
}

void OpenCalls::end(OpenCall call, const model::RequestUsage& row) {
    CallSlot& slot = *call.slot_;
    slot.prompt.store(row.prompt_tokens, relaxed);
    slot.cached.store(row.cached_tokens, relaxed);
    slot.completion.store(row.completion_tokens, relaxed);
    slot.status.store(row.status, relaxed);
    slot.ttft_ms.store(row.ttft_ms, relaxed);
    slot.total_ms.store(row.total_ms, relaxed);
    slot.flags.store((row.streamed ? std::uint32_t{CallSlot::streamed} : 0U) |
                         (row.aborted ? std::uint32_t{CallSlot::aborted} : 0U) |
                         (row.estimated ? std::uint32_t{CallSlot::counted} : 0U) |
                         (row.prompt_estimated ? std::uint32_t{CallSlot::prompt_guessed} : 0U) |
                         (row.gateway_lost ? std::uint32_t{CallSlot::lost} : 0U),
                     relaxed);
    if (row.replica.empty()) slot.where_crc.store(0, relaxed);
    slot.sequence = row.sequence;
    slot.state.store(CallSlot::is_ended, std::memory_order_release);
}

void OpenCalls::give(OpenCall call) {
    call.slot_->state.store(CallSlot::is_free, std::memory_order_release);
    free_.push_back(call.slot_);
}

Status OpenCalls::sync() {
    if (::fdatasync(file_.get()) != 0) return os_error("syncing", errno);
    return {};
}

std::vector<OpenCalls::Left> OpenCalls::left() const {
    std::vector<Left> found;
    for (const Block& block : blocks_) {
        for (std::size_t i = 0; i < block_slots; ++i) {
            CallSlot& slot = block.slots[i];
            if (slot.state.load(relaxed) == CallSlot::is_free) continue;
            auto row = row_of(slot);
            found.push_back({OpenCall(slot), row ? std::move(*row) : model::RequestUsage{}});
        }
    }
    std::ranges::sort(found, {}, [](const Left& entry) {
        return std::tuple(entry.row.sequence == 0, entry.row.sequence, entry.row.at,
                          entry.row.request_id);
    });
    return found;
}

}  // namespace tandem::gateway

// SPDX-License-Identifier: Apache-2.0
#include "gateway/usage_journal.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/quantity.h"
#include "codec/record.h"
#include "gateway/files.h"
#include "gateway/journal_record.h"

namespace tandem::gateway {
namespace {

constexpr std::int64_t segment_bytes = 8 * 1024 * 1024;
constexpr auto gather_for = std::chrono::milliseconds(5);
constexpr auto retry_after = std::chrono::milliseconds(500);
constexpr auto calls_synced_every = std::chrono::milliseconds(100);
constexpr std::size_t pending_max = 100'000;
constexpr std::size_t calls_max = 64 * 1024;  // 64 MiB when all of them were once used
constexpr std::size_t recent_bytes_max = 4 * 1024 * 1024;

Result<std::int64_t> read_number(const std::string& path) {
    TANDEM_LET(text, read_file(path));
    return parse_integer(text);
}

}  // namespace

UsageJournal::UsageJournal(std::string folder, std::int64_t bytes_max)
    : folder_(std::move(folder)), bytes_max_(bytes_max) {}

Result<std::unique_ptr<UsageJournal>> UsageJournal::open(const std::string& folder,
                                                         std::int64_t bytes_max) {
    TANDEM_TRY(make_private_folder(folder));
    auto journal = std::unique_ptr<UsageJournal>(new UsageJournal(folder, bytes_max));
    if (auto loaded = journal->load(); !loaded)
        return in_context("opening the usage journal", loaded.error());
    journal->writer_ = std::thread([raw = journal.get()] { raw->run(); });
    return journal;
}

UsageJournal::~UsageJournal() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    pending_.notify_all();
    written_.notify_all();
    if (writer_.joinable()) writer_.join();
}

Status UsageJournal::load() {
    const auto epoch = read_number(folder_ + "/epoch");
    if (epoch) {
        epoch_ = *epoch;
    } else if (epoch.error().code == ErrorCode::not_found) {
        epoch_ = std::chrono::duration_cast<std::chrono::milliseconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count();
        TANDEM_TRY(replace_file(folder_ + "/epoch", std::to_string(epoch_)));
    } else {
        return pass_on(epoch.error());
    }
    if (const auto acknowledged = read_number(folder_ + "/acknowledged"))
        acknowledged_ = acknowledged_on_disk_ = *acknowledged;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
        if (entry.path().extension() != ".rows") continue;
        const auto first = parse_integer(entry.path().stem().string());
        if (first)
            segments_.push_back({.first = *first, .bytes = 0, .path = entry.path().string()});
    }
    if (error) return fail(ErrorCode::unavailable, "listing " + folder_ + ": " + error.message());
    std::ranges::sort(segments_, {}, &Segment::first);
    next_sequence_ = acknowledged_ + 1;
    for (auto& segment : segments_)
        TANDEM_TRY(load_segment(segment, &segment == &segments_.back()));
    synced_ = next_sequence_ - 1;
    TANDEM_TRY(open_segment(next_sequence_));
    TANDEM_LET(calls, OpenCalls::open(folder_ + "/calls.1", calls_max));
    calls_ = std::move(calls);
    return settle_left();
}

// Each call that is left becomes a row, unless its row is in the journal already. They are marked
// as ended before they are written: a crash between the two finds them so, and settles none twice.
Status UsageJournal::settle_left() {
    std::vector<Pending> rows;
    for (auto& [call, row] : calls_->left()) {
        if (row.service.empty() || (row.sequence != 0 && row.sequence <= synced_)) {
            calls_->give(call);
            continue;
        }
        row.sequence = next_sequence_++;
        rows.push_back({std::move(row), call});
    }
    if (rows.empty()) return {};
    for (const auto& [row, call] : rows) OpenCalls::end(call, row);
    TANDEM_TRY(write_out(rows));
    for (const auto& [row, call] : rows) {
        settled_at_start_ += row.gateway_lost ? 1 : 0;
        calls_->give(call);
    }
    synced_ = next_sequence_ - 1;
    return {};
}

OpenCall UsageJournal::begin(const CallFacts& facts, std::int64_t prompt_guess) {
    bool first = false;
    OpenCall call;
    {
        const std::lock_guard lock(mutex_);
        call = calls_->take(facts, prompt_guess);
        if (!call) return {};
        first = !calls_changed_;
        calls_changed_ = true;
    }
    if (first) pending_.notify_one();
    return call;
}

Status UsageJournal::load_segment(Segment& segment, bool last) {
    TANDEM_LET(text, read_file(segment.path));
    std::string_view rest = text;
    auto sequence = segment.first;
    while (const auto record = take_record(rest)) {
        rest.remove_prefix(8 + record->size());
        ++sequence;
    }
    if (!rest.empty() && !last)
        return fail(ErrorCode::internal, fmt::format("{} is damaged at byte {}", segment.path,
                                                     text.size() - rest.size()));
    segment.bytes = static_cast<std::int64_t>(text.size() - rest.size());
    if (!rest.empty() && ::truncate(segment.path.c_str(), segment.bytes) != 0)
        return disk_error("cutting", segment.path);
    next_sequence_ = std::max(next_sequence_, sequence);
    return {};
}

Status UsageJournal::open_segment(std::int64_t first) {
    const auto path = fmt::format("{}/{:020}.rows", folder_, first);
    relay::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!file) return disk_error("opening", path);
    relay::Fd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::fsync(folder.get()) != 0) return disk_error("syncing", folder_);
    file_ = std::move(file);
    if (segments_.empty() || segments_.back().first != first)
        segments_.push_back({.first = first, .bytes = 0, .path = path});
    return {};
}

void UsageJournal::append(model::RequestUsage row, OpenCall call) {
    bool first = false;
    {
        const std::lock_guard lock(mutex_);
        first = rows_.empty();
        row.sequence = next_sequence_++;
        if (call) OpenCalls::end(call, row);
        rows_.push_back({std::move(row), call});
    }
    if (first) pending_.notify_one();
}

std::int64_t UsageJournal::kept_bytes() const {
    std::int64_t sum = 0;
    for (const auto& segment : segments_) sum += segment.bytes;
    return sum;
}

bool UsageJournal::healthy() const {
    const std::lock_guard lock(mutex_);
    return !failing_ && rows_.size() < pending_max && calls_->room() && kept_bytes() < bytes_max_;
}

std::int64_t UsageJournal::synced() const {
    const std::lock_guard lock(mutex_);
    return synced_;
}

std::int64_t UsageJournal::acknowledged() const {
    const std::lock_guard lock(mutex_);
    return acknowledged_;
}

bool UsageJournal::wait_for_rows(std::int64_t after, int ms) {
    std::unique_lock lock(mutex_);
    written_.wait_for(lock, std::chrono::milliseconds(ms),
                      [&] { return synced_ > after || stopping_ || woken_; });
    woken_ = false;
    return synced_ > after;
}

void UsageJournal::wake() {
    {
        const std::lock_guard lock(mutex_);
        woken_ = true;
    }
    written_.notify_all();
}

// True when there are rows or the journal ends; open calls alone are synced when their time has
// come.
bool UsageJournal::wait_for_work(std::unique_lock<std::mutex>& lock) {
    const auto has_work = [&] { return !rows_.empty() || stopping_; };
    pending_.wait(lock, [&] { return has_work() || calls_changed_; });
    if (!has_work()) pending_.wait_until(lock, calls_synced_ + calls_synced_every, has_work);
    return has_work();
}

void UsageJournal::sync_calls(std::unique_lock<std::mutex>& lock) {
    const auto now = std::chrono::steady_clock::now();
    if (!calls_changed_ || now < calls_synced_ + calls_synced_every) return;
    calls_changed_ = false;
    calls_synced_ = now;
    lock.unlock();
    const auto synced = calls_->sync();
    lock.lock();
    if (!synced) failing_ = true;
}

void UsageJournal::run() {
    std::vector<Pending> rows;
    std::unique_lock lock(mutex_);
    while (true) {
        const bool work = wait_for_work(lock);
        sync_calls(lock);
        if (!work) continue;
        if (rows_.empty()) return;
        const bool last_chance = stopping_;
        if (!last_chance) pending_.wait_for(lock, gather_for, [&] { return stopping_; });
        rows = std::exchange(rows_, {});
        lock.unlock();
        const auto written = write_out(rows);
        lock.lock();
        failing_ = !written;
        if (written) {
            synced_ = rows.back().row.sequence;
            for (const auto& [row, call] : rows)
                if (call) calls_->give(call);
            written_.notify_all();
            continue;
        }
        // Nothing of this batch counts: it goes back in front, and is tried again.
        rows_.insert(rows_.begin(), std::make_move_iterator(rows.begin()),
                     std::make_move_iterator(rows.end()));
        if (last_chance) return;
        pending_.wait_for(lock, retry_after, [&] { return stopping_; });
    }
}

std::shared_ptr<const std::string> UsageJournal::render(const std::vector<Pending>& rows) {
    auto text = std::make_shared<std::string>();
    text->reserve(rows.size() * 400);
    for (const auto& [row, call] : rows) {
        const auto head = begin_record(*text);
        row_text_.append(*text, row);
        end_record(*text, head);
    }
    return text;
}

// On failure the file is cut back to what it was, so that a later try does not follow half a
// record.
Status UsageJournal::write_out(const std::vector<Pending>& rows) {
    const auto records = render(rows);
    const std::string& text = *records;
    Segment* segment = nullptr;
    {
        const std::lock_guard lock(mutex_);
        if (segments_.back().bytes >= segment_bytes)
            TANDEM_TRY(open_segment(rows.front().row.sequence));
        segment = &segments_.back();  // stays: only this thread adds, and the last is never dropped
    }
    const auto before = segment->bytes;
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto n = ::write(file_.get(), rest.data(), rest.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    if (!rest.empty() || ::fdatasync(file_.get()) != 0) {
        auto error = disk_error("writing", segment->path);
        [[maybe_unused]] const int cut = ::ftruncate(file_.get(), before);
        return error;
    }
    const std::lock_guard lock(mutex_);
    segment->bytes += static_cast<std::int64_t>(text.size());
    keep_recent({.first = rows.front().row.sequence,
                 .last = rows.back().row.sequence,
                 .segment_first = segment->first,
                 .offset = before,
                 .records = records});
    return {};
}

void UsageJournal::keep_recent(Recent recent) {
    recent_bytes_ += recent.records->size();
    recent_.push_back(std::move(recent));
    while (recent_bytes_ > recent_bytes_max ||
           (recent_.size() > 1 && recent_.front().last <= acknowledged_)) {
        recent_bytes_ -= recent_.front().records->size();
        recent_.pop_front();
    }
}

void UsageJournal::acknowledge(std::int64_t up_to) {
    {
        const std::lock_guard lock(mutex_);
        acknowledged_ = std::max(acknowledged_, std::min(up_to, synced_));
        if (acknowledged_ == acknowledged_on_disk_) return;
        acknowledged_on_disk_ = acknowledged_;
    }
    // A crash before this is written ships rows again; the server knows them by epoch and sequence.
    if (!replace_file(folder_ + "/acknowledged", std::to_string(acknowledged_on_disk_))) return;
    drop_acknowledged();
}

void UsageJournal::drop_acknowledged() {
    std::vector<std::string> paths;
    {
        const std::lock_guard lock(mutex_);
        while (segments_.size() > 1 && segments_[1].first <= acknowledged_ + 1) {
            paths.push_back(segments_.front().path);
            segments_.pop_front();
        }
    }
    for (const auto& path : paths) ::unlink(path.c_str());
}

}  // namespace tandem::gateway

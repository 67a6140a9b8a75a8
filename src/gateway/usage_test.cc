// SPDX-License-Identifier: Apache-2.0
// Journal and shipping against a server that keeps the cursor rule of core, with lost answers and
// restarts.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "codec/record.h"
#include "gateway/files.h"
#include "gateway/usage_shipper.h"

namespace tandem::gateway {
namespace {

class Folder {
  public:
    Folder() {
        char name[] = "/tmp/tandem-usage-XXXXXX";
        path_ = ::mkdtemp(name);
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

std::unique_ptr<UsageJournal> open_journal(const Folder& folder, std::int64_t bytes_max = 1 << 30) {
    auto journal = UsageJournal::open(folder.path(), bytes_max);
    EXPECT_TRUE(journal) << journal.error().message;
    return std::move(*journal);
}

void append(UsageJournal& journal, const std::string& id) {
    journal.append({.request_id = id, .key_id = "k", .prompt_tokens = 3, .status = 200});
}

// Books as core does: per gateway and epoch, only what is above the cursor.
struct Booking {
    std::map<std::pair<std::string, std::int64_t>, std::int64_t> cursors;
    std::map<std::string, int> booked;  // times by request id
    int lose_answers = 0;

    Result<std::int64_t> take(const std::string& body) {
        const auto shipped = codec::decode<model::UsageShipped>(body);
        EXPECT_TRUE(shipped) << shipped.error().message;
        auto& cursor = cursors[{shipped->gateway, shipped->epoch}];
        for (const auto& row : shipped->rows) {
            if (row.sequence <= cursor) continue;
            cursor = row.sequence;
            ++booked[row.request_id];
        }
        if (lose_answers > 0) {
            --lose_answers;
            return fail(ErrorCode::unavailable, "the connection broke");
        }
        return cursor;
    }
    UsageShipper::Post post() {
        return [this](const std::string& body) { return take(body); };
    }
    bool each_once(int rows) const {
        if (booked.size() != static_cast<std::size_t>(rows)) return false;
        for (const auto& [id, times] : booked)
            if (times != 1) return false;
        return true;
    }
};

TEST(UsageShipping, acknowledged_rows_are_not_shipped_again) {
    Folder folder;
    Booking server;
    auto journal = open_journal(folder);
    UsageShipper shipper(*journal, "gw", server.post());
    for (int i = 0; i < 10; ++i) append(*journal, "a" + std::to_string(i));
    ASSERT_TRUE(journal->wait_for_rows(9, 5000));
    ASSERT_EQ(shipper.step(), true);
    EXPECT_EQ(journal->acknowledged(), 10);
    for (int i = 0; i < 10; ++i) append(*journal, "b" + std::to_string(i));
    ASSERT_TRUE(journal->wait_for_rows(19, 5000));
    server.lose_answers = 2;
    EXPECT_FALSE(shipper.step());
    EXPECT_FALSE(shipper.step());
    while (shipper.step().value_or(false)) {
    }
    EXPECT_TRUE(server.each_once(20));
    EXPECT_EQ(journal->acknowledged(), 20);
}

TEST(UsageShipping, restart_between_booking_and_acknowledgement_books_once) {
    Folder folder;
    Booking server;
    for (int life = 0; life < 5; ++life) {
        auto journal = open_journal(folder);
        UsageShipper shipper(*journal, "gw", server.post());
        for (int i = 0; i < 7; ++i)
            append(*journal, std::to_string(life) + "." + std::to_string(i));
        ASSERT_TRUE(journal->wait_for_rows(life * 7 + 6, 5000));
        server.lose_answers = 1;
        EXPECT_FALSE(shipper.step());  // booked, but this life never hears of it
    }
    auto journal = open_journal(folder);
    UsageShipper shipper(*journal, "gw", server.post());
    while (shipper.step().value_or(false)) {
    }
    EXPECT_TRUE(server.each_once(35));
}

TEST(UsageJournal, rows_survive_and_a_torn_tail_is_cut) {
    Folder folder;
    std::string path;
    {
        auto journal = open_journal(folder);
        append(*journal, "one");
        append(*journal, "two");
        ASSERT_TRUE(journal->wait_for_rows(1, 5000));
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        if (entry.path().extension() == ".rows" && entry.file_size() > 0)
            path = entry.path().string();
    ASSERT_FALSE(path.empty());
    const auto whole = read_file(path);
    ASSERT_TRUE(whole);
    ASSERT_TRUE(replace_file(path, *whole + std::string("\x40\x00\x00\x00half of a rec", 17)));
    auto journal = open_journal(folder);
    append(*journal, "three");
    ASSERT_TRUE(journal->wait_for_rows(2, 5000));
    std::vector<std::string> ids;
    for (std::int64_t next = 1; next <= 3;) {
        const auto batch = journal->read(next, 10, 1 << 20);
        ASSERT_TRUE(batch) << batch.error().message;
        ASSERT_FALSE(batch->rows.empty());
        for (const auto& text : batch->rows) {
            const auto row = codec::decode<model::RequestUsage>(text);
            ASSERT_TRUE(row);
            EXPECT_EQ(row->sequence, next++);
            ids.push_back(row->request_id);
        }
    }
    EXPECT_EQ(ids, (std::vector<std::string>{"one", "two", "three"}));
}

TEST(UsageJournal, row_s_text_says_what_the_codec_reads) {
    RowText text;
    auto row = model::RequestUsage{.sequence = 7,
                                   .request_id = "r\"1\\",
                                   .at = Instant{1'796'060'447'009},
                                   .key_id = "k",
                                   .subject = "user:a",
                                   .project = "p",
                                   .name_space = "n",
                                   .service = "s",
                                   .model_version = "m.v1",
                                   .replica = "s-0",
                                   .prompt_tokens = 39,
                                   .cached_tokens = 7,
                                   .completion_tokens = 12,
                                   .status = 200,
                                   .ttft_ms = 20,
                                   .total_ms = 900,
                                   .streamed = true,
                                   .aborted = true,
                                   .estimated = true,
                                   .prompt_estimated = true,
                                   .gateway_lost = true};
    for (const auto& sample :
         {row, model::RequestUsage{.sequence = 8, .at = Instant{1'796'060'448'120}}, row}) {
        std::string out;
        text.append(out, sample);
        const auto read = codec::decode<model::RequestUsage>(out);
        ASSERT_TRUE(read) << out << read.error().message;
        EXPECT_EQ(codec::encode(*read), codec::encode(sample));
    }
}

TEST(UsageJournal, full_journal_says_so) {
    Folder folder;
    auto journal = open_journal(folder, 200);
    EXPECT_TRUE(journal->healthy());
    for (int i = 0; i < 5; ++i) append(*journal, "row");
    ASSERT_TRUE(journal->wait_for_rows(4, 5000));
    EXPECT_FALSE(journal->healthy());
}

TEST(UsageJournal, damage_in_the_middle_is_not_passed_over) {
    Folder folder;
    {
        auto journal = open_journal(folder);
        append(*journal, "one");
        ASSERT_TRUE(journal->wait_for_rows(0, 5000));
    }
    {
        auto second = open_journal(folder);
    }  // opens a second segment
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        if (entry.path().extension() != ".rows" || entry.file_size() == 0) continue;
        auto text = read_file(entry.path().string());
        (*text)[12] = static_cast<char>((*text)[12] ^ 1);
        ASSERT_TRUE(replace_file(entry.path().string(), *text));
    }
    const auto journal = UsageJournal::open(folder.path(), 1 << 20);
    ASSERT_FALSE(journal);
    EXPECT_NE(journal.error().message.find("damaged"), std::string::npos);
}

// A life of the journal that ends with SIGKILL once `act` has returned. No thread of the test lives
// at that time.
void live_and_be_killed(const Folder& folder, const std::function<void(UsageJournal&)>& act) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto journal = UsageJournal::open(folder.path(), 1 << 30);
        if (journal) act(**journal);
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

CallFacts facts(std::string_view id) {
    return {.request_id = id,
            .key_id = "k",
            .subject = "user:a",
            .project = "p",
            .name_space = "n",
            .service = "s",
            .at = Instant{1'700'000'000'000},
            .streamed = true};
}

std::vector<model::RequestUsage> all_rows(UsageJournal& journal) {
    std::vector<model::RequestUsage> rows;
    for (std::int64_t next = 1; next <= journal.synced();) {
        const auto batch = journal.read(next, 100, 1 << 20);
        if (!batch || batch->rows.empty()) break;
        for (const auto& text : batch->rows)
            rows.push_back(*codec::decode<model::RequestUsage>(text));
        next = batch->last_sequence + 1;
    }
    return rows;
}

TEST(OpenCalls, killed_gateway_s_calls_are_settled_once_from_their_last_marks) {
    Folder folder;
    live_and_be_killed(folder, [](UsageJournal& journal) {
        auto told = journal.begin(facts("told"), 50);
        told.sent_to("m.v1", "s-0");
        told.prompt_told(39, 7);
        told.mark(true, 12, 20, 900);
        auto guessed = journal.begin(facts("guessed"), 50);
        guessed.sent_to("m.v1", "s-1");
        journal.begin(facts("held"), 50);
        auto retried = journal.begin(facts("retried"), 50);
        retried.sent_to("m.v1", "s-1");
        retried.failed();
    });
    for (int life = 0; life < 3; ++life) {
        auto journal = open_journal(folder);
        EXPECT_EQ(journal->settled_at_start(), life == 0 ? 4 : 0);
        const auto rows = all_rows(*journal);
        ASSERT_EQ(rows.size(), 4u);
        std::map<std::string, model::RequestUsage> by_id;
        for (const auto& row : rows) {
            by_id[row.request_id] = row;
            EXPECT_TRUE(row.gateway_lost && row.aborted && row.streamed);
            EXPECT_EQ(row.subject + row.project + row.name_space + row.service, "user:apns");
        }
        const auto& told = by_id["told"];
        EXPECT_EQ(told.prompt_tokens, 39);
        EXPECT_EQ(told.cached_tokens, 7);
        EXPECT_EQ(told.completion_tokens, 12);
        EXPECT_EQ(told.status, 200);
        EXPECT_EQ(told.ttft_ms, 20);
        EXPECT_EQ(told.total_ms, 900);
        EXPECT_EQ(told.at.ms, 1'700'000'000'900);
        EXPECT_EQ(told.model_version + " " + told.replica, "m.v1 s-0");
        EXPECT_TRUE(told.estimated && !told.prompt_estimated);
        EXPECT_EQ(by_id["guessed"].prompt_tokens, 50);
        EXPECT_TRUE(by_id["guessed"].prompt_estimated);
        for (const auto* free : {"held", "retried"}) {
            EXPECT_EQ(by_id[free].prompt_tokens + by_id[free].completion_tokens, 0) << free;
            EXPECT_FALSE(by_id[free].estimated || by_id[free].prompt_estimated) << free;
        }
    }
}

TEST(OpenCalls, call_whose_end_is_not_in_the_journal_yet_is_booked_as_it_ended) {
    Folder folder;
    live_and_be_killed(folder, [](UsageJournal& journal) {
        for (int i = 0; i < 40; ++i) {  // ends faster than rows are written
            const auto id = "r" + std::to_string(i);
            auto call = journal.begin(facts(id), 50);
            call.sent_to("m.v1", "s-0");
            model::RequestUsage row{.request_id = id,
                                    .key_id = "k",
                                    .service = "s",
                                    .model_version = "m.v1",
                                    .replica = "s-0",
                                    .prompt_tokens = 5,
                                    .completion_tokens = i,
                                    .status = 200};
            journal.append(std::move(row), call);
            if (i == 20) journal.wait_for_rows(0, 5000);
        }
    });
    auto journal = open_journal(folder);
    const auto rows = all_rows(*journal);
    ASSERT_EQ(rows.size(), 40u);
    for (int i = 0; i < 40; ++i) {
        const auto& row = rows[static_cast<std::size_t>(i)];
        EXPECT_EQ(row.request_id, "r" + std::to_string(i));
        EXPECT_EQ(row.sequence, i + 1);
        EXPECT_EQ(row.completion_tokens, i);
        EXPECT_FALSE(row.estimated || row.prompt_estimated || row.gateway_lost || row.aborted);
    }
}

TEST(OpenCalls, ended_calls_leave_room_and_too_many_open_ones_are_refused) {
    Folder folder;
    auto calls = OpenCalls::open(folder.path() + "/calls", 1024);
    ASSERT_TRUE(calls) << calls.error().message;
    std::vector<OpenCall> open;
    for (int i = 0; i < 1024; ++i) open.push_back((*calls)->take(facts("x"), 0));
    EXPECT_TRUE(open.back());
    EXPECT_FALSE((*calls)->room());
    EXPECT_FALSE((*calls)->take(facts("x"), 0));
    (*calls)->give(open.front());
    EXPECT_TRUE((*calls)->take(facts("x"), 0));
    EXPECT_EQ((*calls)->left().size(), 1024u);
    EXPECT_FALSE((*calls)->take(facts(std::string(700, 'x')), 0)) << "what does not fit is not cut";
}

}  // namespace
}  // namespace tandem::gateway

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "blob/blob_store.h"
#include "crypto/sha256.h"

namespace tandem::blob {
namespace {

class Blobs : public testing::Test {
  protected:
    Blobs() {
        std::string form = (std::filesystem::temp_directory_path() / "tandem-blob-XXXXXX").string();
        folder_ = mkdtemp(form.data());
        options_.folder = folder_ + "/blobs";
        reopen();
    }
    ~Blobs() override {
        store_ = nullptr;
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    void reopen() {
        store_ = nullptr;
        auto opened = BlobStore::open(options_);
        ASSERT_TRUE(opened.has_value()) << opened.error().message;
        store_ = *std::move(opened);
    }
    static std::string digest_of(std::string_view bytes) {
        return crypto::render_digest(crypto::sha256(bytes));
    }
    std::string upload(std::string_view bytes) {
        const auto begun = store_->begin_upload(std::ssize(bytes));
        EXPECT_TRUE(begun.has_value());
        EXPECT_TRUE(store_->append(begun->id, 0, bytes).has_value());
        const auto finished = store_->finish_upload(begun->id, digest_of(bytes));
        EXPECT_TRUE(finished.has_value()) << (finished ? "" : finished.error().message);
        return digest_of(bytes);
    }
    Result<BlobFacts> put(const std::string& path) {
        std::promise<Result<BlobFacts>> promise;
        const Status taken = store_->put_file(
            path, [&](Result<BlobFacts> facts) { promise.set_value(std::move(facts)); });
        if (!taken) return pass_on(taken.error());
        return promise.get_future().get();
    }
    std::string write_file(const std::string& name, std::string_view bytes) {
        std::ofstream(folder_ + "/" + name, std::ios::binary) << bytes;
        return folder_ + "/" + name;
    }
    int files_in(const std::string& name) {
        int count = 0;
        for (const auto& entry :
             std::filesystem::recursive_directory_iterator(options_.folder + "/" + name))
            count += entry.is_regular_file();
        return count;
    }
    static Instant wall_now() {
        return {std::chrono::duration_cast<std::chrono::milliseconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count()};
    }

    std::string folder_;
    BlobOptions options_;
    std::unique_ptr<BlobStore> store_;
};

TEST_F(Blobs, uploaded_bytes_are_read_back_and_read_only) {
    const std::string digest = upload("hello blob");
    EXPECT_EQ(*store_->find(digest), (BlobFacts{.digest = digest, .bytes = 10}));
    EXPECT_EQ(*store_->read(digest, 0, 100), "hello blob");
    EXPECT_EQ(*store_->read(digest, 6, 3), "blo");
    EXPECT_EQ(*store_->read(digest, 100, 3), "");
    struct stat facts{};
    ASSERT_EQ(::stat(store_->path_of(digest)->c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0444u);
    EXPECT_TRUE(store_->verify(digest).has_value());
    EXPECT_EQ(files_in("uploads"), 0);
}

TEST_F(Blobs, upload_goes_on_after_a_restart) {
    const std::string bytes(300'000, 'x');
    const auto begun = store_->begin_upload(std::ssize(bytes));
    ASSERT_TRUE(begun.has_value());
    ASSERT_TRUE(store_->append(begun->id, 0, bytes.substr(0, 100'000)).has_value());
    reopen();
    EXPECT_EQ(store_->find_upload(begun->id)->offset, 100'000);
    ASSERT_TRUE(store_->append(begun->id, 100'000, bytes.substr(100'000)).has_value());
    reopen();
    ASSERT_TRUE(store_->finish_upload(begun->id, digest_of(bytes)).has_value());
    EXPECT_EQ(store_->find(digest_of(bytes))->bytes, 300'000);
}

TEST_F(Blobs, wrong_offset_says_where_to_go_on) {
    const auto begun = store_->begin_upload(10);
    ASSERT_TRUE(store_->append(begun->id, 0, "1234").has_value());
    const auto wrong = store_->append(begun->id, 0, "1234");
    ASSERT_FALSE(wrong.has_value());
    EXPECT_EQ(wrong.error().code, ErrorCode::conflict);
    EXPECT_NE(wrong.error().message.find("byte 4"), std::string::npos);
    EXPECT_EQ(store_->append(begun->id, 4, "12345678").error().code, ErrorCode::too_large);
    EXPECT_EQ(store_->finish_upload(begun->id, digest_of("1234")).error().code,
              ErrorCode::conflict);
    EXPECT_TRUE(store_->append(begun->id, 4, "567890").has_value());
    EXPECT_TRUE(store_->finish_upload(begun->id, digest_of("1234567890")).has_value());
}

TEST_F(Blobs, wrong_digest_ends_the_upload_and_keeps_nothing) {
    const auto begun = store_->begin_upload(4);
    ASSERT_TRUE(store_->append(begun->id, 0, "good").has_value());
    EXPECT_EQ(store_->finish_upload(begun->id, digest_of("evil")).error().code,
              ErrorCode::mismatch);
    EXPECT_EQ(store_->find_upload(begun->id).error().code, ErrorCode::not_found);
    EXPECT_EQ(files_in("sha256") + files_in("uploads"), 0);
}

TEST_F(Blobs, names_from_outside_never_become_paths) {
    write_file("secret", "s");
    for (const char* wrong : {"../../secret", "sha256:../../../../secret", "/etc/passwd", "",
                              "sha256:", "..", "uploads"}) {
        EXPECT_FALSE(store_->read(wrong, 0, 10).has_value()) << wrong;
        EXPECT_FALSE(store_->find_upload(wrong).has_value()) << wrong;
        EXPECT_FALSE(store_->append(wrong, 0, "x").has_value()) << wrong;
        EXPECT_FALSE(store_->cancel_upload(wrong).has_value()) << wrong;
        EXPECT_FALSE(store_->finish_upload(wrong, digest_of("x")).has_value()) << wrong;
    }
    EXPECT_TRUE(std::filesystem::exists(folder_ + "/secret"));
}

TEST_F(Blobs, limits_are_held) {
    options_.uploads_max = 2;
    options_.blob_bytes_max = 100;
    options_.chunk_bytes_max = 10;
    reopen();
    EXPECT_EQ(store_->begin_upload(0).error().field, "bytes");
    EXPECT_EQ(store_->begin_upload(-1).error().field, "bytes");
    EXPECT_EQ(store_->begin_upload(101).error().code, ErrorCode::too_large);
    const auto first = store_->begin_upload(50);
    const auto second = store_->begin_upload(50);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(store_->begin_upload(50).error().code, ErrorCode::exhausted);
    EXPECT_EQ(store_->append(first->id, 0, "12345678901").error().code, ErrorCode::too_large);
    EXPECT_TRUE(store_->cancel_upload(second->id).has_value());
    EXPECT_TRUE(store_->begin_upload(50).has_value());
    EXPECT_EQ(put(write_file("big", std::string(101, 'b'))).error().code, ErrorCode::too_large);
}

TEST_F(Blobs, file_is_stored_under_the_digest_of_its_content_once) {
    const std::string path = write_file("weights", std::string(3'000'000, 'w'));
    const auto first = put(path);
    ASSERT_TRUE(first.has_value()) << first.error().message;
    EXPECT_EQ(first->digest, digest_of(std::string(3'000'000, 'w')));
    EXPECT_EQ(*put(path), *first);
    EXPECT_EQ(files_in("sha256"), 1);
    EXPECT_EQ(files_in("uploads"), 0);
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(Blobs, what_is_no_plain_file_is_refused_by_name) {
    EXPECT_EQ(put(folder_ + "/none").error().code, ErrorCode::not_found);
    EXPECT_EQ(put(folder_).error().code, ErrorCode::invalid);
    std::filesystem::create_symlink("/etc/passwd", folder_ + "/link");
    const auto link = put(folder_ + "/link");
    EXPECT_EQ(link.error().code, ErrorCode::invalid);
    EXPECT_NE(link.error().message.find("symbolic link"), std::string::npos);
    ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
    EXPECT_EQ(put(folder_ + "/pipe").error().code, ErrorCode::invalid);
}

TEST_F(Blobs, damage_on_the_disk_is_found) {
    const std::string digest = upload("precious");
    const std::string path = *store_->path_of(digest);
    ::chmod(path.c_str(), 0644);
    std::ofstream(path, std::ios::binary) << "prescious";
    EXPECT_EQ(store_->verify(digest).error().code, ErrorCode::mismatch);
}

TEST_F(Blobs, unreferenced_blobs_go_after_a_day_and_referenced_ones_stay) {
    const std::string kept = upload("kept");
    const std::string lost = upload("lost");
    const std::string again = upload("again");
    const auto begun = store_->begin_upload(9);
    const Instant now = wall_now();
    EXPECT_EQ(store_->collect({kept}, now)->blobs, 0);
    EXPECT_EQ(store_->collect({kept}, now + hours(23))->blobs, 0);
    ASSERT_EQ(upload("again"), again);  // comes in anew: unreferenced since now
    const auto collected = store_->collect({kept, again}, now + hours(25));
    ASSERT_TRUE(collected.has_value());
    EXPECT_EQ(collected->blobs, 1);
    EXPECT_EQ(collected->uploads, 1);
    EXPECT_TRUE(store_->find(kept).has_value());
    EXPECT_EQ(store_->find(lost).error().code, ErrorCode::not_found);
    EXPECT_FALSE(store_->find_upload(begun->id).has_value());
    // Referenced at hour 25, so unreferenced for an hour only at hour 26.
    EXPECT_EQ(store_->collect({}, now + hours(26))->blobs, 0);
    EXPECT_EQ(store_->collect({}, now + hours(50))->blobs, 2);
}

// What is held, or just came in, is there for its whole time, whoever collects meanwhile without
// knowing of it.
TEST_F(Blobs, collecting_never_takes_what_is_held_or_coming_in) {
    options_.unreferenced_age_max = seconds(2);
    reopen();
    const std::string held = upload("held");
    std::atomic<bool> over = false;
    std::atomic<std::int64_t> passes = 0;
    std::thread collector([&] {
        while (!over) {
            EXPECT_TRUE(store_->collect({}, wall_now()).has_value());
            ++passes;
        }
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
        ASSERT_TRUE(store_->hold(held).has_value()) << i;
        const std::string fresh = "upload " + std::to_string(i % 20);
        ASSERT_TRUE(store_->read(upload(fresh), 0, 4).has_value()) << i;
    }
    over = true;
    collector.join();
    EXPECT_GT(passes, 10);
    EXPECT_TRUE(store_->find(held).has_value());
    EXPECT_EQ(store_->collect({}, wall_now() + seconds(3))->blobs,
              21);  // and once nobody holds them, they go
}

TEST_F(Blobs, closing_answers_every_file_that_waits) {
    const std::string path = write_file("f", std::string(1 << 20, 'f'));
    std::atomic<int> answered = 0;
    int taken = 0;
    for (int i = 0; i < 80; ++i)
        taken += store_->put_file(path, [&](const Result<BlobFacts>&) { ++answered; }).has_value();
    store_ = nullptr;
    EXPECT_GT(taken, 60);
    EXPECT_EQ(answered, taken);
}

}  // namespace
}  // namespace tandem::blob

// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/reader_pool.h"

#include <sqlite3.h>

namespace tandem::store::sqlite {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds wait_max{2000};
constexpr milliseconds slice_max{
    10};  // half of what a read transaction may last: the last rows come after it

bool is_damage(int extended) {
    const int code = extended & 0xff;
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_IOERR;
}

}  // namespace

ReaderPool::Snapshot::Snapshot(ReaderPool& pool, Connection& connection)
    : pool_(&pool), connection_(&connection), began_(std::chrono::steady_clock::now()) {}

ReaderPool::Snapshot::~Snapshot() {
    if (pool_ == nullptr) return;
    if (is_damage(connection_->failure().code)) pool_->damaged_ = true;
    connection_->reset_kept();
    if (const auto end = connection_->prepared("ROLLBACK")) (void)(*end)->run();
    pool_->give_back(*connection_);
    pool_->gate_.leave();
}

bool ReaderPool::Snapshot::is_over() const {
    return std::chrono::steady_clock::now() - began_ > slice_max;
}

Result<std::unique_ptr<ReaderPool>> ReaderPool::open(const std::string& path, std::size_t count) {
    auto pool = std::make_unique<ReaderPool>();
    pool->path_ = path;
    for (std::size_t i = 0; i < count; ++i) {
        TANDEM_LET(connection, Connection::open(path, OpenMode::read_only));
        TANDEM_TRY(connection.execute("PRAGMA cache_size=-1024; PRAGMA query_only=ON;"));
        pool->all_.push_back(std::make_unique<Connection>(std::move(connection)));
        pool->free_.push_back(pool->all_.back().get());
    }
    return pool;
}

Result<Connection*> ReaderPool::borrow() {
    std::unique_lock lock(mutex_);
    if (!returned_.wait_for(lock, wait_max, [&] { return !free_.empty(); }))
        return fail(ErrorCode::unavailable, "too many reads at a time; try again");
    Connection* connection = free_.back();
    free_.pop_back();
    return connection;
}

void ReaderPool::give_back(Connection& connection) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(&connection);
    returned_.notify_one();
}

void ReaderPool::release_memory() {
    const std::scoped_lock lock(mutex_);
    for (Connection* connection : free_) connection->release_memory();
}

Result<ReaderPool::Snapshot> ReaderPool::begin() {
    // A connection first, the gate second: who waits for a connection must not keep the writer
    // waiting.
    TANDEM_LET(connection, borrow());
    if (!gate_.enter(wait_max)) {
        give_back(*connection);
        return fail(ErrorCode::unavailable, "the store is busy; try again");
    }
    Snapshot snapshot(*this, *connection);
    TANDEM_LET(start, connection->prepared("BEGIN"));
    TANDEM_TRY(start->run());
    return snapshot;
}

}  // namespace tandem::store::sqlite

// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "store/sqlite/schema.h"

namespace tandem::store::sqlite {
namespace {

// Times are int64 milliseconds, uids 12 bytes. `kind` is the number that table kinds gives a kind's
// name, so that the order of the program's enumeration may change.
//
// objects.place = kind << 56 | row id: a list of one kind is one range of the table, in the order
// of ids, and every index ends in it without a column of its own. body is what the API shows;
// internal is what it does not ('' for most kinds). phase, queue, owner are '' where a kind has
// none and then cost no index entry.
//
// idempotency is only read at a start: rows are appended and leave in the order of time, without an
// index. A key that is used again after its day has a newer row, which counts.
constexpr const char* first = R"(
CREATE TABLE meta(
    id INTEGER PRIMARY KEY CHECK(id = 1),
    installation TEXT NOT NULL,
    generation INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    batch INTEGER NOT NULL,
    next_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    audit_sequence INTEGER NOT NULL,
    audit_head TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    epoch_base INTEGER NOT NULL,
    restored INTEGER NOT NULL,
    changes_floor INTEGER NOT NULL
) STRICT;
CREATE TABLE kinds(number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE objects(
    place INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    project TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    uid BLOB NOT NULL,
    version INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    phase TEXT NOT NULL,
    queue TEXT NOT NULL,
    owner TEXT NOT NULL,
    labels BLOB NOT NULL,
    internal TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX objects_name ON objects(kind, project, namespace, name);
CREATE INDEX objects_project ON objects(project) WHERE project <> '';
CREATE INDEX objects_phase ON objects(phase) WHERE phase <> '';
CREATE INDEX objects_queue ON objects(queue) WHERE queue <> '';
CREATE INDEX objects_owner ON objects(owner) WHERE owner <> '';
CREATE TABLE changes(
    version INTEGER PRIMARY KEY,
    batch INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    type TEXT NOT NULL,
    kind INTEGER NOT NULL,
    project TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    labels BLOB NOT NULL,
    old_labels BLOB NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE batches(
    sequence INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    now_ms INTEGER NOT NULL,
    seed BLOB NOT NULL,
    digest INTEGER NOT NULL,
    inputs TEXT NOT NULL
) STRICT;
CREATE TABLE segments(
    number INTEGER PRIMARY KEY,
    core_version TEXT NOT NULL,
    first_version INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    meta TEXT NOT NULL
) STRICT;
CREATE TABLE segment_rows(
    id INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    type TEXT NOT NULL,
    row INTEGER NOT NULL,
    internal TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX segment_rows_segment ON segment_rows(segment);
CREATE TABLE intents(id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE open_intervals(
    id INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    from_ms INTEGER NOT NULL,
    to_ms INTEGER NOT NULL,
    milli INTEGER NOT NULL CHECK(milli >= 0),
    node TEXT NOT NULL,
    device INTEGER NOT NULL,
    flavor TEXT NOT NULL,
    pool TEXT NOT NULL,
    queue TEXT NOT NULL,
    project TEXT NOT NULL,
    namespace TEXT NOT NULL,
    owner_kind TEXT NOT NULL,
    owner_name TEXT NOT NULL,
    owner_uid BLOB,
    replica TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    server_absent INTEGER NOT NULL
) STRICT;
CREATE TABLE usage(
    id INTEGER PRIMARY KEY,
    state TEXT NOT NULL,
    from_ms INTEGER NOT NULL,
    to_ms INTEGER NOT NULL CHECK(to_ms >= from_ms),
    milli INTEGER NOT NULL CHECK(milli >= 0),
    node TEXT NOT NULL,
    device INTEGER NOT NULL,
    flavor TEXT NOT NULL,
    pool TEXT NOT NULL,
    queue TEXT NOT NULL,
    project TEXT NOT NULL,
    namespace TEXT NOT NULL,
    owner_kind TEXT NOT NULL,
    owner_name TEXT NOT NULL,
    owner_uid BLOB,
    replica TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    server_absent INTEGER NOT NULL
) STRICT;
CREATE INDEX usage_to ON usage(to_ms);
CREATE INDEX usage_owner ON usage(owner_uid) WHERE owner_uid IS NOT NULL;
CREATE TABLE request_usage(
    id INTEGER PRIMARY KEY,
    gateway TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    project TEXT NOT NULL,
    namespace TEXT NOT NULL,
    service TEXT NOT NULL,
    model_version TEXT NOT NULL,
    replica TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL CHECK(prompt_tokens >= 0),
    cached_tokens INTEGER NOT NULL CHECK(cached_tokens >= 0),
    completion_tokens INTEGER NOT NULL CHECK(completion_tokens >= 0),
    status INTEGER NOT NULL,
    ttft_ms INTEGER NOT NULL,
    total_ms INTEGER NOT NULL,
    streamed INTEGER NOT NULL,
    aborted INTEGER NOT NULL,
    estimated INTEGER NOT NULL,
    UNIQUE(gateway, epoch, sequence)
) STRICT;
CREATE INDEX request_usage_at ON request_usage(at_ms);
CREATE TABLE cursors(
    gateway TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY(gateway, epoch)
) STRICT, WITHOUT ROWID;
CREATE TABLE idempotency(
    id INTEGER PRIMARY KEY,
    subject TEXT NOT NULL,
    key TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE TABLE events(
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    project TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    uid BLOB NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX events_uid ON events(uid);
CREATE TABLE audit(
    sequence INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    subject TEXT NOT NULL,
    key_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    action TEXT NOT NULL,
    object TEXT NOT NULL,
    allowed INTEGER NOT NULL,
    rule TEXT NOT NULL,
    count INTEGER NOT NULL,
    hash TEXT NOT NULL
) STRICT;
)";

// Which of the services that had this name over time; NULL in rows of before.
constexpr const char* request_service = R"(
ALTER TABLE request_usage ADD COLUMN service_uid BLOB;
)";

// The body of an object stands once: in the row of its last change. objects.version leads there, so a row of changes
// stays while an object, a watcher or a replay segment may ask for it (texts.h). old_version is the change before
// of the same object, 0: none. A segment keeps places and versions of the objects of its start, many to a row, and
// its open intervals. Watchers list again; earlier segments end here. Rows of objects are so small now that a list by
// queue looks through those of its project or kind.
constexpr const char* bodies_once = R"(
DROP TABLE changes;
CREATE TABLE changes(
    version INTEGER PRIMARY KEY,
    batch INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    type TEXT NOT NULL,
    kind INTEGER NOT NULL,
    project TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    labels BLOB NOT NULL,
    old_labels BLOB NOT NULL,
    old_version INTEGER NOT NULL,
    internal TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
INSERT INTO changes SELECT version, 0, 0, 'modified', kind, project, namespace, name, labels, labels, 0, internal, body
    FROM objects;
DROP INDEX objects_queue;
ALTER TABLE objects DROP COLUMN body;
ALTER TABLE objects DROP COLUMN internal;
UPDATE meta SET changes_floor = version;
DROP TABLE segment_rows;
DELETE FROM segments;
DELETE FROM batches;
CREATE TABLE segment_rows(
    id INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    type TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE INDEX segment_rows_segment ON segment_rows(segment);
CREATE TABLE segment_intervals(
    segment INTEGER NOT NULL,
    id INTEGER NOT NULL,
    state TEXT NOT NULL,
    from_ms INTEGER NOT NULL,
    to_ms INTEGER NOT NULL,
    milli INTEGER NOT NULL,
    node TEXT NOT NULL,
    device INTEGER NOT NULL,
    flavor TEXT NOT NULL,
    pool TEXT NOT NULL,
    queue TEXT NOT NULL,
    project TEXT NOT NULL,
    namespace TEXT NOT NULL,
    owner_kind TEXT NOT NULL,
    owner_name TEXT NOT NULL,
    owner_uid BLOB,
    replica TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    server_absent INTEGER NOT NULL,
    PRIMARY KEY(segment, id)
) STRICT, WITHOUT ROWID;
)";

constexpr std::array<Migration, 3> all{
    {{.number = 1, .name = "first", .sql = first},
     {.number = 2, .name = "uid of a request's service", .sql = request_service},
     {.number = 3, .name = "bodies once", .sql = bodies_once}}};

}  // namespace

std::span<const Migration> migrations() {
    return all;
}

}  // namespace tandem::store::sqlite

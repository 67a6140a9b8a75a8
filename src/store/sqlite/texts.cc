// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/texts.h"

#include <algorithm>
#include <iterator>

namespace tandem::store::sqlite {
namespace {

constexpr std::size_t places_a_row = 1000;
constexpr int number_bytes_max = 10;

void append_number(std::string& out, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) out += static_cast<char>(number | 0x80);
    out += static_cast<char>(number);
}

Result<std::uint64_t> take_number(std::string_view& rest) {
    std::uint64_t number = 0;
    for (int i = 0; i < number_bytes_max && !rest.empty(); ++i) {
        const auto byte = static_cast<unsigned char>(rest.front());
        rest.remove_prefix(1);
        number |= std::uint64_t{byte & 0x7fU} << (7 * i);
        if (byte < 0x80) return number;
    }
    return fail(ErrorCode::internal, "a segment's list of objects can't be read");
}

// Versions in the lists of segments `from` to `to`, in order.
Result<std::vector<std::int64_t>> versions_in(Connection& connection, std::int64_t from,
                                              std::int64_t to) {
    TANDEM_LET(rows, connection.prepare("SELECT body FROM segment_rows WHERE segment >= ?1"
                                        " AND segment <= ?2 AND type = 'objects'"));
    rows.start(from, to);
    std::vector<std::int64_t> versions;
    while (true) {
        TANDEM_LET(found, rows.step());
        if (!found) break;
        TANDEM_LET(list, unpack_places(rows.text(0)));
        for (const PlacedText& one : list) versions.push_back(one.version);
    }
    std::ranges::sort(versions);
    const auto twice = std::ranges::unique(versions);
    versions.erase(twice.begin(), twice.end());
    return versions;
}

// What changes above the floor superseded: it goes when the floor passes them.
Result<std::vector<std::int64_t>> versions_superseded_lately(Connection& connection) {
    TANDEM_LET(rows, connection.prepare("SELECT old_version FROM changes WHERE old_version > 0 AND"
                                        " version > (SELECT changes_floor FROM meta)"));
    std::vector<std::int64_t> versions;
    while (true) {
        TANDEM_LET(found, rows.step());
        if (!found) break;
        versions.push_back(rows.integer(0));
    }
    std::ranges::sort(versions);
    return versions;
}

std::vector<std::int64_t> without(const std::vector<std::int64_t>& all,
                                  const std::vector<std::int64_t>& some) {
    std::vector<std::int64_t> left;
    std::ranges::set_difference(all, some, std::back_inserter(left));
    return left;
}

}  // namespace

std::string pack_places(const std::vector<PlacedText>& list) {
    std::string packed;
    PlacedText last;
    for (const PlacedText& one : list) {
        append_number(packed, static_cast<std::uint64_t>(one.place - last.place));
        // Versions go up and down: the sign is the lowest bit.
        const std::int64_t step = one.version - last.version;
        const auto size = static_cast<std::uint64_t>(step < 0 ? -step : step);
        append_number(packed, size << 1 | (step < 0 ? 1U : 0U));
        last = one;
    }
    return packed;
}

Result<std::vector<PlacedText>> unpack_places(std::string_view packed) {
    std::vector<PlacedText> list;
    PlacedText last;
    while (!packed.empty()) {
        TANDEM_LET(place, take_number(packed));
        TANDEM_LET(step, take_number(packed));
        last.place += static_cast<std::int64_t>(place);
        const auto size = static_cast<std::int64_t>(step >> 1);
        last.version += (step & 1) != 0 ? -size : size;
        list.push_back(last);
    }
    return list;
}

Status drop_superseded(Connection& connection, std::int64_t floor) {
    constexpr std::string_view superseded =
        "DELETE FROM changes WHERE version IN ("
        "SELECT old_version FROM changes AS next WHERE version > (SELECT changes_floor FROM meta)"
        " AND version <= ?1 AND old_version > 0 AND NOT EXISTS (SELECT 1 FROM segments"
        " WHERE first_version >= next.old_version AND first_version < next.version))";
    constexpr std::string_view deleted =
        "DELETE FROM changes WHERE version > (SELECT changes_floor FROM meta) AND version <= ?1"
        " AND type = 'deleted'";
    for (std::string_view sql : {superseded, deleted}) {
        TANDEM_LET(statement, connection.prepared(sql));
        TANDEM_TRY(statement->run(floor));
    }
    return {};
}

Status write_places(Connection& connection, std::int64_t segment) {
    TANDEM_LET(objects, connection.prepare("SELECT place, version FROM objects ORDER BY place"));
    TANDEM_LET(insert, connection.prepare("INSERT INTO segment_rows(segment, type, body)"
                                          " VALUES(?1, 'objects', ?2)"));
    std::vector<PlacedText> list;
    for (bool more = true; more;) {
        TANDEM_LET(found, objects.step());
        more = found;
        if (found) list.push_back({.place = objects.integer(0), .version = objects.integer(1)});
        if (list.size() < (more ? places_a_row : 1)) continue;
        const std::string packed = pack_places(list);
        TANDEM_TRY(insert.run(segment, Blob{packed}));
        list.clear();
    }
    return {};
}

Status drop_texts_of_segments(Connection& connection, std::int64_t last) {
    TANDEM_LET(next, connection.query_integer("SELECT coalesce(min(number), 0) FROM segments WHERE"
                                              " number > " +
                                              std::to_string(last)));
    TANDEM_LET(dropped, versions_in(connection, 0, last));
    TANDEM_LET(kept, versions_in(connection, next, next));
    std::vector<std::int64_t> unneeded = without(dropped, kept);
    if (unneeded.empty()) return {};
    TANDEM_LET(lately, versions_superseded_lately(connection));
    unneeded = without(unneeded, lately);
    TANDEM_LET(remove, connection.prepare("DELETE FROM changes WHERE version = ?1 AND version <="
                                          " (SELECT changes_floor FROM meta)"));
    for (std::int64_t version : unneeded) TANDEM_TRY(remove.run(version));
    return {};
}

}  // namespace tandem::store::sqlite

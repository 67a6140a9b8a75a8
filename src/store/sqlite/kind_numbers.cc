// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/kind_numbers.h"

#include <algorithm>

namespace tandem::store::sqlite {
namespace {

constexpr std::int64_t number_max = 127;  // place is a positive int64

}  // namespace

Result<KindNumbers> KindNumbers::load(Connection& connection) {
    KindNumbers kinds;
    std::int64_t newest = 0;
    {
        TANDEM_LET(rows, connection.prepare("SELECT number, name FROM kinds"));
        while (true) {
            TANDEM_LET(found, rows.step());
            if (!found) break;
            newest = std::max(newest, rows.integer(0));
            // A kind of a newer program is left alone; the schema's number decides what may be
            // opened.
            if (const auto kind = model::parse_enum<model::Kind>(rows.text(1)))
                kinds.numbers_[static_cast<std::size_t>(*kind)] = rows.integer(0);
        }
    }
    if (std::ranges::find(kinds.numbers_, 0) == kinds.numbers_.end()) return kinds;
    TANDEM_LET(transaction, Transaction::begin(connection));
    TANDEM_LET(insert, connection.prepare("INSERT INTO kinds(number, name) VALUES(?1, ?2)"));
    for (const model::KindInfo& info : model::kind_table) {
        std::int64_t& number = kinds.numbers_[static_cast<std::size_t>(info.kind)];
        if (number != 0) continue;
        number = ++newest;
        if (number > number_max) return fail(ErrorCode::internal, "more than 127 kinds of objects");
        TANDEM_TRY(insert.run(number, model::name_of(info.kind)));
    }
    TANDEM_TRY(transaction.commit());
    return kinds;
}

std::optional<model::Kind> KindNumbers::kind_of(std::int64_t number) const {
    const auto found = std::ranges::find(numbers_, number);
    if (number == 0 || found == numbers_.end()) return std::nullopt;
    return static_cast<model::Kind>(found - numbers_.begin());
}

}  // namespace tandem::store::sqlite

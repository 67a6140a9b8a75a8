// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/usage_rows.h"

#include <algorithm>

namespace tandem::store::sqlite {
namespace {

// Bits of the column `estimated`.
constexpr std::int64_t estimated_completion = 1;
constexpr std::int64_t estimated_prompt = 2;
constexpr std::int64_t lost_gateway = 4;

std::int64_t pack_estimates(const model::RequestUsage& row) {
    return (row.estimated ? estimated_completion : 0) |
           (row.prompt_estimated ? estimated_prompt : 0) | (row.gateway_lost ? lost_gateway : 0);
}

}  // namespace

std::string_view bytes_of(const Uid& uid) {
    return {reinterpret_cast<const char*>(uid.bytes.data()), uid.bytes.size()};
}

Uid read_uid(std::string_view bytes) {
    Uid uid;
    if (bytes.size() == uid.bytes.size())
        std::ranges::transform(bytes, uid.bytes.begin(),
                               [](char c) { return static_cast<std::uint8_t>(c); });
    return uid;
}

Status write_usage(Statement& statement, const model::UsageRecord& row) {
    statement.start(row.id.value, model::name_of(row.state), row.from.ms, row.to.ms, row.milli,
                    std::string_view(row.node), row.device, std::string_view(row.flavor),
                    std::string_view(row.pool), std::string_view(row.queue),
                    std::string_view(row.project), std::string_view(row.name_space),
                    std::string_view(row.owner_kind), std::string_view(row.owner_name));
    if (row.owner_uid)
        statement.bind(15, Blob{bytes_of(row.owner_uid)});
    else
        statement.bind(15, nullptr);
    statement.bind(16, std::string_view(row.replica));
    statement.bind(17, row.epoch);
    statement.bind(18, std::int64_t{row.server_absent});
    return statement.finish();
}

Status write_request(Statement& statement, const model::RequestUsage& row) {
    statement.start(std::string_view(row.gateway), row.epoch, row.sequence,
                    std::string_view(row.request_id), row.at.ms, std::string_view(row.key_id),
                    std::string_view(row.subject), std::string_view(row.project),
                    std::string_view(row.name_space), std::string_view(row.service),
                    std::string_view(row.model_version), std::string_view(row.replica),
                    row.prompt_tokens, row.cached_tokens, row.completion_tokens, row.status,
                    row.ttft_ms, row.total_ms, std::int64_t{row.streamed},
                    std::int64_t{row.aborted}, pack_estimates(row));
    if (row.service_uid)
        statement.bind(22, Blob{bytes_of(row.service_uid)});
    else
        statement.bind(22, nullptr);
    return statement.finish();
}

Result<model::UsageRecord> read_usage(const Statement& row) {
    const auto state = model::parse_enum<model::LedgerState>(row.text(1));
    if (!state)
        return fail(ErrorCode::internal,
                    "usage row " + std::to_string(row.integer(0)) + " has an unknown state");
    return model::UsageRecord{.id = RowId{row.integer(0)},
                              .state = *state,
                              .from = Instant{row.integer(2)},
                              .to = Instant{row.integer(3)},
                              .milli = row.integer(4),
                              .node = std::string(row.text(5)),
                              .device = row.integer(6),
                              .flavor = std::string(row.text(7)),
                              .pool = std::string(row.text(8)),
                              .queue = std::string(row.text(9)),
                              .project = std::string(row.text(10)),
                              .name_space = std::string(row.text(11)),
                              .owner_kind = std::string(row.text(12)),
                              .owner_name = std::string(row.text(13)),
                              .owner_uid = read_uid(row.text(14)),
                              .replica = std::string(row.text(15)),
                              .epoch = row.integer(16),
                              .server_absent = row.integer(17) != 0};
}

model::RequestUsage read_request(const Statement& row) {
    return {.gateway = std::string(row.text(1)),
            .epoch = row.integer(2),
            .sequence = row.integer(3),
            .request_id = std::string(row.text(4)),
            .at = Instant{row.integer(5)},
            .key_id = std::string(row.text(6)),
            .subject = std::string(row.text(7)),
            .project = std::string(row.text(8)),
            .name_space = std::string(row.text(9)),
            .service = std::string(row.text(10)),
            .service_uid = read_uid(row.text(22)),
            .model_version = std::string(row.text(11)),
            .replica = std::string(row.text(12)),
            .prompt_tokens = row.integer(13),
            .cached_tokens = row.integer(14),
            .completion_tokens = row.integer(15),
            .status = row.integer(16),
            .ttft_ms = row.integer(17),
            .total_ms = row.integer(18),
            .streamed = row.integer(19) != 0,
            .aborted = row.integer(20) != 0,
            .estimated = (row.integer(21) & estimated_completion) != 0,
            .prompt_estimated = (row.integer(21) & estimated_prompt) != 0,
            .gateway_lost = (row.integer(21) & lost_gateway) != 0};
}

}  // namespace tandem::store::sqlite

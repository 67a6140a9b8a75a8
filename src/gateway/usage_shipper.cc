// SPDX-License-Identifier: Apache-2.0
#include "gateway/usage_shipper.h"

#include "codec/json_writer.h"
#include "codec/record.h"

namespace tandem::gateway {
namespace {

constexpr std::size_t rows_max = 2'000;
constexpr std::size_t bytes_max =
    640 * 1024;  // below the server's limit of a body, 1 MiB, with its frame

#if defined(TANDEM_PLANT_DOUBLE_SHIPPING)
std::string renumbered(const std::string& text, std::int64_t shift) {
    auto row = codec::decode<model::RequestUsage>(text);
    if (!row) return text;
    row->sequence += shift;
    return codec::encode(*row);
}
#endif

}  // namespace

// The rows are JSON already; they are put between brackets, not parsed.
std::string UsageShipper::render(const JournalBatch& batch) const {
    std::string body;
    codec::JsonWriter writer(body);
    writer.begin_object();
    writer.key("gateway");
    writer.text(gateway_);
    writer.key("epoch");
    writer.number(journal_.epoch());
    writer.key("firstSequence");
    writer.number(batch.first_sequence + shift_);
    writer.key("rows");
    writer.begin_array();
#if defined(TANDEM_PLANT_DOUBLE_SHIPPING)
    for (const auto& row : batch.rows) writer.raw(renumbered(row, shift_));
#else
    for (const auto& row : batch.rows) writer.raw(row);
#endif
    writer.end_array();
    writer.end_object();
    return body;
}

Result<bool> UsageShipper::step() {
    TANDEM_LET(batch, journal_.read(next_, rows_max, bytes_max));
    full_ = batch.rows.size() >= rows_max;
    if (batch.rows.empty()) return false;
    const auto booked = post_(render(batch));
    if (!booked) {
#if defined(TANDEM_PLANT_DOUBLE_SHIPPING)
        shift_ += next_ - 1;  // begins again from the first row, as if all of it were new
        next_ = 1;
#endif
        return pass_on(booked.error());
    }
    const auto up_to = std::min(*booked - shift_, journal_.synced());
    if (up_to < batch.last_sequence)
        return fail(ErrorCode::internal, "the server did not book all rows of a batch");
    next_ = batch.last_sequence + 1;
    journal_.acknowledge(batch.last_sequence);
    return true;
}

}  // namespace tandem::gateway

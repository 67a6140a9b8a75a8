// SPDX-License-Identifier: Apache-2.0
// Records: everything that is logged, counted or sent between Tandem's own parts, as one line of
// JSON and back, exactly (what is left out has its default). Records hold internal members; people
// see them only where codec or the API says so. Tickets are not written. Errors: invalid, naming
// the field. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/batch.h"
#include "model/feed.h"
#include "model/verdict.h"

namespace tandem::codec {

// The types that encode and decode are compiled for, alone and as std::vector.
template <class T>
inline constexpr bool is_record = false;
#define TANDEM_CODEC_RECORDS(X)                                                                   \
    X(Tick)                                                                                       \
    X(Input) X(Intent) X(Object) X(ObjectKey) X(Change) X(CoreMeta) X(GatewayCursor)              \
        X(IdempotencyRow) X(Outcome) X(EventRecord) X(AuditRecord) X(UsageRecord) X(RequestUsage) \
            X(Verdict) X(LeaseAsk) X(LeaseGrant) X(LeaseRequested) X(UsageShipped) X(GatewayLoad) \
                X(FeedUpdate) X(Reason) X(LiveMemory)
#define TANDEM_CODEC_RECORD(T)                        \
    template <>                                       \
    inline constexpr bool is_record<model::T> = true; \
    template <>                                       \
    inline constexpr bool is_record<std::vector<model::T>> = true;
TANDEM_CODEC_RECORDS(TANDEM_CODEC_RECORD)
#undef TANDEM_CODEC_RECORD

template <class T>
    requires is_record<T>
std::string encode(const T& record);
template <class T>
    requires is_record<T>
Result<T> decode(std::string_view text);

inline std::string encode_input(const model::Input& input) {
    return encode(input);
}
inline Result<model::Input> decode_input(std::string_view text) {
    return decode<model::Input>(text);
}
inline std::string encode_intent(const model::Intent& intent) {
    return encode(intent);
}
inline Result<model::Intent> decode_intent(std::string_view text) {
    return decode<model::Intent>(text);
}

// The bytes that an audit row's hash is taken over: the row as encode() writes it, without its
// hash.
std::string render_audit_body(const model::AuditRecord& record);

}  // namespace tandem::codec

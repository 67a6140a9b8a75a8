// SPDX-License-Identifier: Apache-2.0
#include "server/audit_chain.h"

#include "codec/record.h"
#include "crypto/sha256.h"

namespace tandem::server {
namespace {

const std::string first_link(64, '0');

}  // namespace

std::string AuditChain::hash(std::string_view previous, const model::AuditRecord& record) {
    return crypto::sha256_hex(std::string(previous.empty() ? first_link : previous) +
                              codec::render_audit_body(record));
}

Status verify_audit(std::span<const model::AuditRecord> rows, std::string previous) {
    AuditChain chain;
    for (const model::AuditRecord& row : rows) {
        if (chain.hash(previous, row) != row.hash)
            return fail(ErrorCode::internal, "audit row " + std::to_string(row.sequence) + " does not fit its chain");
        previous = row.hash;
    }
    return {};
}

}  // namespace tandem::server

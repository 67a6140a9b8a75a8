// SPDX-License-Identifier: Apache-2.0
// AuditChain: hash of an audit row = SHA-256(hash of the row before, canonical JSON of this row), hex; the first
// row follows 64 zeros. verify() walks rows in order and names the first that does not fit.
#pragma once

#include <span>

#include "core/ports.h"

namespace tandem::server {

class AuditChain : public core::AuditHasher {
  public:
    std::string hash(std::string_view previous, const model::AuditRecord& record) override;
};

// Rows must follow each other; `previous` is the hash before the first of them.
Status verify_audit(std::span<const model::AuditRecord> rows, std::string previous);

}  // namespace tandem::server

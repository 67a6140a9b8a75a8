// SPDX-License-Identifier: Apache-2.0
// Usage: the ledger's rows of a time window, gathered by ledger/report.h, with window and source stated.
#pragma once

#include "api/call.h"

namespace tandem::api {

void usage_report(const Parts& parts, Call call);   // ?from=&to=&project=
void usage_explain(const Parts& parts, Call call);  // ?kind=&project=&namespace=&name=

}  // namespace tandem::api

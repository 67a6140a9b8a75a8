// SPDX-License-Identifier: Apache-2.0
// Watch: a list's changes as server-sent events. Reads rows only for the backlog, then passes
// published batches on, joined by version. `id:` is the resourceVersion; a bookmark every few
// seconds moves it on. A version that is no longer kept is an `error` event with status 410: list
// again. A watcher that is too slow is dropped and may come back with the last id it saw.
//
//   event: added | modified | deleted   data: the object
//   event: bookmark                     data: {"resourceVersion":N}
//   event: error                        data: problem details
#pragma once

#include "api/call.h"
#include "api/ticker.h"

namespace tandem::api {

// From ?resourceVersion=N (or Last-Event-ID) on; without it from now. own_keys: of keys, only the
// caller's.
void watch(const Parts& parts, Ticker& ticker, Call call, const core::ListQuery& query,
           bool own_keys);

}  // namespace tandem::api

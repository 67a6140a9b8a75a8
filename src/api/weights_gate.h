// SPDX-License-Identifier: Apache-2.0
// WeightsGate: which weights a caller may make a version of by their digest: those that it has
// uploaded since the server's start, and those of a version or a job's output that it can see. A
// digest is no secret: whoever has read one in a log must not get at the file with it. Others are
// answered like weights that are not there. Thread rule: every function from any thread; check()
// may wait for core, some seconds at most.
#pragma once

#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/call.h"
#include "model/command.h"

namespace tandem::api {

Error absent_weights(const std::string& digest);

class WeightsGate {
  public:
    explicit WeightsGate(const Parts& parts) : parts_(parts) {}

    void note_upload(const Call& call, const std::string& digest);
    Status check(const Call& call, const std::string& digest) const;
    // Of all versions that the actions make; the error names the action where there are several.
    Status check(const Call& call, const std::vector<model::Action>& actions) const;

  private:
    using Upload = std::pair<std::string, std::string>;  // digest, subject
    bool has_uploaded(const Upload& upload) const;

    const Parts& parts_;
    mutable std::mutex mutex_;
    std::set<Upload> uploads_;
    std::deque<Upload> oldest_;  // of uploads_, in order; the first are forgotten first
};

}  // namespace tandem::api

// SPDX-License-Identifier: Apache-2.0
// Foresight: questions about what would be. POST /api/v1/whatif tells what a change would do;
// StartTimes keeps when what waits is expected to start, for `why`. Both walk on from a copy of the
// rows (whatif/foresee.h), on threads of their own: the core thread is asked for nothing, and
// nothing of the server's state changes.
//
// Bounds: two questions at a time (more: 429), ten seconds each walk, 10,000 machines and 1,000
// actions. Expected starts are told anew only when somebody asks, the state has moved on, and ten
// times as long as the last walk took has passed. Who asks must be allowed to read what the
// question names; work of projects that it may not read is only counted. Thread rule: every
// function from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>

#include "api/errands.h"
#include "api/router.h"
#include "whatif/foresee.h"

namespace tandem::api {

class StartTimes {
  public:
    explicit StartTimes(const Parts& parts) : parts_(parts) {}

    // Beyond so much live work no starts are looked for unasked: the copy would be too large.
    static constexpr std::size_t work_max = 100'000;

    // The newest there are, null before the first; asks for newer ones than of this view.
    std::shared_ptr<const whatif::Expectations> look(const server::WorkView& view);

  private:
    void renew(const std::stop_token& stop);

    const Parts& parts_;
    std::mutex mutex_{};
    std::shared_ptr<const whatif::Expectations> newest_{};
    std::chrono::steady_clock::time_point rested_{};  // from when on the next one may begin
    bool at_work_ = false;
    Errands errands_{};  // last: ends before what it uses
};

class Questions {
  public:
    static constexpr int most = 2;
    static constexpr std::size_t work_max = 250'000;  // live jobs and services

    explicit Questions(const Parts& parts) : parts_(parts) {}
    void ask(Call call);

  private:
    const Parts& parts_;
    std::atomic<int> at_work_ = 0;
    Errands errands_{};  // last: ends before what it uses
};

void add_foresight_routes(Router& router, Questions& questions);

}  // namespace tandem::api

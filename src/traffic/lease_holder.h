// SPDX-License-Identifier: Apache-2.0
// LeaseHolder: a gateway's side of limits: spends its shares of each key's rate and concurrency, and knows when to
// ask for other ones (see lease_authority.h for how sums stay within the limit). PURE: time is handed in; the
// gateway carries asks and answers.
//
// A key without a grant admits nothing yet (`no_lease`): the caller asks and waits. With a grant, admission is a
// local matter until the grant expires, server or no server.
// Only the answer to the latest batch is listened to. Thread rule: one owner (the gateway locks around it).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/usage.h"
#include "traffic/rate_window.h"

namespace tandem::traffic {

enum class Admission : std::uint8_t {
    admitted,
    no_lease,      // nothing granted yet, or expired: ask and wait
    rate_spent,
    busy,          // as many in flight as the share allows
};

struct AdmissionResult {
    Admission outcome = Admission::admitted;
    Duration retry_after{};   // for rate_spent
    std::int64_t limit = 0;   // of the share that said no
};

// The limits of a key as the feed tells them; 0: none.
struct KeyLimits {
    std::int64_t rate = 0;
    std::int64_t concurrency = 0;
};

class LeaseHolder {
  public:
    // `first_sequence`: above any number this gateway ever used (its clock in ms, or what it kept on disk).
    explicit LeaseHolder(std::int64_t first_sequence) : base_(first_sequence), sequence_(first_sequence) {}

    AdmissionResult admit(std::string_view key_id, const KeyLimits& limits, Instant now);
    void release(std::string_view key_id);   // each admitted request, when it has ended

    struct Batch {
        std::int64_t sequence = 0;
        std::vector<model::LeaseAsk> asks{};
    };
    // What should be asked now; no asks when nothing needs it or a batch is on its way (see lost()).
    Batch due(Instant now);
    void on_grants(const Batch& batch, const std::vector<model::LeaseGrant>& grants, Instant now);
    // The batch in flight got no answer, or the server was lost: the next batch asks for all that is held.
    void lost();
    bool waiting_for_answer() const { return in_flight_ != 0; }

    // What is held, for the file that a restart begins with. resume() takes shares as spent: how much of them was is
    // not known.
    struct Held {
        std::int64_t sequence = 0;
        std::vector<model::LeaseGrant> grants{};
    };
    Held held() const;
    void resume(const Held& held, Instant now);

  private:
    struct Key {
        KeyLimits limits{};
        RateWindow window{};
        std::int64_t in_flight = 0;
        std::int64_t peak = 0;           // most in flight since the last ask
        std::int64_t refused = 0;        // since the last ask
        std::int64_t rate = 0;           // shares
        std::int64_t concurrency = 0;
        Instant expires{};
        Instant used{};
        Instant asked{};
        std::int64_t asked_rate = 0;
        std::int64_t asked_concurrency = 0;
        std::int64_t answered = 0;       // 0: not in this life
        bool granted = false;
        bool renew = false;
        bool urgent = false;             // somebody waits for a first grant
    };
    bool needs_ask(Key& key, Instant now) const;
    model::LeaseAsk make_ask(const std::string& key_id, Key& key, Instant now);

    std::int64_t base_;
    std::int64_t sequence_;
    std::int64_t in_flight_ = 0;         // sequence of the batch that is on its way
    std::map<std::string, Key, std::less<>> keys_;
};

}  // namespace tandem::traffic

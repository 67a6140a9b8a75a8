// SPDX-License-Identifier: Apache-2.0
// History: what a server's own export (tandem admin export-history; its lines are described in
// store/query/history_lines.h) tells of its work: machines, pools, queues and licenses as they were
// last, and every job with the time it was submitted and how long it really ran. Replicas of
// services count as work that ran from their start to their end. Of lines that tell of no object
// only the form is looked at. The order of changes is that of their versions.
// Errors: invalid, naming the line and the field. Thread rule: values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "codec/document.h"
#include "model/command.h"
#include "model/object.h"

namespace tandem::sim {

struct PastWork {
    model::Job job{};       // as a manifest, with a name that nobody else has
    model::ObjectKey of{};  // the job, or the service whose replica it was
    Instant submitted{};
    Duration run_time{};                 // of all its attempts that counted
    bool guessed = false;                // it never ran: what it states, or the median of its queue
    std::optional<Instant> withdrawn{};  // before it ever ran
    bool cut_off = false;                // it ran still when the export was made
};
struct History {
    std::vector<model::Project> projects{};
    std::vector<model::Namespace> namespaces{};
    std::vector<model::License> licenses{};
    std::vector<model::Node> nodes{};
    std::vector<model::Pool> pools{};
    std::vector<model::Queue> queues{};  // parents first
    std::vector<PastWork> work{};        // by time of submission
    Instant until{};                     // the last that is told
};

class HistoryReader {
  public:
    Status take(std::string_view line);  // without its end
    Result<History> finish();

  private:
    struct Seen {
        model::Object object{};
        std::int64_t segment = 0;        // in which it was seen last
        std::int64_t first_version = 0;  // gives the order of what came in the same moment
        bool deleted = false;
    };
    // Of a job with checkpoints all that it ran, else its last attempt.
    struct Attempts {
        std::int64_t epoch = 0;
        Duration before{};
        Duration last{};
    };
    // Time of submission, first version, uid: their order.
    using Place = std::tuple<Instant, std::int64_t, Uid>;
    using Placed = std::map<Place, PastWork>;

    Status take_line(std::string_view line);
    Status take_change(const codec::Value& change);
    Status take_object(const codec::Value& document, bool deleted);
    Status take_other(std::string_view line);
    void note_attempt(const model::Job& job);
    bool is_there(const Seen& seen) const { return !seen.deleted && seen.segment == segment_; }
    void add_base(History& history, const Seen& seen) const;
    PastWork past_job(const model::Job& job) const;
    std::optional<PastWork> past_replica(const model::Replica& replica) const;

    static void guess_run_times(std::vector<PastWork>& work);

    std::int64_t line_ = 0;
    std::int64_t segment_ = 0;
    std::map<std::pair<model::Kind, Uid>, Seen> objects_{};
    std::map<Uid, Attempts> attempts_{};
    Instant until_{};
};

}  // namespace tandem::sim

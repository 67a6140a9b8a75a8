// SPDX-License-Identifier: Apache-2.0
// Verbs: one function each; gets the session with its arguments, returns the exit code or the error
// to tell. Internal to cli. Thread rule: one at a time.
#pragma once

#include "base/result.h"
#include "cli/session.h"
#include "model/object.h"

namespace tandem::cli {

using Verb = Result<int> (*)(Session& session);

// verbs_objects.cc
Result<int> do_get(Session& session);
Result<int> do_describe(Session& session);
Result<int> do_delete(Session& session);
// verbs_apply.cc
Result<int> do_apply(Session& session);
// Objects of the files that were named, with project and namespace filled in where the kind has
// them.
struct ManifestSource {
    std::string where{};  // "train.yaml, object 2 (job/train)"
    codec::Value document{};
    model::ObjectKey key{};
};
// With `questions`, a WhatIf among them is put there as it is; the rest may then be empty.
Result<std::vector<ManifestSource>> read_manifests(const Session& session,
                                                   std::vector<codec::Value>* questions = nullptr);
// verbs_watch.cc
Result<int> do_watch(Session& session);
Result<int> do_wait(Session& session);
// verbs_work.cc
Result<int> do_logs(Session& session);
Result<int> do_why(Session& session);
Result<int> do_events(Session& session);
Result<int> do_job_cancel(Session& session);
Result<int> do_job_retry(Session& session);
Result<int> do_job_hold(Session& session);
Result<int> do_job_release(Session& session);
Result<int> do_job_suspend(Session& session);
Result<int> do_job_resume(Session& session);
Result<int> do_job_requeue(Session& session);
Result<int> do_job_front(Session& session);
Result<int> do_job_force(Session& session);
Result<int> do_job_priority(Session& session);
Result<int> do_job_preview(Session& session);
// verbs_what_if.cc
Result<int> do_what_if(Session& session);
// verbs_run.cc
Result<int> do_run(Session& session);
// verbs_serving.cc
Result<int> do_model_push(Session& session);
Result<int> do_model_list(Session& session);
Result<int> do_model_versions(Session& session);
Result<int> do_service_list(Session& session);
Result<int> do_service_show(Session& session);
// verbs_platform.cc
Result<int> do_queue(Session& session);
Result<int> do_limits(Session& session);
Result<int> do_node(Session& session);
Result<int> do_pool(Session& session);
Result<int> do_usage_report(Session& session);
Result<int> do_usage_explain(Session& session);
Result<int> do_key_create(Session& session);
Result<int> do_key_list(Session& session);
Result<int> do_key_revoke(Session& session);
Result<int> do_whoami(Session& session);
Result<int> do_audit(Session& session);
Result<int> do_version(Session& session);
// What is known without a server, for programs; people have been told by then.
void tell_client_version(const Arguments& arguments, const Terminal& terminal,
                         const std::string& client, const std::string& server = {});

// verbs_context.cc: these need no server.
Result<int> do_context(const Arguments& arguments, const Terminal& terminal);

// Whole list, page by page.
Result<codec::Value> list_all(Session& session, model::Kind kind, QueryPairs query,
                              bool all_projects);
// "24h" back from now, or a time; empty stays empty.
Result<std::string> parse_moment(std::string_view text, Instant now, std::string_view flag,
                                 int direction);

// A watch as it goes on, with reconnects: calls on_event(type, object) until it returns false or
// the deadline.
enum class WatchEnd : std::uint8_t { stopped, timed_out, interrupted };
struct WatchRequest {
    model::Kind kind = model::Kind::job;
    bool all_projects = false;
    QueryPairs query{};
    std::int64_t version = 0;  // from a list or get
    std::optional<Instant> deadline{};
    http::Cancel* interrupt = nullptr;  // ends it as interrupted
    std::function<bool(std::string_view type, const codec::Value& object)> on_event{};
};
Result<WatchEnd> watch_objects(Session& session, const WatchRequest& request);

}  // namespace tandem::cli

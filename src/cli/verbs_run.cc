// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "base/quantity.h"
#include "cli/exit_code.h"
#include "cli/follow.h"
#include "cli/show.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "codec/manifest.h"
#include "crypto/random_bytes.h"

namespace tandem::cli {
namespace {

using codec::Value;

std::string draw_name() {
    std::array<std::uint8_t, 4> bytes{};
    crypto::fill_random(bytes);
    return "run-" + render_hex(bytes);
}

template <class Parse, class Out>
Status take(const char* flag, const std::string& text, Parse parse, Out& out) {
    if (text.empty()) return {};
    auto value = parse(text);
    if (!value) return invalid_field(flag, value.error().message);
    out = *value;
    return {};
}

Result<model::Job> make_job(const Session& session) {
    const Arguments& a = session.arguments();
    if (a.command.empty())
        return fail(ErrorCode::invalid, "write the command behind --: tandem run -- echo hello");
    model::Job job;
    job.meta = {.name = a.name.empty() ? draw_name() : a.name,
                .project = session.project(),
                .name_space = session.name_space()};
    job.spec.command = a.command;
    job.spec.priority = a.priority;
    job.spec.working_directory = a.working_directory;
    if (!a.queue.empty()) job.spec.queue = a.queue;
    model::Resources resources{.flavor = a.flavor};
    TANDEM_TRY(take("--devices", a.devices, parse_milli, resources.devices));
    TANDEM_TRY(take("--cpu", a.cpu, parse_milli, resources.cpu_milli));
    TANDEM_TRY(take("--memory", a.memory, parse_bytes, resources.memory_bytes));
    job.spec.roles = {{.name = "main", .resources = resources}};
    for (const std::string& entry : a.env) {
        const std::size_t equals = entry.find('=');
        if (equals == entry.npos)
            return invalid_field("--env",
                                 fmt::format("must be NAME=VALUE, is \"{}\"", entry.substr(0, 40)));
        job.spec.env[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
    return job;
}

// The command's own exit code, as a shell would say it.
int code_of(const Value& job) {
    const std::string phase = text_at(job, "status.phase");
    if (phase == "succeeded") return exit_ok;
    if (phase == "cancelled") return exit_interrupted;
    const std::string code = text_at(job, "status.reason.code");
    if (code == "exitCode") {
        const auto number = parse_integer(text_at(job, "status.reason.params.code"));
        if (number && *number > 0 && *number < 256) return static_cast<int>(*number);
    }
    if (code == "killedBySignal") {
        const auto signal = parse_integer(text_at(job, "status.reason.params.signal"));
        if (signal && *signal > 0 && *signal < 65) return 128 + static_cast<int>(*signal);
    }
    if (code == "startFailed") return 127;
    return exit_failed;
}

bool is_over(const Value& job) {
    const std::string phase = text_at(job, "status.phase");
    return phase == "succeeded" || phase == "failed" || phase == "cancelled";
}

// One job from its creation to its end, its output in between.
class JobRun {
  public:
    JobRun(Session& session, std::string name) : session_(session), name_(std::move(name)) {
        key_ = session_.key_of(model::Kind::job, name_);
    }

    Result<int> follow() {
        const auto guard = session_.terminal().watch_interrupts
                               ? session_.terminal().watch_interrupts([this] { on_interrupt(); })
                               : nullptr;
        std::int64_t shown_epoch = 0;
        while (true) {
            TANDEM_LET(started, wait_for_start(shown_epoch));
            if (interrupted_) {
                TANDEM_LET(code, ask());
                if (code) return *code;
                continue;
            }
            if (number_at(started, "status.epoch") > shown_epoch) {
                tell_started(started);
                const auto epoch = show_output(number_at(started, "status.epoch"));
                if (!epoch) return pass_on(epoch.error());
                if (!interrupted_) shown_epoch = *epoch;
                continue;
            }
            return finish(started);
        }
    }

  private:
    void on_interrupt() {
        interrupted_ = true;
        const std::scoped_lock lock(mutex_);
        if (running_) running_->cancel();
    }

    // Lets an interrupt end what is running now.
    struct Running {
        explicit Running(JobRun& owner) : run(owner) {
            const std::scoped_lock lock(run.mutex_);
            run.running_ = &cancel;
            if (run.interrupted_) cancel.cancel();
        }
        ~Running() {
            const std::scoped_lock lock(run.mutex_);
            run.running_ = nullptr;
        }
        JobRun& run;
        http::Cancel cancel{};
    };

    // Until the job runs with an epoch above `after`, or is over.
    Result<Value> wait_for_start(std::int64_t after) {
        const QueryPairs query{{"fieldSelector", "metadata.name=" + name_}};
        TANDEM_LET(list, session_.get(session_.collection(model::Kind::job), query));
        const Value* items = list.find("items");
        if (!items || items->items.empty())
            return fail(ErrorCode::not_found, fmt::format("job \"{}\" was deleted", name_));
        Value last = items->items.front();
        std::string told;
        const auto ready = [&](const Value& job) {
            tell_waiting(job, told);
            const std::string phase = text_at(job, "status.phase");
            return is_over(job) || (number_at(job, "status.epoch") > after &&
                                    (phase == "running" || phase == "stopping"));
        };
        if (ready(last)) return last;
        Running running(*this);
        WatchRequest request{.kind = model::Kind::job,
                             .query = query,
                             .version = number_at(list, "metadata.resourceVersion"),
                             .interrupt = &running.cancel};
        bool gone = false;
        request.on_event = [&](std::string_view type, const Value& job) {
            if (text_at(job, "metadata.name") != name_) return true;
            last = job;
            gone = type == "deleted";
            return !gone && !ready(job);
        };
        TANDEM_LET(end, watch_objects(session_, request));
        (void)end;
        if (gone) return fail(ErrorCode::not_found, fmt::format("job \"{}\" was deleted", name_));
        return last;
    }

    // Terminal or not: whoever reads a log wants to know why nothing comes.
    void tell_waiting(const Value& job, std::string& told) const {
        if (text_at(job, "status.phase") != "pending") return;
        std::string reason = reason_text(find_at(job, "status.reason"), language());
        if (reason.empty() || reason == told) return;
        session_.terminal().err(
            say(language(), "tandem: job/{} waits: {}\n", name_, printable(reason)));
        told = std::move(reason);
    }
    void tell_started(const Value& job) {
        const std::int64_t epoch = number_at(job, "status.epoch");
        if (epoch == told_start_) return;
        const bool first = std::exchange(told_start_, epoch) == 0;
        session_.terminal().err(first ? say(language(), "tandem: job/{} started\n", name_)
                                      : say(language(), "tandem: job/{} started, start {}\n", name_,
                                            number_at(job, "status.starts")));
    }
    codec::Language language() const { return look_of(session_).language; }

    // A task that never ran has no output to show.
    Result<std::int64_t> show_output(std::int64_t epoch) {
        Running running(*this);
        const LogRequest request{.path = session_.item(key_) + "/logs",
                                 .epoch = epoch,
                                 .offset = shown_.epoch == epoch ? shown_.offset : 0,
                                 .follow = true,
                                 .cancel = &running.cancel};
        auto read = read_log(session_, request);
        if (!read && read.error().code == ErrorCode::not_found) return epoch;
        if (!read) return pass_on(read.error());
        shown_ = {.epoch = epoch, .offset = read->offset};
        return epoch;
    }

    // Until it is answered, Ctrl-C comes again, or the job has ended and nothing is left to decide.
    bool is_question_open(std::chrono::steady_clock::time_point& next_look, bool& ended) {
        if (interrupted_) return false;
        if (std::chrono::steady_clock::now() < next_look) return true;
        const auto job = session_.get(session_.item(key_));
        next_look = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        ended = job && is_over(*job);
        return !ended;
    }

    // Absent: go on.
    Result<std::optional<int>> ask() {
        const Terminal& terminal = session_.terminal();
        interrupted_ = false;
        bool detach = false;
        if (terminal.in_is_terminal) {
            terminal.err(say(language(),
                             "\njob/{}: [c]ancel it (as Ctrl-C again does), [d]etach and let it "
                             "run, or [g]o on? ",
                             name_));
            bool ended = false;
            auto next_look = std::chrono::steady_clock::now();
            const std::string answer =
                terminal.read_line([&] { return is_question_open(next_look, ended); }).value_or("c");
            if (interrupted_ || ended) terminal.err("\n");
            interrupted_ = false;
            if (ended || answer.starts_with('g')) return std::optional<int>{};
            detach = answer.starts_with('d');
        }
        if (detach) {
            terminal.err(
                say(language(), "job/{} runs on; see: tandem logs -f job/{}\n", name_, name_));
            return std::optional<int>(exit_ok);
        }
        TANDEM_LET(answer,
                   session_.call({.method = "POST", .path = session_.item(key_) + "/cancel"}));
        (void)answer;
        terminal.err(say(language(), "job/{} is being cancelled\n", name_));
        return std::optional<int>(exit_interrupted);
    }

    Result<int> finish(const Value& job) {
        const int code = code_of(job);
        const std::string reason = reason_text(find_at(job, "status.reason"), language());
        if (code != exit_ok)
            session_.terminal().err(say(language(), "tandem: job/{} {}: {}\n", name_,
                                        text_at(job, "status.phase"), printable(reason)));
        return code;
    }

    Session& session_;
    std::string name_;
    model::ObjectKey key_{};
    std::int64_t told_start_ = 0;
    LogEnd shown_{};  // of which start so much: whoever goes on after Ctrl-C sees the rest
    std::atomic<bool> interrupted_ = false;
    std::mutex mutex_;
    http::Cancel* running_ = nullptr;
};

}  // namespace

Result<int> do_run(Session& session) {
    TANDEM_LET(job, make_job(session));
    TANDEM_TRY(model::check_object(job));
    TANDEM_LET(made, session.call({.method = "POST",
                                   .path = session.collection(model::Kind::job),
                                   .body = codec::render_object(job)}));
    const std::string name = text_at(made, "metadata.name");
    session.terminal().err(say(look_of(session).language, "tandem: job/{} is in queue {}\n", name,
                               text_at(made, "spec.queue")));
    return JobRun(session, name).follow();
}

}  // namespace tandem::cli

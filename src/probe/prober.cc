// SPDX-License-Identifier: Apache-2.0
#include "probe/prober.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace tandem::probe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds retry_wait{100};
constexpr Duration one_token_deadline = seconds(20);
// A reason that does not change is told this often.
constexpr std::chrono::seconds tell_period{5};
constexpr std::int64_t answer_max = 64 * 1024;

http::Call token_call(const Secret& key) {
    http::Call call{.method = "POST",
                    .target = "/v1/completions",
                    .headers = {},
                    .body = R"({"prompt":"a","max_tokens":1})"};
    call.headers.add("Content-Type", "application/json");
    call.headers.add("Authorization", "Bearer " + std::string(key.reveal()));
    return call;
}

// Empty when a token was generated; otherwise what is wrong.
std::string judge(const Result<http::Response>& answer) {
    if (!answer) return answer.error().message;
    if (answer->status != 200)
        return "answers " + std::to_string(answer->status) + " to a request for one token";
    if (answer->body.find("\"choices\"") == std::string::npos) return "answers without a token";
    return {};
}

}  // namespace

struct Prober::State : std::enable_shared_from_this<Prober::State> {
    struct Asked {
        model::ProbeReplica intent{};
        Secret key{};
        Clock::time_point due{};
        Clock::time_point told{};
        std::string detail{};
        bool in_flight = false;
    };

    Report report;
    std::unique_ptr<http::AsyncClient> client;
    std::mutex mutex;
    std::condition_variable wake;
    std::map<model::TaskName, Asked> asked;
    bool stopping = false;
    std::thread thread;

    void run();
    void ask(const model::TaskName& task, const Asked& one);
    void on_answer(const model::TaskName& task, const Result<http::Response>& answer);
};

void Prober::State::ask(const model::TaskName& task, const Asked& one) {
    const auto url = http::parse_url("http://" + one.intent.endpoint);
    if (!url) return on_answer(task, pass_on(url.error()));
    client->send({.server = *url,
                  .call = token_call(one.key),
                  .connect_deadline = seconds(2),
                  .total_deadline = one_token_deadline,
                  .body_max = answer_max},
                 [self = shared_from_this(), task](Result<http::Response> answer) {
                     self->on_answer(task, answer);
                 });
}

void Prober::State::on_answer(const model::TaskName& task, const Result<http::Response>& answer) {
    model::ReplicaProbed probed{.task = task, .ready = false, .detail = judge(answer)};
    probed.ready = probed.detail.empty();
    {
        const std::lock_guard lock(mutex);
        const auto it = asked.find(task);
        if (it == asked.end()) return;
        Asked& one = it->second;
        one.in_flight = false;
        one.due = Clock::now() + retry_wait;
        const bool news =
            probed.ready || probed.detail != one.detail || Clock::now() - one.told > tell_period;
        if (!news) return;
        one.detail = probed.detail;
        one.told = Clock::now();
        if (probed.ready) asked.erase(it);
    }
    report(std::move(probed));
}

void Prober::State::run() {
    std::unique_lock lock(mutex);
    while (!stopping) {
        std::vector<std::pair<model::TaskName, Asked>> due;
        for (auto& [task, one] : asked) {
            if (one.in_flight || one.due > Clock::now()) continue;
            one.in_flight = true;
            due.emplace_back(task, one);
        }
        lock.unlock();
        for (const auto& [task, one] : due) ask(task, one);
        lock.lock();
        if (stopping) break;
        if (asked.empty())
            wake.wait(lock);
        else
            wake.wait_for(lock, retry_wait / 2);
    }
}

Prober::Prober(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Prober>> Prober::make(Report report) {
    auto state = std::make_shared<State>();
    state->report = std::move(report);
    TANDEM_LET(client, http::AsyncClient::make({}));
    state->client = std::move(client);
    state->thread = std::thread([raw = state.get()] { raw->run(); });
    return std::unique_ptr<Prober>(new Prober(std::move(state)));
}

Prober::~Prober() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->stopping = true;
        state_->asked.clear();
    }
    state_->wake.notify_all();
    state_->thread.join();
    // Ends calls in flight; their callbacks find nothing to report.
    state_->client.reset();
}

void Prober::probe(const model::ProbeReplica& intent, Secret key) {
    {
        const std::lock_guard lock(state_->mutex);
        state_->asked.try_emplace(intent.task,
                                  State::Asked{.intent = intent, .key = std::move(key)});
    }
    state_->wake.notify_all();
}

void Prober::cancel(const model::TaskName& task) {
    const std::lock_guard lock(state_->mutex);
    state_->asked.erase(task);
}

}  // namespace tandem::probe

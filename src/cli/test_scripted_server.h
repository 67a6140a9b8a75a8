// SPDX-License-Identifier: Apache-2.0
// For tests of cli: a server on a free port that answers from a script, keeps what it was asked,
// and a terminal in memory. A step is used once, in order among those of the same method and path;
// the last one stays.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/cli.h"
#include "net/http/server.h"

namespace tandem::cli {

struct ScriptedAnswer {
    int status = 200;
    std::string body{};
    http::Headers headers{};
    bool stream = false;             // sent piece by piece and closed
    std::function<void()> before{};  // runs first, on the server's thread
    bool hang = false;               // a stream that stays open
};

class ScriptedServer {
  public:
    ScriptedServer() {
        http::ServerOptions options;
        options.tcp.push_back({});
        options.threads = 2;
        options.limits.body_max = 64 * 1024 * 1024;
        auto started = http::Server::start(
            std::move(options), [this](http::Request request, http::Responder responder) {
                answer(std::move(request), std::move(responder));
            });
        EXPECT_TRUE(started) << started.error().message;
        server_ = std::move(*started);
    }

    void on(const std::string& method, const std::string& path, ScriptedAnswer answer) {
        const std::scoped_lock lock(mutex_);
        script_[method + " " + path].push_back(std::move(answer));
    }
    void on(const std::string& method, const std::string& path, std::string body,
            int status = 200) {
        on(method, path, ScriptedAnswer{.status = status, .body = std::move(body)});
    }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }

    std::vector<http::Request> requests(const std::string& method, const std::string& path) const {
        const std::scoped_lock lock(mutex_);
        std::vector<http::Request> found;
        for (const http::Request& request : seen_)
            if (request.method == method && request.path == path) found.push_back(request);
        return found;
    }

  private:
    void answer(http::Request request, http::Responder responder) {
        ScriptedAnswer step;
        {
            const std::scoped_lock lock(mutex_);
            seen_.push_back(request);
            const auto found = script_.find(request.method + " " + request.path);
            if (found == script_.end())
                step = {.status = 404,
                        .body = R"({"status":404,"code":"not_found","detail":"nothing at )" +
                                request.path + "\"}"};
            else if (found->second.size() == 1)
                step = found->second.front();
            else {
                step = std::move(found->second.front());
                found->second.pop_front();
            }
        }
        if (step.before) step.before();
        if (!step.stream && !step.hang)
            return responder.respond(
                {.status = step.status, .headers = step.headers, .body = step.body});
        http::Stream stream = responder.start_stream(step.status, step.headers);
        stream.write(step.body);
        if (!step.hang) return stream.close();
        const std::scoped_lock lock(mutex_);
        open_.push_back(stream);
    }

    mutable std::mutex mutex_;
    std::map<std::string, std::deque<ScriptedAnswer>> script_;
    std::vector<http::Request> seen_;
    std::vector<http::Stream> open_;
    std::unique_ptr<http::Server> server_;
};

// Runs verbs against a scripted server; everything it wrote is in out and err.
class CliTest : public testing::Test {
  protected:
    CliTest() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "tandem-cli-XXXXXX").string();
        home_ = ::mkdtemp(pattern.data());
        environment_ = {
            {"HOME", home_}, {"TANDEM_SERVER", server_.url()}, {"TANDEM_API_KEY", "td_key"}};
    }
    ~CliTest() override { std::filesystem::remove_all(home_); }

    int run(std::vector<std::string> words) {
        out_.clear();
        err_.clear();
        std::vector<const char*> argv{"tandem"};
        for (const std::string& word : words) argv.push_back(word.c_str());
        return cli::run(static_cast<int>(argv.size()), argv.data(), terminal(), options_);
    }
    std::string write_file(const std::string& name, const std::string& text) const;

    Terminal terminal() {
        Terminal t;
        t.out = [this](std::string_view text) {
            out_ += text;
            if (std::exchange(interrupt_at_output_, false)) interrupt();
        };
        t.err = [this](std::string_view text) { err_ += text; };
        t.read_input = [this] { return input_; };
        t.read_line = [this](const std::function<bool()>& wanted) -> std::optional<std::string> {
            if (at_question_) at_question_();
            while (line_.empty() && wanted()) std::this_thread::sleep_for(milliseconds_of_poll);
            return line_.empty() ? std::nullopt : std::optional<std::string>(line_);
        };
        t.environment = [this](const char* name) -> std::optional<std::string> {
            const auto found = environment_.find(name);
            return found == environment_.end() ? std::nullopt : std::optional(found->second);
        };
        // Starts at a round time, so that outputs are known; goes on as the real one does.
        t.now = [began = std::chrono::steady_clock::now()] {
            const auto passed = std::chrono::steady_clock::now() - began;
            return *parse_instant("2026-11-30T12:00:00Z") +
                   milliseconds(std::chrono::floor<std::chrono::milliseconds>(passed).count());
        };
        t.watch_interrupts = [this](std::function<void()> on_interrupt) -> std::shared_ptr<void> {
            const std::scoped_lock lock(interrupt_mutex_);
            interrupt_ = std::move(on_interrupt);
            return std::shared_ptr<void>(this, [](void* self) {
                auto* test = static_cast<CliTest*>(self);
                const std::scoped_lock inner(test->interrupt_mutex_);
                test->interrupt_ = nullptr;
            });
        };
        t.in_is_terminal = in_is_terminal_;
        return t;
    }
    void interrupt() {
        const std::scoped_lock lock(interrupt_mutex_);
        if (interrupt_) interrupt_();
    }

    ScriptedServer server_;
    std::string home_;
    std::map<std::string, std::string, std::less<>> environment_;
    Options options_{.version = "0.0.0-test"};
    std::string out_;
    std::string err_;
    std::string input_;
    std::string line_;  // empty: no answer comes
    std::function<void()> at_question_{};
    static constexpr std::chrono::milliseconds milliseconds_of_poll{1};
    bool in_is_terminal_ = false;
    bool interrupt_at_output_ = false;  // once
    std::mutex interrupt_mutex_;
    std::function<void()> interrupt_;
};

inline std::string CliTest::write_file(const std::string& name, const std::string& text) const {
    const std::string path = home_ + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

// Answers as the server gives them.
inline constexpr const char* jobs = "/api/v1/projects/default/namespaces/default/jobs";

inline std::string job_json(const std::string& name, const std::string& phase,
                            const std::string& more = "") {
    return R"({"apiVersion":"tandem/v1","kind":"Job","metadata":{"name":")" + name +
           R"(","project":"default","namespace":"default",)"
           R"("createdAt":"2026-11-30T11:58:00.000Z"},"spec":{"queue":"default","priority":5,)"
           R"("roles":[{"name":"w","replicas":2}]},"status":{"phase":")" +
           phase + "\"" + more + "}}";
}
inline std::string list_json(const std::string& items, const std::string& token = "",
                             int version = 10) {
    return R"({"apiVersion":"tandem/v1","kind":"JobList","metadata":{"resourceVersion":)" +
           std::to_string(version) + R"(,"continue":")" + token + R"(","remaining":0},"items":[)" +
           items + "]}";
}
inline std::string problem_json(int status, const std::string& code, const std::string& detail,
                                const std::string& field = "") {
    return R"({"type":"about:blank","title":"x","status":)" + std::to_string(status) +
           R"(,"detail":")" + detail + R"(","code":")" + code + R"(","field":")" + field + "\"}";
}
inline std::string sse(int id, const std::string& event, const std::string& data) {
    return "id: " + std::to_string(id) + "\nevent: " + event + "\ndata: " + data + "\n\n";
}

}  // namespace tandem::cli

// SPDX-License-Identifier: Apache-2.0
// The executor with the real shim, in temporary homes.
#include "executor/local/local_executor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "executor/local/task_spec.h"

namespace tandem::executor {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{60};

// What core would have been told, in order.
class Inbox {
  public:
    void put(model::Input input) {
        std::lock_guard lock(mutex_);
        inputs_.push_back(std::move(input));
        news_.notify_all();
    }
    // The first input of that type, from `from` on, that `fits`; absent after the patience.
    template <class T>
    std::optional<T> await(auto fits, std::size_t from = 0) {
        std::unique_lock lock(mutex_);
        auto until = Clock::now() + patience;
        for (std::size_t at = from;; ++at) {
            if (!news_.wait_until(lock, until, [&] { return at < inputs_.size(); }))
                return std::nullopt;
            if (auto* input = std::get_if<T>(&inputs_[at]); input != nullptr && fits(*input))
                return *input;
        }
    }
    template <class T>
    std::optional<T> await(const model::TaskName& task, std::size_t from = 0) {
        return await<T>([&](const T& input) { return input.task == task; }, from);
    }
    template <class T>
    std::size_t count() {
        std::lock_guard lock(mutex_);
        std::size_t found = 0;
        for (const model::Input& input : inputs_) found += std::holds_alternative<T>(input);
        return found;
    }
    std::size_t size() {
        std::lock_guard lock(mutex_);
        return inputs_.size();
    }

  private:
    std::mutex mutex_;
    std::condition_variable news_;
    std::vector<model::Input> inputs_;
};

model::TaskName name_of_task(std::int64_t number, std::int64_t rank = 0) {
    model::TaskName task{.generation = 1, .epoch = 1, .rank = rank};
    for (std::size_t i = 0; i < 8; ++i) {
        task.uid.bytes[11 - i] =
            static_cast<std::uint8_t>(static_cast<std::uint64_t>(number) >> (8 * i));
    }
    task.uid.bytes[0] = 7;
    return task;
}

class LocalExecutorTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "home-XXXXXX";
        home_ = mkdtemp(name.data());
        restart();
    }
    void TearDown() override {
        stop_all();
        executor_.reset();
        fs::remove_all(home_);
    }

    // As a server that was killed and came again: a new executor, a new inbox.
    void restart() {
        executor_.reset();
        inbox_ = std::make_unique<Inbox>();
        LocalOptions options{.home = home_, .shim = TANDEM_SHIM_PATH, .node = "here"};
        options.devices = {{.index = 0, .flavor = "cpu-slice", .cores = {0}},
                           {.index = 1, .uuid = "GPU-a", .flavor = "nvidia-x"},
                           {.index = 2, .uuid = "GPU-b", .flavor = "nvidia-x"}};
        options.base_env = {{"PATH", "/usr/bin:/bin"}};
        options.poll_period = poll_;
        options.output_period = milliseconds(50);
        options.ring_bytes = 1 << 16;
        options.relist_period = relist_;
        LocalHooks hooks{
            .replica_key = [](const model::TaskName&) { return std::string("key"); },
            .model_path =
                [](const std::string& digest) { return Result<std::string>("/models/" + digest); },
            .digest_of = [](const std::string&) { return Result<std::string>("sha256:0"); },
            .keep_output =
                [](const std::string& output, const std::string& path) {
                    return Result<model::OutputRecord>(
                        {output, "sha256:1", static_cast<std::int64_t>(fs::file_size(path))});
                }};
        auto opened = LocalExecutor::open(
            options, hooks,
            [inbox = inbox_.get()](model::Input input) { inbox->put(std::move(input)); }, {});
        ASSERT_TRUE(opened) << opened.error().message;
        executor_ = std::move(*opened);
        executor_->start();
        listed_ = inbox_->await<model::TasksListed>([](const auto&) { return true; })
                      .value_or(model::TasksListed{});
    }
    void stop_all() {
        std::error_code error;
        for (fs::directory_iterator each(home_ + "/tasks", error), end; each != end; ++each) {
            auto task = model::TaskName::parse(each->path().filename().string());
            if (task && !fs::exists(each->path() / "exit")) stop(*task, seconds(0));
        }
        for (fs::directory_iterator each(home_ + "/tasks", error), end; each != end; ++each) {
            auto task = model::TaskName::parse(each->path().filename().string());
            auto until = Clock::now() + patience;
            while (task && !fs::exists(each->path() / "exit") &&
                   fs::exists(each->path() / "identity") && !abandoned_.contains(*task) &&
                   Clock::now() < until) {
                usleep(2000);
            }
        }
    }
    model::StartTask script(const model::TaskName& task, const std::string& text) {
        model::StartTask start{.task = task, .node = "here"};
        start.command = {"sh", "-c", text};
        start.grace = seconds(5);
        return start;
    }
    void start(const model::StartTask& task) {
        executor_->execute({.id = {++intents_}, .body = task});
    }
    void stop(const model::TaskName& task, Duration grace) {
        executor_->execute(
            {.id = {++intents_}, .body = model::StopTask{.task = task, .grace = grace}});
    }
    std::string log(const model::TaskName& task) {
        return executor_->read_log(task, 0, 1 << 20).value_or(LogSlice{}).text;
    }
    shim::TaskStatus identity(const model::TaskName& task) {
        FolderHandle folder(home_ + "/tasks/" + task.text());
        return read_record(folder.fd(), shim::identity_file).value_or(shim::TaskStatus{});
    }

    std::string home_;
    std::unique_ptr<Inbox> inbox_;
    std::unique_ptr<LocalExecutor> executor_;
    model::TasksListed listed_;
    std::set<model::TaskName> abandoned_;  // their shim was killed: no exit record will come
    std::int64_t intents_ = 0;
    Duration relist_ = minutes(5);
    Duration poll_ = milliseconds(20);
};

TEST_F(LocalExecutorTest, task_runs_to_its_end_and_tells_all) {
    model::TaskName task = name_of_task(1);
    start(script(task, "echo hello; echo $CUDA_VISIBLE_DEVICES; exit 4"));
    ASSERT_TRUE(inbox_->await<model::TaskStarted>(task));
    auto exited = inbox_->await<model::TaskExited>(task);
    ASSERT_TRUE(exited);
    EXPECT_EQ(exited->exit.code, 4);
    EXPECT_EQ(exited->exit.signal, 0);
    EXPECT_FALSE(exited->exit.server_absent);
    EXPECT_EQ(exited->start_error, "");
    EXPECT_EQ(log(task), "hello\n\n");
    auto slice = executor_->read_log(task, 3, 2);
    EXPECT_EQ(slice->text, "lo");
    EXPECT_EQ(slice->end, 7);
    EXPECT_FALSE(slice->live);
    EXPECT_EQ(executor_->read_log(name_of_task(99), 0, 1).error().code, ErrorCode::not_found);
    auto node = inbox_->await<model::NodeReported>([](const auto&) { return true; });
    EXPECT_EQ(node->status.devices.size(), 3u);
}

TEST_F(LocalExecutorTest,
       model_server_that_ends_badly_is_told_with_its_last_lines_other_work_is_not) {
    model::StartTask server = script(name_of_task(1), "echo loading; echo 'bad flag' >&2; exit 3");
    server.wants_port = true;
    start(server);
    start(script(name_of_task(2), "echo private; exit 3"));
    auto told = inbox_->await<model::TaskExited>(server.task);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->last_output, "loading | bad flag");
    auto other = inbox_->await<model::TaskExited>(name_of_task(2));
    ASSERT_TRUE(other);
    EXPECT_EQ(other->last_output, "");
}

TEST_F(LocalExecutorTest,
       adopted_task_is_listed_with_its_devices_and_all_of_them_when_its_record_is_lost) {
    model::StartTask known = script(name_of_task(1), "sleep 60");
    known.devices = {{0, 500}, {2, 1000}};
    model::StartTask lost = script(name_of_task(2), "sleep 60");
    for (const model::StartTask& task : {known, lost}) {
        start(task);
        ASSERT_TRUE(inbox_->await<model::TaskStarted>(task.task));
    }
    fs::remove(home_ + "/tasks/" + lost.task.text() + "/spec");
    restart();
    ASSERT_EQ(listed_.tasks.size(), 2u);
    for (const model::ListedTask& task : listed_.tasks) {
        EXPECT_EQ(task.node, "here");
        if (task.task == known.task)
            EXPECT_EQ(task.devices, known.devices);
        else
            EXPECT_EQ(task.devices.size(), 3u);
    }
}

TEST(TaskSpecDevices, those_of_an_older_server_are_all_that_it_could_have_used) {
    const std::vector<model::Device> devices{{.index = 0, .flavor = "cpu-slice", .cores = {0, 1}},
                                             {.index = 1, .flavor = "cpu-slice", .cores = {2}},
                                             {.index = 2, .uuid = "GPU-a"},
                                             {.index = 3, .uuid = "GPU-ab"}};
    shim::TaskSpec old;
    old.cpus = {1};
    old.env = {"CUDA_VISIBLE_DEVICES=GPU-x,GPU-a"};
    EXPECT_EQ(devices_of(old, devices), (std::vector<model::DeviceShare>{{0, 1000}, {2, 1000}}));
    old.node = "here";  // of one that says so: none
    EXPECT_TRUE(devices_of(old, devices).empty());
}

// Of what is watched closely each change is told by its own period, whatever the executor's is.
TEST_F(LocalExecutorTest, watched_task_tells_output_and_progress_within_its_period) {
    poll_ = seconds(60);
    restart();
    model::StartTask task = script(
        name_of_task(1),
        "for i in 1 2 3; do echo $i; sleep 0.1; done; echo 7 > $TANDEM_PROGRESS_FILE; sleep 60");
    task.watch_period = milliseconds(50);
    start(task);
    ASSERT_TRUE(inbox_->await<model::TaskStarted>(task.task));
    const auto began = Clock::now();
    ASSERT_TRUE(
        inbox_->await<model::TaskProgress>([](const auto& told) { return told.step == 7; }));
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(20));
    EXPECT_GE(inbox_->count<model::TaskProgress>(), 3u);
}

TEST_F(LocalExecutorTest, name_started_twice_is_one_process) {
    model::TaskName task = name_of_task(1);
    start(script(task, "echo once; exec sleep 600"));
    start(script(task, "echo once; exec sleep 600"));
    auto first = inbox_->await<model::TaskStarted>(task);
    ASSERT_TRUE(first);
    std::size_t from = inbox_->size();
    start(script(task, "echo twice"));
    auto again = inbox_->await<model::TaskStarted>(task, from);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->handle, first->handle);
    EXPECT_EQ(log(task), "once\n");
    stop(task, seconds(0));
    auto exited = inbox_->await<model::TaskExited>(task);
    EXPECT_EQ(exited->exit.signal, SIGKILL);
    EXPECT_EQ(exited->exit.code, -1);
    from = inbox_->size();
    start(script(task, "echo thrice"));
    EXPECT_EQ(inbox_->await<model::TaskExited>(task, from)->exit.signal, SIGKILL);
    stop(task, seconds(1));
    EXPECT_EQ(log(task), "once\n");
}

TEST_F(LocalExecutorTest, stop_gives_grace_and_then_ends_it) {
    model::TaskName polite = name_of_task(1);
    model::TaskName deaf = name_of_task(2);
    start(script(polite, "trap 'exit 9' TERM; echo ready; while :; do sleep 0.02; done"));
    start(script(deaf, "trap '' TERM; echo ready; while :; do sleep 0.02; done"));
    for (const model::TaskName& task : {polite, deaf}) {
        ASSERT_TRUE(inbox_->await<model::TaskProgress>(
            [&](const auto& progress) { return progress.task == task && log(task) == "ready\n"; }));
    }
    stop(polite, seconds(20));
    EXPECT_EQ(inbox_->await<model::TaskExited>(polite)->exit.code, 9);
    stop(deaf, milliseconds(100));
    EXPECT_EQ(inbox_->await<model::TaskExited>(deaf)->exit.signal, SIGKILL);
}

TEST_F(LocalExecutorTest, stop_of_the_unknown_fences_a_late_start) {
    model::TaskName task = name_of_task(1);
    stop(task, seconds(1));
    EXPECT_TRUE(inbox_->await<model::TaskGone>(task));
    start(script(task, "echo ran"));
    EXPECT_NE(inbox_->await<model::TaskExited>(task)->start_error, "");
    EXPECT_EQ(log(task), "");
}

TEST_F(LocalExecutorTest, start_impossible_is_told_with_its_reason) {
    model::StartTask missing = script(name_of_task(1), "");
    missing.command = {"no-such-command"};
    start(missing);
    auto exited = inbox_->await<model::TaskExited>(missing.task);
    EXPECT_EQ(exited->start_error, "command no-such-command: No such file or directory");

    std::ofstream(home_ + "/plain") << "";
    model::StartTask unwritable = script(name_of_task(2), "true");
    unwritable.checkpoint = true;
    unwritable.checkpoint_directory = home_ + "/plain/below";
    start(unwritable);
    exited = inbox_->await<model::TaskExited>(unwritable.task);
    EXPECT_TRUE(exited->start_error.starts_with("checkpoint.directory: ")) << exited->start_error;

    model::StartTask device = script(name_of_task(3), "true");
    device.devices = {{.index = 17}};
    start(device);
    EXPECT_EQ(inbox_->await<model::TaskExited>(device.task)->start_error,
              "device 17 is not on this node");
}

TEST_F(LocalExecutorTest, environment_carries_devices_port_and_contracts) {
    model::StartTask task = script(name_of_task(1, 1),
                                   "echo $CUDA_VISIBLE_DEVICES $OMP_NUM_THREADS $RANK $WORLD_SIZE "
                                   "$LOCAL_RANK $MASTER_ADDR $TANDEM_TASK "
                                   "$TANDEM_REPLICA_KEY $MINE {model} ${UNSET}; test {port} = "
                                   "$TANDEM_PORT && test -n \"$MASTER_PORT\"");
    task.devices = {{.index = 0}, {.index = 1}, {.index = 2}};
    task.wants_port = true;
    task.wants_rendezvous = true;
    task.world_size = 2;
    task.model_digest = "d";
    task.env = {{"MINE", "my-{port}"}, {"RANK", "1"}};
    start(task);
    auto started = inbox_->await<model::TaskStarted>(task.task);
    ASSERT_TRUE(started);
    EXPECT_TRUE(started->endpoint.starts_with("127.0.0.1:"));
    std::string port = started->endpoint.substr(10);
    EXPECT_EQ(inbox_->await<model::TaskExited>(task.task)->exit.code, 0);
    EXPECT_EQ(log(task.task), "GPU-a,GPU-b 1 1 2 0 127.0.0.1 " + task.task.text() + " key my-" +
                                  port + " /models/d\n");
}

TEST_F(LocalExecutorTest, ranks_of_an_epoch_meet_at_one_port_also_over_a_restart) {
    model::StartTask first = script(name_of_task(1, 0), "echo $MASTER_PORT; exec sleep 600");
    first.wants_rendezvous = true;
    first.world_size = 2;
    start(first);
    ASSERT_TRUE(
        inbox_->await<model::TaskProgress>([&](const auto&) { return !log(first.task).empty(); }));
    restart();
    model::StartTask second = first;
    second.task.rank = 1;
    second.command = {"sh", "-c", "echo $MASTER_PORT"};
    start(second);
    ASSERT_TRUE(inbox_->await<model::TaskExited>(second.task));
    EXPECT_EQ(log(first.task), log(second.task));
    EXPECT_GT(std::stoi(log(second.task)), 0);
}

TEST_F(LocalExecutorTest, progress_checkpoints_and_outputs_are_seen) {
    model::StartTask task = script(
        name_of_task(1),
        "echo '{\"step\": 7, \"time\": 1.5}' > p; mv p $TANDEM_PROGRESS_FILE; "
        "cd $TANDEM_CHECKPOINT_DIR; mkdir step-000003 step-000007 step-000009; "
        "echo {} > step-000007/manifest.json; echo {} > step-000003/manifest.json; "
        "echo weights > $TANDEM_OUTPUT_DIR/model.gguf; while [ ! -e go ]; do sleep 0.02; done; "
        "echo '{\"step\": 8}' > p; mv p $TANDEM_PROGRESS_FILE; echo {} > "
        "step-000009/manifest.json");
    task.checkpoint = true;
    start(task);
    auto progress =
        inbox_->await<model::TaskProgress>([](const auto& each) { return each.step == 7; });
    ASSERT_TRUE(progress);
    EXPECT_TRUE(progress->beat);
    auto seen = inbox_->await<model::CheckpointSeen>(
        [](const auto& each) { return each.checkpoint.step == 7; });
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->checkpoint.path,
              home_ + "/checkpoints/" + task.task.uid.text() + "/step-000007");
    EXPECT_EQ(seen->checkpoint.digest, "sha256:0");
    std::ofstream(home_ + "/checkpoints/" + task.task.uid.text() + "/go") << "";
    ASSERT_TRUE(inbox_->await<model::TaskExited>(task.task));
    // What it did last was told before its end.
    EXPECT_TRUE(inbox_->await<model::CheckpointSeen>(
        [](const auto& each) { return each.checkpoint.step == 9; }));
    EXPECT_TRUE(
        inbox_->await<model::TaskProgress>([](const auto& each) { return each.step == 8; }));

    executor_->execute(
        {.id = {77},
         .body = model::CollectOutputs{
             .task = task.task, .node = "here", .outputs = {{"model", "model.gguf"}}}});
    auto stored = inbox_->await<model::OutputStored>(task.task);
    ASSERT_TRUE(stored);
    EXPECT_EQ(stored->error, "");
    EXPECT_EQ(stored->outputs.at(0).bytes, 8);
    std::size_t from = inbox_->size();
    executor_->execute(
        {.id = {78},
         .body = model::CollectOutputs{
             .task = task.task, .node = "here", .outputs = {{"a", "none"}, {"b", "../identity"}}}});
    stored = inbox_->await<model::OutputStored>(task.task, from);
    EXPECT_EQ(stored->error, "output a: none was not written");
    EXPECT_TRUE(stored->outputs.empty());
}

TEST_F(LocalExecutorTest, live_tasks_are_adopted_and_ended_ones_told_after_a_restart) {
    model::StartTask live = script(name_of_task(1), "echo up; exec sleep 600");
    live.wants_port = true;
    model::StartTask ends =
        script(name_of_task(2), "while [ ! -e go ]; do sleep 0.02; done; exit 5");
    start(live);
    start(ends);
    auto before = inbox_->await<model::TaskStarted>(live.task);
    ASSERT_TRUE(inbox_->await<model::TaskStarted>(ends.task));
    std::string folder = home_ + "/tasks/" + ends.task.text();
    executor_.reset();  // nobody is there while it ends
    std::ofstream(folder + "/workdir/go") << "";
    for (auto until = Clock::now() + patience;
         !fs::exists(folder + "/exit") && Clock::now() < until;)
        usleep(2000);
    usleep(2000);
    restart();
    ASSERT_EQ(listed_.tasks.size(), 2u);
    for (const model::ListedTask& listed : listed_.tasks) {
        if (listed.task == live.task) {
            EXPECT_EQ(listed.handle, before->handle);
            EXPECT_EQ(listed.endpoint, before->endpoint);
            EXPECT_FALSE(listed.exit);
        } else {
            ASSERT_TRUE(listed.exit);
            EXPECT_EQ(listed.exit->code, 5);
            EXPECT_TRUE(listed.exit->server_absent);
        }
    }
    start(live);
    auto again = inbox_->await<model::TaskStarted>(live.task);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->handle, before->handle);
    stop(live.task, seconds(0));
    EXPECT_TRUE(inbox_->await<model::TaskExited>(live.task));
    EXPECT_EQ(log(live.task), "up\n");
}

TEST_F(LocalExecutorTest, settled_tasks_are_not_listed_and_keep_their_logs) {
    model::TaskName task = name_of_task(1);
    start(script(task, "echo kept"));
    ASSERT_TRUE(inbox_->await<model::TaskExited>(task));
    executor_->settle(task);
    for (auto until = Clock::now() + patience;
         !fs::exists(home_ + "/ended/" + task.text()) && Clock::now() < until;) {
        usleep(2000);
    }
    restart();
    EXPECT_TRUE(listed_.tasks.empty());
    EXPECT_EQ(log(task), "kept\n");
    start(script(task, "echo again"));
    EXPECT_EQ(inbox_->await<model::TaskExited>(task)->exit.code, 0);
    EXPECT_EQ(log(task), "kept\n");
}

TEST_F(LocalExecutorTest, tasks_are_listed_again_so_that_a_lost_report_is_made_good) {
    relist_ = milliseconds(30);
    restart();
    const model::TaskName live = name_of_task(1);
    const model::TaskName ended = name_of_task(2);
    start(script(live, "exec sleep 600"));
    start(script(ended, "exit 3"));
    const auto started = inbox_->await<model::TaskStarted>(live);
    ASSERT_TRUE(started && inbox_->await<model::TaskExited>(ended));
    const auto find = [](const model::TasksListed& listed, const model::TaskName& task) {
        return std::find_if(listed.tasks.begin(), listed.tasks.end(),
                            [&](const auto& one) { return one.task == task; });
    };
    const auto both = inbox_->await<model::TasksListed>(
        [&](const auto& listed) { return listed.tasks.size() == 2; }, inbox_->size());
    ASSERT_TRUE(both);
    EXPECT_EQ(find(*both, live)->handle, started->handle);
    EXPECT_FALSE(find(*both, live)->exit);
    ASSERT_TRUE(find(*both, ended)->exit);
    EXPECT_EQ(find(*both, ended)->exit->code, 3);
    executor_->settle(ended);
    ASSERT_TRUE(inbox_->await<model::TasksListed>(
        [&](const auto& listed) { return listed.tasks.size() == 1; }, inbox_->size()));
}

TEST_F(LocalExecutorTest, shim_killed_is_gone_only_when_its_whole_tree_is) {
    model::TaskName task = name_of_task(1);
    start(
        script(task, "(setsid sh -c 'echo $$ > far; exec sleep 600' &); echo up; exec sleep 600"));
    ASSERT_TRUE(inbox_->await<model::TaskStarted>(task));
    std::string far_file = home_ + "/tasks/" + task.text() + "/workdir/far";
    pid_t far = 0;
    for (auto until = Clock::now() + patience; far == 0 && Clock::now() < until; usleep(2000)) {
        std::ifstream(far_file) >> far;
    }
    auto far_identity = shim::identify(far);
    ASSERT_TRUE(far_identity);
    shim::TaskStatus status = identity(task);
    abandoned_.insert(task);
    ASSERT_EQ(kill(status.shim.pid, SIGKILL), 0);
    ASSERT_TRUE(inbox_->await<model::TaskGone>(task));
    EXPECT_FALSE(shim::is_alive(status.task));
    EXPECT_FALSE(shim::is_alive(*far_identity));
    EXPECT_EQ(inbox_->count<model::TaskExited>(), 0u);
    restart();
    EXPECT_TRUE(inbox_->await<model::TaskGone>(task));
}

TEST_F(LocalExecutorTest, two_hundred_live_tasks_are_adopted_at_once) {
    constexpr std::int64_t count = 200;
    for (std::int64_t i = 0; i < count; ++i) start(script(name_of_task(i), "exec sleep 600"));
    for (std::int64_t i = 0; i < count; ++i)
        ASSERT_TRUE(inbox_->await<model::TaskStarted>(name_of_task(i)));
    std::map<model::TaskName, std::string> before;
    for (std::int64_t i = 0; i < count; ++i)
        before[name_of_task(i)] = handle_of(identity(name_of_task(i)));
    executor_.reset();
    auto begun = Clock::now();
    restart();
    auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun);
    std::printf("adopted %zu live tasks in %lld ms\n", listed_.tasks.size(),
                static_cast<long long>(took.count()));
    ASSERT_EQ(listed_.tasks.size(), static_cast<std::size_t>(count));
    for (const model::ListedTask& task : listed_.tasks) {
        EXPECT_EQ(task.handle, before[task.task]);
        EXPECT_FALSE(task.exit);
    }
    EXPECT_LT(took, std::chrono::seconds(3));
    EXPECT_EQ(inbox_->count<model::TaskGone>(), 0u);
}

TEST(LocalExecutorOpen, bad_options_are_named) {
    LocalOptions options{.home = "relative", .shim = TANDEM_SHIM_PATH};
    EXPECT_EQ(LocalExecutor::open(options, {}, {}, {}).error().field, "home");
    options.home = testing::TempDir();
    options.shim = "/no/such/shim";
    EXPECT_EQ(LocalExecutor::open(options, {}, {}, {}).error().field, "shim");
}

}  // namespace
}  // namespace tandem::executor

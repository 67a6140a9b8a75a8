// SPDX-License-Identifier: Apache-2.0
#include "api/old_tasks.h"

#include "api/commands.h"
#include "api/resources.h"
#include "codec/json_writer.h"
#include "server/task_lookup.h"

namespace tandem::api {
namespace {

void put(codec::JsonWriter& writer, std::string_view name, const std::string& text) {
    writer.key(name);
    writer.text(text);
}

std::string render(const std::vector<server::OldTask>& tasks) {
    std::string json;
    codec::JsonWriter writer(json);
    writer.begin_object();
    writer.key("items");
    writer.begin_array();
    for (const server::OldTask& one : tasks) {
        writer.begin_object();
        put(writer, "task", one.task);
        if (one.replica) {
            put(writer, "project", one.replica->project);
            put(writer, "namespace", one.replica->name_space);
            put(writer, "replica", one.replica->name);
        }
        put(writer, "node", one.node);
        put(writer, "handle", one.handle);
        writer.key("devices");
        writer.begin_array();
        for (const model::DeviceShare& share : one.devices) writer.number(share.index);
        writer.end_array();
        writer.key("lives");
        writer.boolean(!one.handle.empty());
        writer.key("adoptable");
        writer.boolean(one.replica && !one.handle.empty());
        writer.end_object();
    }
    writer.end_array();
    writer.end_object();
    return json;
}

void list(const Parts& parts, Call call) {
    const Status allowed = allow_read(parts, call, {auth::Area::admin, auth::Verb::read}, "", call.request.path);
    if (!allowed) return call.refuse(allowed.error());
    auto shared = std::make_shared<Call>(std::move(call));
    const Status queued = parts.core.query([shared](const core::State& state) { shared->answer(render(server::find_old_tasks(state))); });
    if (!queued) shared->refuse(queued.error());
}

}  // namespace

void add_old_task_routes(Router& router, const Parts& parts) {
    const auto add = [&](std::string method, std::string pattern, std::string operation,
                         std::string summary, std::function<void(Call)> handler) {
        const bool method_is_post = method == "POST";
        router.add({.method = std::move(method),
                    .pattern = std::move(pattern),
                    .door = Door::caller,
                    .handler = std::move(handler),
                    .operation = std::move(operation),
                    .summary = std::move(summary),
                    .query = method_is_post ? Parameters{dry_run_parameter()} : Parameters{}});
    };
    const std::string replica = collection_path(model::Kind::replica) + "/{name}";
    add("GET", "/api/v1/admin/tasks", "listOldTasks", "Tasks of before a restore that wait for an operator",
        [&parts](Call call) { list(parts, std::move(call)); });
    add("POST", replica + "/adopt", "adoptReplica", "The task of before a restore is this replica's again", [&parts](Call call) {
        std::vector<model::Action> actions{model::AdoptTask{key_of_path(call, model::Kind::replica)}};
        send_command(parts, std::move(call), std::move(actions), Show::object);
    });
    add("POST", replica + "/end", "endReplica", "End this replica's task of before a restore", [&parts](Call call) {
        std::vector<model::Action> actions{model::EndTask{key_of_path(call, model::Kind::replica)}};
        send_command(parts, std::move(call), std::move(actions), Show::object);
    });
    add("POST", "/api/v1/admin/tasks/{task}/end", "endOldTask", "End a task of before a restore that belongs to nothing", [&parts](Call call) {
        std::vector<model::Action> actions{model::EndTask{{model::Kind::replica, "", "", call.at("task")}}};
        send_command(parts, std::move(call), std::move(actions), Show::outcomes);
    });
}

}  // namespace tandem::api

// SPDX-License-Identifier: Apache-2.0
#include "codec/reasons.h"

#include <algorithm>
#include <optional>

namespace tandem::codec {
namespace {

struct Sentence {
    std::string_view en;
    std::string_view zh;
};

// In the order of ReasonCode.
constexpr Sentence catalogue[] = {
    {"", ""},
    {"submitted; the scheduler has not looked at it yet", "已提交，调度器尚未处理"},
    {"suspended: spec.suspend is true", "已挂起：spec.suspend 为 true"},
    {"waits[ until {until}] before the next try", "等待下一次重试[，直到 {until}]"},
    {"no room now: needs {needed} of {flavor}[ (short: {short})][, {free} of {total} are free]"
     "[, room for {placesFree} of {places} replicas]; starts when enough is free again"
     "|no room now[ (short: {short})][: room for {placesFree} of {places} replicas]; starts when "
     "enough "
     "is free again",
     "目前资源不足：需要 {needed} 个 {flavor}[（紧缺：{short}）][，共 {total} 个中空闲 {free} 个]"
     "[，{places} 个副本中可放下 {placesFree} 个]；有足够空闲时启动"
     "|目前资源不足[（紧缺：{short}）][：{places} 个副本中可放下 {placesFree} "
     "个]；有足够空闲时启动"},
    {"can never start on today's machines: needs {needed} of {flavor}"
     "[ in one {level}]"
     "[; of its {members} replicas {membersThatFit} would fit, each on one node]"
     "|can never start on today's machines[: {members} replicas, {membersThatFit} would fit]",
     "在现有机器上永远无法启动：[一个 {level} 内]需要 {needed} 个 {flavor}"
     "[；{members} 个副本各须放在一个节点上，最多放得下 {membersThatFit} 个]"
     "|在现有机器上永远无法启动[：{members} 个副本，最多放得下 {membersThatFit} 个]"},
    {"quota of queue {queue} is used up: needs {needed}[ of {flavor}][, {used} of {limit} are used]"
     "|{missing} more {bound} of {flavor} in queue {queue}"
     "|quota of queue {queue} is used up[ ({flavor})]",
     "队列 {queue} 的配额已用完：需要 {needed} 个[ {flavor}][，上限 {limit}，已用 {used}]"
     "|队列 {queue} 的 {flavor} 的 {bound} 再多 {missing}"
     "|队列 {queue} 的配额已用完[（{flavor}）]"},
    {"pool {pool} has {held} of its {wanted} devices so far"
     "|pool {pool} does not exist or is not ready",
     "资源池 {pool} 目前只有 {held} 个设备，共需 {wanted} 个|资源池 {pool} 不存在或未就绪"},
    {"queue {queue} does not exist", "队列 {queue} 不存在"},
    {"project {project} may not use pool {pool}", "项目 {project} 无权使用资源池 {pool}"},
    {"has its place[ on {node}] and waits for running work to leave: {victims}",
     "已获得[节点 {node} 上的]位置，等待运行中的工作退出：{victims}"},
    {"is number {position} in queue {queue}", "在队列 {queue} 中排第 {position} 位"},
    {"held by {by}: release it to let it wait its turn", "被 {by} 搁置：放行后方可排队"},
    {"waits for job {job} ({when})", "等待任务 {job}（{when}）"},
    {"can't start any more: job {job} is {phase}, it waited for {when}",
     "无法再启动：任务 {job} 的状态为 {phase}，而它等待的是 {when}"},
    {"gave way to {by}[, which has priority {priority}]"
     "[; up to {atRisk} of work since its last checkpoint may be lost]",
     "让位给 {by}[（优先级 {priority}）]"
     "[；上次检查点之后至多 {atRisk} 的工作可能丢失]"},
    {"gave devices back to {by}, whose quota they are"
     "[; up to {atRisk} of work since its last checkpoint may be lost]"
     "|gave back devices that queue {queue} is owed",
     "把设备归还给配额所有者 {by}"
     "[；上次检查点之后至多 {atRisk} 的工作可能丢失]"
     "|归还了属于队列 {queue} 配额的设备"},
    {"cancelled[ by {by}]", "[被 {by} ]取消"},
    {"rank {rank} ended with exit code {code}", "进程 {rank} 以退出码 {code} 结束"},
    {"rank {rank} was ended by signal {signal}", "进程 {rank} 被信号 {signal} 终止"},
    {"rank {rank} ran out of memory", "进程 {rank} 内存耗尽"},
    {"[rank {rank} ]could not be started[: {detail}]", "[进程 {rank} ]无法启动[：{detail}]"},
    {"ran longer than its maximum run time[ of {limit}]", "运行超过最长运行时间[ {limit}]"},
    {"rank {rank} made no progress[ for {silence}]", "进程 {rank} 没有进展[，已持续 {silence}]"},
    {"rank {rank} wrote no output[ for {silence}]", "进程 {rank} 没有输出[，已持续 {silence}]"},
    {"ended because rank {rank} of its gang failed", "因同组进程 {rank} 失败而结束"},
    {"the process that watched[ rank {rank}][ replica {replica}] was lost, and its task with it[: "
     "{detail}]",
     "监护[进程 {rank} ][副本 {replica} ]的程序丢失，任务随之结束[：{detail}]"},
    {"failed {attempts} times[, at most {limit} retries are allowed]",
     "已失败 {attempts} 次[，最多允许重试 {limit} 次]"},
    {"output {output} is missing[: {detail}]|an output is missing: {detail}",
     "缺少输出 {output}[：{detail}]|缺少输出：{detail}"},
    {"its outputs are being stored", "正在保存输出"},
    {"stopped and queued again by {by}", "由 {by} 停止并重新排队"},
    {"released by {by}", "由 {by} 放行"},
    {"moved to the front of its submitter's jobs by {by}", "由 {by} 移到提交者任务的最前面"},
    {"saved a checkpoint[ at step {step}]", "已保存检查点[，步数 {step}]"},
    {"completed", "已完成"},
    {"its task is of before a restore and waits for a decision: adopt or end it "
     "(tandem admin tasks list)",
     "其进程实例属于恢复之前，等待决定：接管或结束（tandem admin tasks list）"},
    {"not known[: {what}]", "无法确定[：{what}]"},
    {"asleep: no request[ for {idle}]; the last start failed: replica {replica} ended with exit "
     "code {code}[ after {ran}]; the next request tries again"
     "|asleep: no request[ for {idle}]; the last start failed: replica {replica} was ended by "
     "signal {signal}[ after {ran}]; the next request tries again"
     "|asleep: no request[ for {idle}]; the last start failed: replica {replica} was not ready in "
     "time ({timeout})[: {detail}]; the next request tries again"
     "|asleep: no request[ for {idle}]; the last start failed: {detail}; the next request tries "
     "again"
     "|asleep: no request[ for {idle}]; the last start failed ({failure}); the next request tries "
     "again"
     "|asleep: no request[ for {idle}]; the next one wakes it",
     "休眠中：[{idle} 内]没有请求；上次启动失败：副本 {replica} 以退出码 {code} 结束[，运行 "
     "{ran}]；下一个请求将再次尝试"
     "|休眠中：[{idle} 内]没有请求；上次启动失败：副本 {replica} 被信号 {signal} 终止[，运行 "
     "{ran}]；下一个请求将再次尝试"
     "|休眠中：[{idle} 内]没有请求；上次启动失败：副本 {replica} 未能按时就绪（{timeout}）[："
     "{detail}]；下一个请求将再次尝试"
     "|休眠中：[{idle} 内]没有请求；上次启动失败：{detail}；下一个请求将再次尝试"
     "|休眠中：[{idle} 内]没有请求；上次启动失败（{failure}）；下一个请求将再次尝试"
     "|休眠中：[{idle} 内]没有请求；下一个请求会将其唤醒"},
    {"woken by {waiting} waiting requests|woken by a request",
     "被 {waiting} 个等待的请求唤醒|被请求唤醒"},
    {"replica {replica} was not ready in time[ ({timeout})][: {detail}]",
     "副本 {replica} 未能按时就绪[（{timeout}）][：{detail}]"},
    {"replica {replica} failed[: {detail}]", "副本 {replica} 失败[：{detail}]"},
    {"model {model}[ version {version}] does not exist", "模型 {model}[ 版本 {version}] 不存在"},
    {"runtime {runtime} does not exist", "运行时 {runtime} 不存在"},
    {"goes from {from} to {to} replicas", "副本数从 {from} 调整到 {to}"},
    {"goes from version {from} to {to}"
     "|its spec has changed: replicas by the new one take over from those of before",
     "版本从 {from} 更新到 {to}|规格已更改：按新规格启动的副本将接替旧副本"},
    {"finishes its requests and takes no new ones", "正在处理完剩余请求，不再接收新请求"},
    {"is being deleted", "正在删除"},
    {"started", "已启动"},
    {"has all of its devices", "所有设备已就位"},
    {"gave way to {by}, whose share of what is borrowed is smaller"
     "[; up to {atRisk} of work since its last checkpoint may be lost]",
     "让位给借用份额更小的 {by}"
     "[；上次检查点之后至多 {atRisk} 的工作可能丢失]"},
    {"left because queue {queue} is being emptied", "队列 {queue} 正在清空，因此退出"},
    {"may not ask others to leave: policy {policy} of queue {queue} forbids it",
     "不能要求其他工作退出：队列 {queue} 的策略 {policy} 禁止"},
    {"may ask others to leave[ from {until} on]: its queue has used up its evictions for now",
     "其队列的驱逐次数暂时用完[，{until} 之后]才能要求其他工作退出"},
    {"queue {queue} is stopped and admits nothing", "队列 {queue} 已停止，不再接纳"},
    {"can never start under this quota: needs {needed} of {flavor}, queue {queue} may have {limit} "
     "at "
     "most",
     "在此配额下永远无法启动：需要 {needed} 个 {flavor}，队列 {queue} 最多只能有 {limit} 个"},
    {"room for {places} more replicas of {each} {flavor}[, {cpu} cores][, {memory} memory] each[, "
     "on nodes with {nodes}]"
     "|room for {places} more replicas[ of {cpu} cores][, {memory} memory] each[, on nodes with "
     "{nodes}]",
     "再有 {places} 个副本的空位，每个 {each} 个 {flavor}[、{cpu} 核][、{memory} 内存][，节点标签 "
     "{nodes}]"
     "|再有 {places} 个副本的空位，每个[ {cpu} 核][、{memory} 内存][，节点标签 {nodes}]"},
    {"nothing that runs in queue {queue} has a lower priority than {priority}[; the lowest is "
     "{lowest}]",
     "队列 {queue} 中没有优先级低于 {priority} 的运行中工作[；最低为 {lowest}]"},
    {"{count} of lower priority in queue {queue} may never be preempted",
     "队列 {queue} 中有 {count} 个较低优先级的工作不可被抢占"},
    {"queue {queue} would have {used} and {needed} more of {flavor}, beyond its own {nominal}: it "
     "may not "
     "take back what others borrow",
     "队列 {queue} 已用 {used} 个 {flavor}，再加 {needed} 个将超出自有配额 "
     "{nominal}：无权回收他人借用的设备"},
    {"{count} of lower priority in queue {queue} could be asked to leave, which would not make "
     "enough "
     "room",
     "队列 {queue} 中有 {count} 个较低优先级的工作可以让出，但空间仍然不够"},
    {"{count} of lower priority in queue {queue} have not run for its minimum run time; from "
     "{until} on they "
     "may be asked to leave",
     "队列 {queue} 中有 {count} 个较低优先级的工作尚未达到最短运行时间；{until} 之后可要求其让出"},
    {"runs[ on {nodes}][ with {devices} devices][ since {since}]",
     "运行中[，节点 {nodes}][，设备 {devices} 个][，自 {since} 起]"},
    {"{replicas} replicas are ready", "{replicas} 个副本已就绪"},
    {"attempt {attempt} failed[; at most {limit} retries are allowed][; tried again at {until}]",
     "第 {attempt} 次尝试失败[；最多允许重试 {limit} 次][；将于 {until} 重试]"},
    {"suspended by {by}", "由 {by} 挂起"},
    {"resumed by {by}", "由 {by} 恢复"},
    {"task {task} of before a restore was taken over by {by}",
     "恢复之前的进程实例 {task} 由 {by} 接管"},
    {"task {task} of before a restore was ended by {by}", "恢复之前的进程实例 {task} 由 {by} 结束"},
    {"replica {replica} ended with exit code {code}[ after {ran}][; its last lines: {output}]"
     "|replica {replica} was ended by signal {signal}[ after {ran}][; its last lines: {output}]",
     "副本 {replica} 以退出码 {code} 结束[，运行 {ran}][；最后输出：{output}]"
     "|副本 {replica} 被信号 {signal} 终止[，运行 {ran}][；最后输出：{output}]"},
    {"{devices} devices of node {node} are taken by {tasks} tasks of before a restore that belong "
     "to nothing; "
     "tandem admin tasks list",
     "节点 {node} 的 {devices} 个设备被恢复之前的 {tasks} 个无主进程实例占用；见 tandem admin "
     "tasks list"},
    {"no {level} has room for {needed} replicas together[ in slices of {slice}]"
     "[: the most is {largest}][, in {domain}][, of {domains} domains]"
     "|room for {places} more replicas[ of {each} {flavor}] in one {level}[ ({domain})]",
     "没有任何 {level} 能同时放下 {needed} 个副本[（每组 {slice} 个）]"
     "[：最多 {largest} 个][，位于 {domain}][，共 {domains} 个域]"
     "|同一个 {level} 中再有 {places} 个副本的空位[，每个 {each} 个 {flavor}][（{domain}）]"},
    {"{needed} replicas can't be spread over each {level} with a difference of at most {maxSkew}"
     "[: the most is {largest}][; {domain} has the least room]",
     "{needed} 个副本无法按 {level} 以至多 {maxSkew} 的差异分布"
     "[：最多 {largest} 个][；{domain} 的空位最少]"},
    {"no places {rule} work with {labels} in the same {level}"
     "[: needs {needed} replicas][, room for {largest}]",
     "没有满足条件（{rule}，标签 {labels}，同一 {level}）的位置"
     "[：需要 {needed} 个副本][，只能放下 {largest} 个]"},
    {"the limit of user {user}[ in {at}] is reached: {used} of {limit} {what} run, this needs "
     "{needed} more"
     "|the limit of user {user} is reached",
     "用户 {user}[ 在 {at} ]的上限已到：{what} 已用 {used}，上限 {limit}，还需 {needed}"
     "|用户 {user} 的上限已到"},
    {"the limit of project {project} is reached: {used} of {limit} {what} run, this needs {needed} "
     "more"
     "|the limit of project {project} is reached",
     "项目 {project} 的上限已到：{what} 已用 {used}，上限 {limit}，还需 {needed}|项目 {project} "
     "的上限已到"},
    {"the limit of queue {queue} is reached: {used} of {limit} {what} run, this needs {needed} more"
     "|the limit of queue {queue} is reached",
     "队列 {queue} 的上限已到：{what} 已用 {used}，上限 {limit}，还需 {needed}|队列 {queue} "
     "的上限已到"},
    {"{used} elements of array {array} run, {limit} at most may|as many elements run as its array "
     "lets",
     "数组 {array} 已有 {used} 个元素运行，最多 {limit} 个|运行的元素数已达其数组的上限"},
    {"license {license} is in use: needs {needed}, {used} of {limit} are held"
     "|license {license} is in use",
     "许可 {license} 已被占用：需要 {needed} 个，共 {limit} 个中已占用 {used} 个|许可 {license} "
     "已被占用"},
    {"can never start: needs {needed} of license {license}, there are {limit}"
     "|can never start: there are too few of license {license}",
     "永远无法启动：需要 {needed} 个许可 {license}，总共只有 {limit} 个|永远无法启动：许可 "
     "{license} 的总数不足"},
    {"{missing} more of {of} {name}", "{of} {name} 再多 {missing}"},
    {"started by {by}, whatever quotas and limits say", "由 {by} 强制启动，不受配额和上限约束"},
    {"priority set to {priority} by {by}", "优先级由 {by} 设为 {priority}"},
    {"priority is {priority} again, as submitted; set by {by}",
     "优先级由 {by} 恢复为提交时的 {priority}"},
    {"{running} elements run, {pending} wait, {over} of {total} are over",
     "{running} 个元素运行，{pending} 个等待，共 {total} 个中 {over} 个已结束"},
    {"{failed} of {total} elements failed", "共 {total} 个元素中 {failed} 个失败"},
    {"{cancelled} of {total} elements were cancelled", "共 {total} 个元素中 {cancelled} 个被取消"},
    {"serves version {to} now[ instead of {from}]|all its replicas run by its changed spec now",
     "现在提供版本 {to}[，不再是 {from}]|所有副本现在都按更改后的规格运行"},
    {"has stopped with nothing lost: it goes on from step {kept}, its checkpoint"
     "|has stopped; it goes on from its checkpoint of step {step}, {lost} of work is lost[, "
     "{steps} steps]"
     "|has stopped; it begins anew, {lost} of work is lost",
     "已停止，没有损失：将从步数 {kept} 的检查点继续"
     "|已停止；将从步数 {step} 的检查点继续，损失 {lost} 的工作[，{steps} 步]"
     "|已停止；将从头开始，损失 {lost} 的工作"},
    {"the wall clock of this machine jumped by {by}; time here follows it slowly and never goes "
     "back",
     "本机的系统时钟跳变了 {by}；此处的时间会缓慢跟随，绝不后退"},
    {"gives way to {by} with replica {replica}, beyond what it needs: {left} are left, it never "
     "has fewer than {min}[; up to {atRisk} of work may be lost]"
     "|gives way to {by} with what it has beyond its need[; up to {atRisk} of work may be lost]",
     "将超出所需的副本 {replica} 让给 {by}：还剩 {left} 个，绝不少于 {min} 个"
     "[；最多可能损失 {atRisk} 的工作]"
     "|将超出所需的部分让给 {by}[；最多可能损失 {atRisk} 的工作]"},
    {"grows from {from} to {to} replicas, of at most {max}, while nobody else wants the devices",
     "在没有其他任务需要设备时，副本从 {from} 个增加到 {to} 个（最多 {max} 个）"},
    {"its ranks stop and start again with {to} replicas instead of {from}",
     "所有 rank 将停止，并以 {to} 个副本（原为 {from} 个）重新启动"},
    {"waits for the window of reservation {reservation}[, from {start} on]",
     "等待预留 {reservation} 的时间窗[，{start} 开始]"},
    {"would still run on {start}, when reservation {reservation} needs the devices; state a "
     "maxRunTime that ends before, or be preemptible"
     "|would keep devices that a reservation needs",
     "到 {start} 时仍会占用预留 {reservation} 所需的设备；请声明在此之前结束的 "
     "maxRunTime，或设为可抢占|会占用预留所需的设备"},
    {"would still run on {start}, when maintenance {maintenance} begins; state a maxRunTime that "
     "ends before, or be preemptible"
     "|would still run when maintenance begins",
     "到 {start} 维护 {maintenance} 开始时仍会运行；请声明在此之前结束的 "
     "maxRunTime，或设为可抢占|维护开始时仍会运行"},
    {"made way for reservation {reservation}[, which begins on {start}]"
     "[; up to {atRisk} of work since its last checkpoint may be lost]"
     "|made way for maintenance {maintenance}[, which begins on {start}]"
     "[; up to {atRisk} of work since its last checkpoint may be lost]",
     "为预留 {reservation} 让位[，{start} 开始][；上次检查点之后至多 {atRisk} 的工作可能丢失]"
     "|为维护 {maintenance} 让位[，{start} 开始][；上次检查点之后至多 {atRisk} 的工作可能丢失]"},
    {"its window is open[ until {end}][: {devices} devices]",
     "时间窗已打开[，至 {end}][：{devices} 个设备]"},
    {"the window of reservation {reservation} is over: what still runs may be asked to leave",
     "预留 {reservation} 的时间窗已结束：仍在运行的工作可被要求退出"},
    {"has {have} of its {needed} devices so far", "目前只有 {have} 个设备，共需 {needed} 个"},
    {"maintenance {maintenance} has begun[: {reason}][, until {until}]",
     "维护 {maintenance} 已开始[：{reason}][，至 {until}]"},
    {"maintenance {maintenance} is over", "维护 {maintenance} 已结束"},
    {"runs on node {node} beyond {start}, when maintenance {maintenance} begins: it is never asked "
     "to leave",
     "在节点 {node} 上会运行到维护 {maintenance} 开始（{start}）之后：它不可被要求退出"},
};
static_assert(std::size(catalogue) == std::size(model::EnumNames<model::ReasonCode>::values));

std::optional<std::string_view> find_param(const model::Reason& reason, std::string_view name) {
    for (const model::ReasonParam& param : reason.params)
        if (param.name == name && !param.value.empty()) return param.value;
    return std::nullopt;
}

// Fills in one stretch without brackets; complete becomes false when a parameter is missing.
std::string fill_in(std::string_view text, const model::Reason& reason, Language language,
                    bool& complete) {
    std::string out;
    while (!text.empty()) {
        const std::size_t open = text.find('{');
        out += text.substr(0, open);
        if (open == text.npos) break;
        const std::size_t close = text.find('}', open);
        const auto value = find_param(reason, text.substr(open + 1, close - open - 1));
        complete = complete && value;
        if (value == "*")
            out += language == Language::zh ? "任意设备规格" : "any flavor";
        else
            out += value.value_or("?");
        text.remove_prefix(close + 1);
    }
    return out;
}

std::string fill_variant(std::string_view text, const model::Reason& reason, Language language,
                         bool& complete) {
    std::string out;
    while (!text.empty()) {
        const std::size_t open = std::min(text.find('['), text.size());
        out += fill_in(text.substr(0, open), reason, language, complete);
        text.remove_prefix(open);
        if (text.empty()) break;
        const std::size_t close = text.find(']');
        bool whole = true;
        const std::string optional = fill_in(text.substr(1, close - 1), reason, language, whole);
        if (whole) out += optional;
        text.remove_prefix(close + 1);
    }
    return out;
}

}  // namespace

std::string_view reason_template(model::ReasonCode code, Language language) {
    const Sentence& sentence = catalogue[static_cast<std::size_t>(code)];
    return language == Language::zh ? sentence.zh : sentence.en;
}

std::string render_reason(const model::Reason& reason, Language language) {
    std::string_view rest = reason_template(reason.code, language);
    std::string first;
    for (bool complete = false; !complete && !rest.empty();) {
        const std::size_t end = std::min(rest.find('|'), rest.size());
        complete = true;
        std::string text = fill_variant(rest.substr(0, end), reason, language, complete);
        if (complete) return text;
        if (first.empty()) first = std::move(text);
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return first;
}

}  // namespace tandem::codec

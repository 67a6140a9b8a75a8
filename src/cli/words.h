// SPDX-License-Identifier: Apache-2.0
// Words: every label that the command line shows to people, in English and Chinese; the one table of them. Names
// of phases, kinds and fields are the API's own and stand in no table. A label that the table does not have does
// not compile: Phrase is made at compile time. Thread rule: constants.
//
//   say(language, "job/{} started", name)      a line; both languages take the same arguments in the same order
//   Phrase("PHASE").in(language)               a header
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "codec/reasons.h"

namespace tandem::cli {

struct Word {
    std::string_view en;
    std::string_view zh;
};

// clang-format off
inline constexpr Word word_table[] = {
    // headers of tables, and names of single values
    {"NAME", "名称"}, {"PROJECT", "项目"}, {"NAMESPACE", "命名空间"}, {"PHASE", "阶段"}, {"QUEUE", "队列"},
    {"PRIORITY", "优先级"}, {"RANKS", "进程数"}, {"STARTS", "启动次数"}, {"AGE", "存在时间"}, {"REASON", "原因"},
    {"READY", "就绪"}, {"VERSION", "版本"}, {"CALLED", "调用名"}, {"NODE", "节点"}, {"DEVICES", "设备"},
    {"TAKEN BY", "被占用"},
    {"EPOCH", "轮次"}, {"ENDPOINT", "地址"}, {"CPU", "处理器"}, {"MEMORY", "内存"}, {"EXECUTOR", "执行器"},
    {"CLOSED", "停止调度"}, {"FORM", "交付形态"}, {"FLAVOR", "设备规格"}, {"FROM", "自"}, {"TO", "至"},
    {"PROJECTS", "项目"}, {"PARENT", "上级"}, {"POOL", "资源池"}, {"NOMINAL", "配额"}, {"STOP", "停止方式"},
    {"FORMAT", "格式"}, {"READY TIMEOUT", "就绪时限"}, {"COMMAND", "命令"}, {"MODEL", "模型"}, {"NUMBER", "编号"},
    {"ARCHITECTURE", "架构"}, {"QUANTISATION", "量化"}, {"BYTES", "字节"}, {"DIGEST", "摘要"}, {"SUBJECT", "主体"},
    {"ROLE", "角色"}, {"IN PROJECT", "所在项目"}, {"KEY ID", "密钥编号"}, {"EXPIRES", "到期"}, {"REVOKED", "已吊销"},
    {"TITLE", "标题"}, {"AT", "时间"}, {"ABOUT", "对象"}, {"WHAT", "事件"}, {"CURRENT", "当前"},
    {"SERVER", "服务器"}, {"KEY", "密钥"}, {"QUOTA", "可用配额"}, {"USED", "已用"}, {"BORROWED", "借入"},
    {"LENT", "借出"}, {"WEIGHT", "权重"}, {"SHARE", "份额"}, {"HARDWARE", "实有硬件"}, {"DECAYED HOURS", "衰减用时"},
    {"WAITING", "等待"}, {"TOTAL", "总量"}, {"IDLE", "空闲"}, {"SOURCE", "来源"}, {"TOKENS", "词元"},
    {"OWNER KIND", "所有者种类"}, {"OWNER NAME", "所有者"}, {"STATE", "状态"}, {"DEVICE SECONDS", "设备秒"},
    {"DEVICE MS REST", "设备毫秒余数"}, {"SERVICE", "服务"}, {"MODEL VERSION", "模型版本"}, {"REQUESTS", "请求"},
    {"FAILED", "失败"}, {"ABORTED", "中断"}, {"ESTIMATED", "估计"}, {"GATEWAY LOST", "网关丢失"},
    {"PROMPT TOKENS", "提示词元"}, {"CACHED TOKENS", "缓存词元"}, {"COMPLETION TOKENS", "生成词元"},
    {"ESTIMATED PROMPT TOKENS", "估计提示词元"}, {"ESTIMATED COMPLETION TOKENS", "估计生成词元"}, {"KIND", "种类"},
    {"UID", "唯一编号"}, {"INTERVALS", "区间"}, {"CAUSE", "缘由"}, {"REPLICA", "副本"}, {"DEVICE", "设备号"},
    {"BY STATE", "按状态"}, {"ACCOUNTED MS", "已记毫秒"}, {"ACCOUNTED MS REST", "已记毫秒余数"}, {"SPAN MS", "跨度毫秒"},
    {"SPAN MS REST", "跨度毫秒余数"}, {"ADDS UP", "账目相符"}, {"GAPS", "缺口"}, {"BINDINGS", "角色绑定"},
    {"SEQUENCE", "序号"}, {"CALLER", "调用者"}, {"ACTION", "操作"}, {"OBJECT", "目标"}, {"ALLOWED", "允许"},
    {"START", "开始"}, {"END", "结束"}, {"DURATION", "时长"}, {"NODES", "节点列表"}, {"REPLICAS", "副本数"}, {"WINDOW", "时间窗"},
    {"RULE", "规则"}, {"COUNT", "次数"}, {"HASH", "散列"}, {"FACTS", "实测信息"}, {"INDEX", "序号"},
    {"UUID", "设备编号"}, {"CORES", "核心"}, {"OVER COMMITTED", "超配"}, {"HEALTHY", "健康"},
    {"yes", "是"}, {"no", "否"}, {"none", "无"}, {"kept", "已保存"},
    // nothing there
    {"no {} found", "没有找到 {}"},
    {" in project {}, namespace {}", "（项目 {}，命名空间 {}）"},
    {" in project {}", "（项目 {}）"},
    {"try it without the selector\n", "可去掉选择条件再试\n"},
    {"of all projects: tandem get {} -A\n", "所有项目：tandem get {} -A\n"},
    {"make one: {}\n", "新建：{}\n"},
    {"nothing to show\n", "没有可显示的内容\n"},
    {"no events yet; they come with work: tandem run -- CMD\n", "还没有事件；运行任务后便有：tandem run -- CMD\n"},
    {"no contexts; add one with: tandem context set NAME --server URL --key-file FILE\n",
     "没有上下文；新建：tandem context set NAME --server URL --key-file FILE\n"},
    {"nothing to explain", "没有需要解释的"},
    // what was done
    {"created", "已创建"}, {"changed", "已更改"}, {"unchanged", "未变"}, {"deleted", "已删除"}, {" (dry run)", "（试运行）"},
    {"is being ended, then deleted", "正在结束，随后删除"},
    {"is cancelled", "已取消"}, {"is being cancelled", "正在取消"}, {"has ended already: it {}", "早已结束：{}"},
    {"is held", "已搁置"},
    {"is {} and goes on; it is held when it waits its turn again", "处于 {}，继续运行；再次排队时搁置"},
    {"waits again, but is suspended; start it with: tandem job resume {}",
     "重新等待，但已挂起；启动请用：tandem job resume {}"},
    {"waits again, but is held by {}; start it with: tandem job release {}",
     "重新等待，但由 {} 搁置；启动请用：tandem job release {}"},
    {"is asked to save and stop; then it is suspended", "已要求保存并停止；随后挂起"},
    {"is released", "已放行"}, {"is suspended", "已挂起"},
    {"waits its turn again", "重新排队等待"}, {"is queued again", "已重新入队"},
    {"is the first of its submitter's", "已排到本人任务之首"},
    {"starts as soon as there are devices for it", "有可用设备时立即启动"},
    {"has priority {}", "优先级为 {}"},
    {"has the priority it was submitted with", "恢复提交时的优先级"},
    {"would not start now: {}\n", "现在不会启动：{}\n"},
    {"would start on {}\n", "会在 {} 上启动\n"},
    {"  nobody would be asked to leave\n", "  无需任何工作退出\n"},
    {"  would evict {}: {}\n", "  会驱逐 {}：{}\n"},
    {"{} of it with {}", "{} 个，设备 {}"},
    {"modelversion/{} {} {} bytes{}\n", "modelversion/{} {} {} 字节{}\n"},
    {": already version {} of {}", "：已是版本 {}（{}）"},
    {"tandem: key/{} of {}; it is not shown again\n", "tandem: key/{} 属于 {}；密钥不再显示\n"},
    {"key/{} revoked\n", "key/{} 已吊销\n"},
    {"context {} is {} now\n", "上下文 {} 现为 {}\n"},
    {"client {}\n", "客户端 {}\n"}, {"server {} at {}\n", "服务器 {}，地址 {}\n"},
    {"is {}", "达到 {}"},
    {"tandem: not {} within {}{}\n", "tandem: 未达到 {}，时限 {}{}\n"}, {": it is {}", "：现为 {}"},
    // describe and why
    {"\nWhy: {}\n", "\n缘由：{}\n"}, {"\nEvents:\n", "\n事件：\n"}, {"Call it:\n", "调用方法：\n"},
    {"{}/{} is {}\n", "{}/{} 处于 {}\n"},
    {"  why: {}{}\n", "  缘由：{}{}\n"}, {" (not tried to the end yet)", "（尚未试尽）"},
    {"  also: {}\n", "  另有：{}\n"}, {"  before: {}\n", "  此前：{}\n"},
    {"  of those usable, {} are admitted by labels, taints and other work\n",
     "  其中 {} 个可用节点符合标签、污点与其他工作的要求\n"},
    {"  of those with room, {} are in the best domain\n", "  有空位的节点中，{} 个在最佳域内\n"},
    {"  nodes: {} in all, {} with {} of pool {}, {} of them usable, {} with room for a replica; {} of {} devices are free\n",
     "  节点：共 {} 个，{} 个有 {}（资源池 {}），其中 {} 个可用，{} 个容得下一个副本；设备空闲 {}，总数 {}\n"},
    {"  held by: {}, {} of {}, queue {}, priority {}{}{}\n", "  占用者：{}，{} 个 {}，队列 {}，优先级 {}{}{}\n"},
    {"work of others", "他人的任务"}, {", never preempted", "，不可抢占"}, {", leaving", "，正在退出"},
    {"  held by: {} more\n", "  占用者：另有 {} 个\n"},
    {"  preemption: {}\n", "  抢占：{}\n"},
    {"  position in its queue: {} of {}\n", "  队列中的位置：第 {} 个，共 {} 个\n"},
    {"  would start in its turn with: {}\n", "  如有下列条件，轮到时便可启动：{}\n"}, {"; and ", "；并且 "},
    {"what happened, newest first:\n", "发生过的事，最新在前：\n"},
    // what would be
    {"WORK", "作业"}, {"STARTS AT", "启动时间"}, {"BASIS", "依据"},
    {"WITHOUT THE CHANGE", "不作更改时"}, {"WHY", "缘由"},
    {"now", "现在"}, {"{} (in {})", "{}（{} 后）"}, {"not while it is held back", "暂不启动：已被留住"},
    {"never with these machines and quotas", "以现有机器和配额永不启动"},
    {"not known: what it waits for states no end", "未知：所等的作业没有声明结束时间"},
    {"not within the time that was looked at", "不在推演的时间范围内"},
    {"not known: looking further takes too long", "未知：再往后推演耗时过长"},
    {"not looked at yet; ask again in a moment", "尚未推演；请稍后再问"},
    {"proved", "已证明"}, {"estimated", "估计"}, {" (new)", "（新）"},
    {"{} (without the change {})", "{}（不作更改时 {}）"},
    {"as of version {}, looked until {}\n", "依据版本 {}，推演至 {}\n"},
    {"  start now: {}\n", "  立即启动：{}\n"}, {"  start later: {}\n", "  稍后启动：{}\n"},
    {"  still wait then: {}\n", "  届时仍等待：{}\n"}, {"  are asked to leave: {}\n", "  被要求退出：{}\n"},
    {"and {} more\n", "另有 {} 个\n"}, {"and {} of others\n", "另有他人的 {} 个\n"},
    {"  turn of queue {}: {} of {} in its pool; as of version {}\n",
     "  队列 {} 的轮次：本资源池中第 {} 个，共 {} 个；依据版本 {}\n"},
    {"  starts: {}{}{}\n", "  启动：{}{}{}\n"}, {", {}", "，{}"}, {"; as of version {}", "；依据版本 {}"},
    // run
    {"tandem: job/{} is in queue {}\n", "tandem: job/{} 已进入队列 {}\n"},
    {"tandem: job/{} waits: {}\n", "tandem: job/{} 等待中：{}\n"},
    {"tandem: job/{} started\n", "tandem: job/{} 已启动\n"},
    {"tandem: job/{} started, start {}\n", "tandem: job/{} 已启动，第 {} 次\n"},
    {"tandem: job/{} {}: {}\n", "tandem: job/{} {}：{}\n"},
    {"\njob/{}: [c]ancel it (as Ctrl-C again does), [d]etach and let it run, or [g]o on? ",
     "\njob/{}：[c] 取消（再按一次 Ctrl-C 亦然），[d] 放手让它运行，[g] 继续？"},
    {"job/{} runs on; see: tandem logs -f job/{}\n", "job/{} 继续运行；查看：tandem logs -f job/{}\n"},
    {"job/{} is being cancelled\n", "job/{} 正在取消\n"},
};
// clang-format on

class Phrase {
  public:
    consteval Phrase(const char* en) : word_(place_of(en)) {}
    constexpr std::string_view in(codec::Language language) const {
        return language == codec::Language::zh ? word_table[word_].zh : word_table[word_].en;
    }

  private:
    static consteval std::size_t place_of(std::string_view en) {
        for (std::size_t i = 0; i < std::size(word_table); ++i)
            if (word_table[i].en == en) return i;
        throw "this label is not in the table of cli/words.h";
    }
    std::size_t word_;
};

// A header that comes from the name of a field: one that the table does not have stays as it is.
inline std::string header_in(codec::Language language, std::string_view header) {
    const auto* found = std::ranges::find(word_table, header, &Word::en);
    const bool translated = language == codec::Language::zh && found != std::end(word_table);
    return std::string(translated ? found->zh : header);
}

template <class... Args>
std::string say(codec::Language language, Phrase phrase, const Args&... args) {
    return fmt::vformat(phrase.in(language), fmt::make_format_args(args...));
}

}  // namespace tandem::cli

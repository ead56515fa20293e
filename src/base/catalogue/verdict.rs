//! What a verdict is called.

use crate::base::verdict::Verdict;

pub(super) const fn zh(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Answered => "已回答",
        Verdict::Command => "已执行命令",
        Verdict::Queued => "排队中",
        Verdict::Running => "处理中",
        Verdict::WaitingApproval => "等待审批",
        Verdict::Merged => "已与另一条消息合并处理",
        Verdict::Steered => "已交给正在执行的任务",
        Verdict::Stopped => "已被停止",
        Verdict::Busy => "排队已满，没有处理",
        Verdict::Duplicate => "平台重复投递，已忽略",
        Verdict::NotMentioned => "群消息没有 @ 我",
        Verdict::NotAllowed => "发送者或会话不在允许名单中",
        Verdict::Stale => "消息太旧，没有执行",
        Verdict::Filtered => "这类事件不触发处理",
        Verdict::Recalled => "消息已被撤回",
        Verdict::Refused => "被策略或预算拒绝",
        Verdict::InDoubt => "已发送，但无法确认是否送达",
        Verdict::Undeliverable => "多次重试后仍无法送达",
        Verdict::Failed => "处理失败",
        Verdict::NeverReceived => "没有收到过",
    }
}

pub(super) const fn en(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Answered => "Answered",
        Verdict::Command => "The command was carried out",
        Verdict::Queued => "Waiting for its turn",
        Verdict::Running => "Being worked on",
        Verdict::WaitingApproval => "Waiting for an approval",
        Verdict::Merged => "Answered together with another message",
        Verdict::Steered => "Handed to the task that was running",
        Verdict::Stopped => "Stopped by a person",
        Verdict::Busy => "Not done: the queue was full",
        Verdict::Duplicate => "Ignored: the platform delivered it again",
        Verdict::NotMentioned => "Nobody mentioned me in it",
        Verdict::NotAllowed => "The sender or the chat is not on my lists",
        Verdict::Stale => "Too old to act on",
        Verdict::Filtered => "Events of this kind start no work",
        Verdict::Recalled => "Taken back before the answer",
        Verdict::Refused => "Refused by policy or budget",
        Verdict::InDoubt => "Sent, but whether it arrived is not known",
        Verdict::Undeliverable => "Not delivered after many tries",
        Verdict::Failed => "Failed",
        Verdict::NeverReceived => "Never received",
    }
}

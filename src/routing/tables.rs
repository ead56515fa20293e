//! The patterns of the classifier. Each group of signals counts once, however often it occurs.
//!
//! `…` in the comments means anything in between on the same line.

/// Wrapping words in front of a command for an editor. The first that matches is removed, once.
/// The verbs after the wrapper are part of the command, except 输入 and 帮我.
pub(super) const WRAPPERS: [&str; 7] = [
    // 在/去/到 + editor + [里] + [输入 | 帮我]
    r"^(?:在|去|到)\s*(?:代码编辑器|编辑器|ide|vs\s?code|copilot|cursor)\s*[内里中上]?\s*(?:输入|帮我)?\s*",
    // 让/请/麻烦 + editor + [帮我]
    r"^(?:让|请|麻烦)\s*(?:代码编辑器|编辑器|ide|vs\s?code|copilot|cursor|agent)\s*(?:帮我|帮忙|来)?\s*",
    // [请/麻烦] + 在/到/去 + editor + [里] + [帮我]
    r"^(?:请|麻烦)\s*(?:在|到|去)\s*(?:代码编辑器|编辑器|ide|vs\s?code|copilot|cursor)\s*[里中内上]?\s*(?:帮我)?\s*",
    // [帮我/请] + 在/用 + editor + [里]
    r"^(?:帮我|请)?\s*(?:在|用)\s*(?:代码编辑器|编辑器|ide|vs\s?code|copilot|cursor)\s*[里中]?\s*",
    // ask Copilot to …
    r"^(?:please\s+)?(?:ask|tell|let|have|get)\s+(?:the\s+)?(?:editor|ide|vs\s?code|copilot|cursor|agent)\s+(?:to\s+)?",
    // in the IDE, …
    r"^(?:please\s+)?in\s+(?:the\s+)?(?:editor|ide|vs\s?code|copilot|cursor)\s*(?:,\s*|\s+)",
    // use the editor to …
    r"^(?:please\s+)?use\s+(?:the\s+)?(?:editor|ide|vs\s?code|copilot|cursor)\s+to\s+",
];

/// Words of work on code.
pub(super) const IDE_SIGNALS: [&str; 12] = [
    r"修改|修复|改一下|改成|\bfix\b|\brefactor\b|重构|优化.*代码",
    r"写一个|实现|\bimplement\b|创建.*文件|新建.*组件|添加.*功能",
    r"删除.*代码|移除|\bremove\b.*\bfrom\b|把.*去掉",
    r"调试|\bdebug\b|排查.*bug|解决.*报错|修.*error",
    r"\.(?:ts|js|tsx|jsx|py|go|rs|java|swift|vue|css|html|json)\b",
    r"\b(?:src|lib|components|pages|app)/",
    r"(?:函数|方法|接口|类|组件|模块|\bhook).{0,10}(?:改|加|删|写|重构|优化)",
    r"(?:改|加|删|写|重构|优化).{0,10}(?:函数|方法|接口|类|组件|模块|\bhook)",
    r"运行|执行|\brun\b.*\bcommand\b|\bexec\b|\bnpm\b|\byarn\b|\bpnpm\b|\bcargo\b|\bgo run\b|\bpython\b",
    r"编译|\bbuild\b|\bcompile\b|部署|\bdeploy\b",
    r"\bcommit\b|\bpush\b|\bpull\b|\bmerge\b|\bbranch\b|\brebase\b|\bcherry.?pick\b|\bstash\b|\bgit.?(?:log|status|diff|show|add|reset|checkout|switch|tag)\b",
    r"\breview\b.*代码|看看.*写得|检查.*实现",
];

/// Words of talking, explaining and the knowledge base.
pub(super) const BOT_SIGNALS: [&str; 9] = [
    r"知识库|\bknowledge\b.*\bbase\b|(?:搜索|查找|查询).*知识",
    r"\brecipes?\b|候选|\bcandidates?\b|\bsnippets?\b",
    r"冷启动|\bbootstrap\b|初始化.*项目",
    r"解释|\bexplain\b|帮我理解|什么意思|是什么",
    r"分析.*架构|项目.*结构|代码.*组织",
    r"总结|\bsummari[sz]e\b|概括|提取.*要点",
    r"翻译|翻成|\btranslate\b",
    r"聊聊|讨论|你觉得|建议|推荐",
    r"\bguard\b|规则|约束|\bviolation\b|违规",
];

/// Words of a question: they speak for the bot.
pub(super) const QUESTION: &str = r"怎么|如何|为什么|吗|什么|\bhow\b|\bwhy\b|\bwhat\b";

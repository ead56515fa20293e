//! The page's words in both languages.

/// A language of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Language {
    Chinese,
    #[default]
    English,
}

impl Language {
    /// What the address asks for, else what the browser prefers.
    pub(super) fn chosen(asked: Option<&str>, accepted: Option<&str>) -> Self {
        match asked {
            Some("zh") => return Self::Chinese,
            Some("en") => return Self::English,
            _ => {}
        }
        let languages = accepted.unwrap_or_default().split(',').map(str::trim);
        let first = languages.map(str::to_ascii_lowercase).find_map(|language| {
            if language.starts_with("zh") {
                return Some(Self::Chinese);
            }
            language.starts_with("en").then_some(Self::English)
        });
        first.unwrap_or_default()
    }

    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Chinese => "zh",
            Self::English => "en",
        }
    }

    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::Chinese => "zh-CN",
            Self::English => "en",
        }
    }

    pub(super) fn words(self) -> &'static Words {
        match self {
            Self::Chinese => &CHINESE,
            Self::English => &ENGLISH,
        }
    }
}

macro_rules! words {
    ($($name:ident: $chinese:literal, $english:literal;)*) => {
        /// Every word and sentence of the page.
        #[derive(Debug)]
        pub(super) struct Words {
            $(pub(super) $name: &'static str,)*
        }

        const CHINESE: Words = Words { $($name: $chinese,)* };
        const ENGLISH: Words = Words { $($name: $english,)* };
    };
}

words! {
    title: "Larkspur 演练场", "Larkspur playground";
    tagline: "本地模拟的飞书", "a local Feishu to try things in";
    i_am: "我是", "I am";
    chats: "会话", "Chats";
    new_user: "+ 新建用户", "+ New user";
    new_chat: "+ 新建会话", "+ New chat";
    user_name: "用户名", "Name of the user";
    group_name: "群名称", "Name of the group";
    make: "创建", "Create";
    make_group: "创建群聊", "Create group";
    private_chat: "与机器人私聊", "Private chat with the bot";
    members: "成员", "Members";
    back: "‹ 返回", "‹ Back";
    choose: "选择左边的会话，或新建一个。", "Choose a chat on the left, or make one.";
    start_title: "还没有人", "Nobody is here yet";
    start_text: "创建两个示例用户、一个私聊和一个群，就可以开始聊天。",
        "Make two example users, a private chat and a group, and start talking.";
    start: "开始", "Start";
    nothing_title: "还没有消息", "No messages yet";
    nothing_text: "在下面输入消息，回车发送；在群里勾选 @机器人 才会得到回答。可以点一个例子：",
        "Type below and press Enter. In a group the bot answers when it is mentioned. Or click an example:";
    example_1: "为什么机器人没有回答？", "Why is the bot silent?";
    example_2: "怎么备份数据？", "How do I back up the data?";
    example_3: "怎么写一条知识？", "How do I write a recipe?";
    earlier: "更早的消息没有显示。", "Earlier messages are not shown.";
    recalled: "消息已撤回", "This message was recalled";
    edited: "已编辑", "edited";
    streaming: "生成中…", "writing…";
    reply: "回复", "Reply";
    thread: "话题", "Thread";
    in_thread: "在话题中回复", "Reply in thread";
    replies: "条回复", "in the thread";
    react: "表情", "React";
    recall: "撤回", "Recall";
    path: "路径", "Path";
    answers_to: "回复", "Reply to";
    to_bot: "@机器人", "@bot";
    mention: "@ 提到…", "@ Mention…";
    everyone: "所有人", "everyone";
    image: "图片", "Image";
    file: "文件", "File";
    send: "发送", "Send";
    write: "输入消息，Enter 发送，Shift+Enter 换行", "Write a message. Enter sends, Shift+Enter breaks the line";
    close: "关闭", "Close";
    no_app: "机器人没有事件地址，没有人会收到消息。", "The bot has no event address: nobody is told of messages.";
    push_failed: "推送失败", "A push failed";
    no_answer: "无应答", "no answer";
    next_try: "下次重试", "next try";
    now: "模拟时间", "Simulated time";
    minute: "+1 分钟", "+1 min";
    hour: "+1 小时", "+1 h";
    nine: "到下一个 9:00", "to next 9:00";
    lost: "没有连上演练场。", "The playground does not answer.";
    pressed: "已按下。", "Pressed.";
    press_failed: "客户端会显示错误", "The client shows error";
    path_title: "消息的路径", "The way of the message";
    unknown_verdict: "没有结论", "No verdict";
    no_daemon: "不知道守护进程的地址，只显示平台看到的。", "No daemon is known here: this is what the platform saw.";
    daemon_silent: "守护进程没有回答，只显示平台看到的。", "The daemon did not answer: this is what the platform saw.";
    of_question: "这条回答所属问题的路径", "The way of the question that this answers";
    side_push: "推送", "push";
    side_daemon: "守护进程", "daemon";
    side_call: "接口调用", "API call";
    nothing_seen: "平台上没有关于它的记录。", "The platform has no record of it.";
    too_large_image: "图片太大，最多 10 MB。", "The image is too large: at most 10 MB.";
    too_large_file: "文件太大，最多 30 MB。", "The file is too large: at most 30 MB.";
    too_large: "请求太大。", "The request is too large.";
    empty_file: "文件是空的。", "The file is empty.";
    not_an_image: "不是 PNG、JPEG、GIF 或 WebP 图片。", "Not a PNG, JPEG, GIF or WebP image.";
    empty_text: "消息是空的。", "The message is empty.";
    too_long: "文字太长。", "The text is too long.";
    bad_name: "名称只能由字母、数字、空格和 _ - . 组成，最多 40 个字符。",
        "A name has letters, digits, spaces and _ - . only, at most 40 characters.";
    taken: "这个名称已被使用。", "This name is taken.";
    not_yours: "只能撤回自己的消息。", "You can take back your own messages only.";
    unknown: "没有这样的用户、会话或消息。", "There is no such user, chat or message.";
    not_allowed: "不允许这样做。", "That is not allowed.";
}

//! What `larkspur init` says, in both languages.

use crate::base::Locale;

/// One thing to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    Greeting,
    Bot,
    BotPrompt,
    Region,
    RegionPrompt,
    AppId,
    AppIdPrompt,
    AppSecret,
    AppSecretPrompt,
    Transport,
    TransportPrompt,
    EncryptKey,
    EncryptKeyPrompt,
    Token,
    TokenPrompt,
    Model,
    ModelPrompt,
    ModelNamePrompt,
    BaseUrlPrompt,
    ModelKey,
    ModelKeyPrompt,
    Users,
    UsersPrompt,
    Admins,
    AdminsPrompt,
    Digest,
    DigestPrompt,
    WrongName,
    NameTaken,
    WrongWord,
    WrongAppId,
    WrongUrl,
    WrongEntry,
    WrongChat,
    Empty,
    Checked,
    Variables,
    NextWebhook,
    NextSocket,
    NextTerminal,
}

impl Words {
    /// The words themselves.
    pub(super) fn text(self, locale: Locale) -> &'static str {
        let row = TABLE.iter().find(|(words, _, _)| *words == self);
        row.map_or("", |(_, zh, en)| match locale {
            Locale::ZhCn => zh,
            Locale::EnUs => en,
        })
    }
}

/// Every sentence in Chinese and in English.
const TABLE: [(Words, &str, &str); 40] = [
    (
        Words::Greeting,
        "这里会问几个问题，然后写好配置文件。直接回车使用方括号里的默认值；Ctrl-C 放弃，什么都不会写。\n",
        "A few questions, then the configuration is written. An empty line takes what stands in\n\
                 brackets; Ctrl-C gives up, and nothing is written.\n",
    ),
    (
        Words::Bot,
        "机器人的名字：小写字母、数字、- 和 _，它也是回调地址的一部分。",
        "The bot's name: lower-case letters, digits, - and _. It is part of the event URL, too.",
    ),
    (Words::BotPrompt, "名字", "Name"),
    (
        Words::Region,
        "应用在哪里：feishu（飞书，中国大陆）或 lark（其他地区的 Lark）。",
        "Where the app is: feishu (in mainland China), or lark (everywhere else).",
    ),
    (Words::RegionPrompt, "feishu 或 lark", "feishu or lark"),
    (
        Words::AppId,
        "App ID：开发者后台 → 你的企业自建应用 → 凭证与基础信息，以 cli_ 开头。\n还没有应用就留空，\
                 机器人先只在终端里回答，以后可以再运行一次。",
        "App ID: developer console → your custom app → Credentials & Basic Info; begins with cli_.\n\
                 Leave it empty if there is no app yet: the bot then answers in the terminal alone, and you\n\
                 can run this again.",
    ),
    (Words::AppIdPrompt, "App ID", "App ID"),
    (
        Words::AppSecret,
        "App Secret：同一页。填在这里会写入 secrets/ 里只有你能读的文件；留空则从环境变量读取。",
        "App Secret: on the same page. What you type goes into a file below secrets/ that only you\n\
                 can read; empty: it will be read from the environment.",
    ),
    (Words::AppSecretPrompt, "App Secret（不显示）", "App Secret (not shown)"),
    (
        Words::Transport,
        "事件怎么进来：websocket（长连接，不需要公网地址，只要能访问外网）或 webhook（飞书把事件发到你的 HTTPS \
                 地址）。",
        "How events come in: websocket (the long connection: no public address is needed, the daemon\n\
                 calls out) or webhook (the platform posts to an HTTPS address of yours).",
    ),
    (Words::TransportPrompt, "websocket 或 webhook", "websocket or webhook"),
    (
        Words::EncryptKey,
        "Encrypt Key：事件与回调 → 加密策略。事件用它加密和签名，没有它机器人不会启动。",
        "Encrypt Key: Events & Callbacks → Encryption Strategy. Events are encrypted and signed with\n\
                 it; without it the bot does not start.",
    ),
    (Words::EncryptKeyPrompt, "Encrypt Key（不显示）", "Encrypt Key (not shown)"),
    (Words::Token, "Verification Token：同一页。", "Verification Token: on the same page."),
    (Words::TokenPrompt, "Verification Token（不显示）", "Verification Token (not shown)"),
    (
        Words::Model,
        "模型：none（只用知识库回答）、openai、anthropic、gemini、deepseek、ollama，\n或 other（任何兼容 OpenAI \
                 的服务）。",
        "Model: none (the knowledge base alone answers), openai, anthropic, gemini, deepseek, ollama,\n\
                 or other (any server that speaks OpenAI's chat completions).",
    ),
    (Words::ModelPrompt, "模型提供方", "Provider"),
    (Words::ModelNamePrompt, "模型名", "Model name"),
    (Words::BaseUrlPrompt, "服务地址（包含 /v1）", "Server (with /v1)"),
    (
        Words::ModelKey,
        "模型的 API key；留空则从环境变量读取。",
        "The model's API key; empty: it will be read from the environment.",
    ),
    (Words::ModelKeyPrompt, "API key（不显示）", "API key (not shown)"),
    (
        Words::Users,
        "谁可以使用：@tenant（本企业所有成员），或用逗号分开的 open_id（ou_…）、@department/…、@group/…。",
        "Who may use it: @tenant (everybody of your own tenant), or open ids (ou_…),\n\
                 @department/…, @group/…, with commas between them.",
    ),
    (Words::UsersPrompt, "使用者", "Users"),
    (
        Words::Admins,
        "管理员的 open_id（ou_…），用逗号分开；可以留空。",
        "Open ids (ou_…) of admins, with commas between them; may be empty.",
    ),
    (Words::AdminsPrompt, "管理员", "Admins"),
    (
        Words::Digest,
        "每个工作日早上 9 点把知识库的变化发到一个群：填群的 chat_id（oc_…）；留空则以后再说。",
        "A digest of what changed in the knowledge base, on workdays at nine: the chat's id (oc_…);\n\
                 empty: not now.",
    ),
    (Words::DigestPrompt, "群", "Chat"),
    (Words::WrongName, "只能有小写字母、数字、- 和 _", "only lower-case letters, digits, - and _"),
    (
        Words::NameTaken,
        "这个名字的文件已经存在；换个名字，或者用 --force 重新开始（旧文件会保留）",
        "there is a file of this name; take another, or start again with --force, which keeps the old one",
    ),
    (Words::WrongWord, "不是可选的值", "this is none of the choices"),
    (
        Words::WrongAppId,
        "App ID 以 cli_ 开头，后面是字母和数字",
        "an App ID is cli_ with letters and digits behind it",
    ),
    (
        Words::WrongUrl,
        "应该是 http:// 或 https:// 开头的地址",
        "it begins with http:// or https://",
    ),
    (
        Words::WrongEntry,
        "应该是 @tenant、*、ou_…、on_…、@department/… 或 @group/…",
        "it is @tenant, *, ou_…, on_…, @department/… or @group/…",
    ),
    (Words::WrongChat, "chat_id 以 oc_ 开头", "a chat's id begins with oc_"),
    (Words::Empty, "不能为空", "it cannot be empty"),
    (Words::Checked, "检查（larkspur check）：", "The check (larkspur check):"),
    (
        Words::Variables,
        "启动前还要设置这些环境变量（.env.example 里也有）：",
        "Before it starts, these variables must be set (.env.example lists them, too):",
    ),
    (
        Words::NextWebhook,
        "接下来，在开发者后台（每一步都要在发布版本之后才生效）：\n  1. 添加应用能力 → 机器人。\n  2. \
                 权限管理：im:message.p2p_msg:readonly、im:message.group_at_msg:readonly、\n     im:message:send_as_bot、\
                 im:message.reactions:write_only、cardkit:card:write；\n     要读引用和文件再加 im:message:readonly。\n  3. 启动 larkspur \
                 run，再到 事件与回调 → 事件配置 保存请求地址：\n     https://<你的域名>/lark/{bot}/events\n     \
                 并添加事件 im.message.receive_v1（还有 im.message.recalled_v1、\n     im.chat.member.bot.added_v1、\
                 im.chat.member.bot.deleted_v1、\n     im.chat.access_event.bot_p2p_chat_entered_v1）；回调配置填同一个地址，添加回调\n     card.action.trigger（按钮）。\n  4. 版本管理与发布：创建版本并通过审核。\n  5. \
                 把机器人加进群，发送 @机器人 /ping。",
        "Next, in the developer console (nothing there takes effect before a version is published):\n\
                 \x20 1. Add the ability: Bot.\n\
                 \x20 2. Permissions: im:message.p2p_msg:readonly, im:message.group_at_msg:readonly,\n\
                 \x20    im:message:send_as_bot, im:message.reactions:write_only, cardkit:card:write;\n\
                 \x20    to read quotes and files also\n\
                 \x20    im:message:readonly.\n\
                 \x20 3. Start larkspur run, then save the request URL under Events & Callbacks → Event\n\
                 \x20    Configuration:\n\
                 \x20    https://<your host>/lark/{bot}/events\n\
                 \x20    and add the event im.message.receive_v1 (also im.message.recalled_v1,\n\
                 \x20    im.chat.member.bot.added_v1, im.chat.member.bot.deleted_v1,\n\
         \x20    im.chat.access_event.bot_p2p_chat_entered_v1). Under Callback Configuration save the same URL\n\
         \x20    and add card.action.trigger (buttons).\n\
                 \x20 4. Version Management & Release: create a version and have it approved.\n\
                 \x20 5. Add the bot to a group and send @bot /ping.",
    ),
    (
        Words::NextSocket,
        "接下来，在开发者后台（每一步都要在发布版本之后才生效）：\n  1. 添加应用能力 → 机器人。\n  2. \
                 权限管理：im:message.p2p_msg:readonly、im:message.group_at_msg:readonly、\n     im:message:send_as_bot、\
                 im:message.reactions:write_only、cardkit:card:write；\n     要读引用和文件再加 \
                 im:message:readonly。\n  3. 先启动 larkspur run（长连接建立之后才能保存），再到 事件与回调 → \
                 事件配置，\n     订阅方式选「使用长连接接收事件」，添加事件 im.message.receive_v1（还有\n     \
                 im.message.recalled_v1、im.chat.member.bot.added_v1、\n     im.chat.member.bot.deleted_v1、\
                 im.chat.access_event.bot_p2p_chat_entered_v1）；\n     回调配置同样选长连接，添加回调 \
                 card.action.trigger（按钮）。\n  4. 版本管理与发布：创建版本并通过审核。\n  5. \
                 把机器人加进群，发送 @机器人 /ping。",
        "Next, in the developer console (nothing there takes effect before a version is published):\n\
                 \x20 1. Add the ability: Bot.\n\
                 \x20 2. Permissions: im:message.p2p_msg:readonly, im:message.group_at_msg:readonly,\n\
                 \x20    im:message:send_as_bot, im:message.reactions:write_only, cardkit:card:write;\n\
                 \x20    to read quotes and files also\n\
                 \x20    im:message:readonly.\n\
                 \x20 3. Start larkspur run first (the console saves the choice only while it is connected),\n\
                 \x20    then choose the long connection under Events & Callbacks → Event Configuration,\n\
                 \x20    and add the event im.message.receive_v1 (also im.message.recalled_v1,\n\
                 \x20    im.chat.member.bot.added_v1, im.chat.member.bot.deleted_v1,\n\
                 \x20    im.chat.access_event.bot_p2p_chat_entered_v1). Choose it under Callback\n\
                 \x20    Configuration, too, and add card.action.trigger (buttons).\n\
                 \x20 4. Version Management & Release: create a version and have it approved.\n\
                 \x20 5. Add the bot to a group and send @bot /ping.",
    ),
    (
        Words::NextTerminal,
        "试一试：larkspur ask \"怎么和机器人一起工作？\"",
        "Try it: larkspur ask \"How does this team work with the bot?\"",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_is_there_in_both_languages() {
        for (words, _, _) in TABLE {
            let (zh, en) = (words.text(Locale::ZhCn), words.text(Locale::EnUs));
            assert!(!zh.is_empty() && !en.is_empty(), "{words:?}");
        }
    }

    #[test]
    fn the_steps_that_follow_name_the_place_of_the_event_url_in_both_languages() {
        for locale in [Locale::ZhCn, Locale::EnUs] {
            for next in [Words::NextWebhook, Words::NextSocket] {
                let next = next.text(locale);
                for word in ["im.message.receive_v1", "im:message:send_as_bot"] {
                    assert!(next.contains(word), "{word} in {next}");
                }
            }
            assert!(Words::NextWebhook.text(locale).contains("/lark/{bot}/events"));
            assert!(!Words::NextSocket.text(locale).contains("https://"));
        }
    }
}

use super::*;

fn on_lark(text: &str) -> Classified {
    Classifier::default().classify(text, Channel::Lark)
}

fn ide(command: &str) -> Intent {
    Intent::IdeAgent { command: command.to_owned() }
}

fn system(command: Command) -> Intent {
    Intent::System { command, argument: String::new() }
}

#[test]
fn every_pattern_of_the_tables_compiles() {
    assert!(Classifier::default().rules().is_some());
}

#[test]
fn a_blank_message_is_for_the_bot() {
    assert_eq!(on_lark(" \n ").intent, Intent::BotAgent);
}

#[test]
fn a_wrapper_is_removed_once_and_the_real_verb_stays() {
    let table = [
        ("在编辑器里输入加一个导出菜单", "加一个导出菜单"),
        ("到 VSCode 中写一段登录校验", "写一段登录校验"),
        ("去IDE里执行单元测试", "执行单元测试"),
        ("在代码编辑器里帮我补注释", "补注释"),
        ("让 Copilot 帮我重构 auth 模块", "重构 auth 模块"),
        ("麻烦 IDE 帮忙跑一下构建", "跑一下构建"),
        ("请编辑器来补全类型", "补全类型"),
        ("让 Agent 查一下内存泄漏", "查一下内存泄漏"),
        ("请在IDE里帮我换成深色", "换成深色"),
        ("麻烦到编辑器中把标题居中", "把标题居中"),
        ("帮我在IDE里加日志", "加日志"),
        ("用Copilot补测试", "补测试"),
        ("ask Copilot to add a menu", "add a menu"),
        ("In the IDE, rename foo", "rename foo"),
        ("please use the editor to sort the imports", "sort the imports"),
    ];
    for (text, command) in table {
        let classified = on_lark(text);
        assert_eq!(classified.intent, ide(command), "{text}");
        assert!((classified.confidence - 0.95).abs() < 1e-9, "{text}");
    }
}

#[test]
fn a_wrapper_with_nothing_in_it_is_no_wrapper() {
    assert_eq!(on_lark("让Copilot").intent, Intent::BotAgent);
    assert_eq!(on_lark("在编辑器里").intent, Intent::BotAgent);
}

#[test]
fn a_command_counts_behind_a_wrapper_too() {
    assert_eq!(on_lark("让copilot帮我看看状态").intent, system(Command::Status));
}

#[test]
fn commands_are_never_found_inside_a_sentence() {
    assert_eq!(on_lark("/status").intent, system(Command::Status));
    for text in ["git status 怎么用", "解释状态机", "clear code 是什么", "分析设计模式"]
    {
        assert_eq!(on_lark(text).intent, Intent::BotAgent, "{text}");
    }
}

#[test]
fn signals_decide_from_two_groups_on() {
    let table = [
        ("修改 login.ts", ide("修改 login.ts"), 0.8, Method::Rule),
        ("重构 auth 模块", ide("重构 auth 模块"), 0.8, Method::Rule),
        ("在 src/a.ts 里实现一个函数", ide("在 src/a.ts 里实现一个函数"), 0.9, Method::Rule),
        ("搜索知识库里的 recipe", Intent::BotAgent, 0.8, Method::Rule),
        ("运行 npm test", ide("运行 npm test"), 0.6, Method::Weak),
        ("翻译这段文字", Intent::BotAgent, 0.6, Method::Weak),
        ("你好", Intent::BotAgent, 0.5, Method::Fallback),
    ];
    for (text, intent, confidence, method) in table {
        let classified = on_lark(text);
        assert_eq!(classified.intent, intent, "{text}");
        assert!((classified.confidence - confidence).abs() < 1e-9, "{text}: {classified:?}");
        assert_eq!(classified.method, method, "{text}");
    }
}

#[test]
fn a_question_word_speaks_for_the_bot() {
    assert_eq!(on_lark("API 接口怎么写").intent, Intent::BotAgent);
}

#[test]
fn the_prefixes_count_on_their_channel_only() {
    assert_eq!(on_lark("$ git log").intent, Intent::RemoteExec { command: "git log".to_owned() });
    assert_eq!(on_lark(">").intent, ide(""));
    let classifier = Classifier::default();
    assert_eq!(classifier.classify("> quoted", Channel::Cli).intent, Intent::BotAgent);
}

#[test]
fn the_short_way_to_tell_a_command_agrees_with_the_whole_one() {
    let classifier = Classifier::default();
    for text in [
        "/status",
        " /new ",
        "/foo",
        "／help",
        "停止",
        "请查看状态。",
        "stop",
        "在 IDE 里停止",
        "",
        "hello",
        "$ ls",
        "> rename foo",
        "帮我重构这个函数",
        "What is a /status page?",
    ] {
        for channel in [Channel::Lark, Channel::Cli] {
            let intent = classifier.classify(text, channel).intent;
            let is_control =
                matches!(intent, Intent::System { .. } | Intent::UnknownCommand { .. });
            assert_eq!(classifier.is_control(text, channel), is_control, "{text}");
        }
    }
    assert!(classifier.is_control("在 IDE 里停止", Channel::Lark), "a wrapped command is one, too");
}

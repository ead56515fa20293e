//! How answers look: cards, posts, texts; who is mentioned in them; what becomes of what the platform
//! does not take.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use larkspur::base::{BotName, ChatId, Clock, Secret, SystemClock};
use larkspur::channels::lark::{
    EventsVia, LarkBot, LarkBotSettings, LarkBots, LarkDeps, LarkOutlet, Limiter, Look,
};
use larkspur::envelope::{Channel, Delivery, Destination, Draft, Form, Growing, Operation, Outlet};
use larkspur::net::{HttpFactory, HttpSettings};
use larkspur::playground::{
    AppSettings, Endpoint, FaultAction, FaultRule, Playground, RateLimits, Say, Settings,
};
use larkspur::task::TaskSet;
use larkspur::telemetry::CallMeter;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::llm_script::{Mode, Turn};
use crate::stage::{Options, Stage};
use crate::talk::{bot_lines, text};

/// The channel's way out for the playground's app, for sends that the daemon itself would not make.
pub(crate) fn outlet(sim: &Playground) -> LarkOutlet {
    let app = AppSettings::default();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let deps = LarkDeps {
        client: HttpFactory::new(HttpSettings::default()).client().unwrap(),
        limiter: Limiter::new(Arc::clone(&clock)),
        clock,
        tasks: TaskSet::new("test", CancellationToken::new()),
        meter: CallMeter::default(),
    };
    let settings = LarkBotSettings {
        bot: BotName::new("assistant"),
        app_id: app.app_id,
        app_secret: Secret::new(app.app_secret),
        encrypt_key: Secret::new(app.encrypt_key),
        verification_token: Secret::new(app.verification_token),
        base_url: sim.base_url(),
        events: EventsVia::Webhook,
        look: Look { form: Form::Card, live: true },
        picture_hosts: Vec::new(),
    };
    let bot = Arc::new(LarkBot::new(settings, &deps).unwrap());
    LarkOutlet::new(Arc::new(LarkBots::new([bot])))
}

const MARKDOWN: &str =
    "# Head\n\nSome **bold** words, 中文 and `code`.\n\n| a | b |\n|---|---|\n| c | d |";

/// A stage whose model says `said`, and the first refusals of replies.
async fn refusing(said: &str, codes: &[i64]) -> (Stage, String, String) {
    let stage = Stage::new().await;
    stage.model.set_mode(Mode::script([Turn::text(said)]));
    for code in codes {
        let action = FaultAction::Refuse { status: 400, code: *code, reset_s: None };
        stage.sim.fault(FaultRule::next(Endpoint::Reply, 1, action));
    }
    let chat = stage.sim.p2p("ann").chat_id;
    let question = stage.sim.says("ann", &chat, "how does it look?").unwrap();
    (stage, chat, question)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_in_one_form_is_sent_in_the_next_without_a_word_lost() {
    for (refusals, form) in [(0, "interactive"), (1, "post"), (2, "text")] {
        let (stage, chat, question) = refusing(MARKDOWN, &vec![230_099; refusals]).await;
        stage.verdict(&question, "answered").await;
        let seen = stage.sim.visible(&chat).pop().unwrap();
        assert_eq!(seen.msg_type, form);
        for word in ["Head", "bold", "中文", "code", "a", "b", "c", "d"] {
            assert!(seen.text.contains(word), "{form} {word}: {}", seen.text);
        }
        assert_eq!(bot_lines(&stage, &chat).len(), 1);
        let uuids: Vec<_> =
            stage.sim.calls(Endpoint::Reply).into_iter().map(|call| call.uuid).collect();
        let mut different = uuids.clone();
        different.dedup();
        assert_eq!(uuids, different, "each form has a key of its own");
        let why = stage.why(&question);
        assert_eq!(text(&why, "reason").contains("was refused"), refusals > 0, "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_sends_should_never_meet_leads_to_the_next_form_as_well() {
    for code in [200_860, 200_850, 300_309, 300_317, 231_015] {
        let (stage, chat, question) = refusing(MARKDOWN, &[code]).await;
        stage.verdict(&question, "answered").await;
        let seen = stage.sim.visible(&chat).pop().unwrap();
        assert_eq!((seen.msg_type.as_str(), seen.from_bot), ("post", true), "{code}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_nobody_can_see_is_none() {
    let (stage, chat, question) = refusing("\u{a0}\u{200b}\u{3000}\n\u{feff}", &[]).await;
    stage.verdict(&question, "failed").await;
    let lines = bot_lines(&stage, &chat);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].chars().any(char::is_alphabetic), "an apology: {lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_in_every_form_becomes_a_sentence_that_says_so() {
    let (stage, chat, question) = refusing(MARKDOWN, &[230_099; 3]).await;
    stage.verdict(&question, "failed").await;
    let lines = bot_lines(&stage, &chat);
    assert_eq!(lines.len(), 1);
    assert!(!lines[0].contains("bold"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_takes_part_is_mentioned_by_name_and_nobody_else() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann", "ben", "eve"]).chat_id;
    let ben = stage.sim.user("ben");
    let said = format!("@{} please look, @eve need not, @all not at all", ben.name);
    stage.model.set_mode(Mode::script([Turn::text(&said)]));
    let say = Say { mention_bot: true, ..Say::new("ann", &group, "who looks? @{ben}") };
    let question = stage.sim.say(&say).unwrap();
    stage.verdict(&question, "answered").await;
    let answer = stage.answers(&question).await.remove(0);
    assert_eq!(answer.mentions, std::slice::from_ref(&ben.name), "{answer:#?}");
    assert!(!answer.mentions_all);
    let card = answer.card.unwrap().json.to_string();
    assert!(card.contains(&format!("<at id={}></at>", ben.open_id)), "{card}");
    assert_eq!(card.matches("<at").count(), 1, "{card}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_is_mentioned_though_no_event_tells_their_name() {
    let stage = Stage::new().await;
    let group = stage.sim.group("team", &["ann"]).chat_id;
    let ann = stage.sim.user("ann");
    stage.model.set_mode(Mode::script([Turn::text(&format!("@{} here it is", ann.name))]));
    let say = Say { mention_bot: true, ..Say::new("ann", &group, "where is it?") };
    let question = stage.sim.say(&say).unwrap();
    stage.verdict(&question, "answered").await;
    let answer = stage.answers(&question).await.remove(0);
    assert_eq!(answer.mentions, [ann.name], "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_of_posts_or_texts_sends_those() {
    for (form, kind) in [("post", "post"), ("text", "text")] {
        let mut stage = Stage::set(Options::default()).await;
        stage.edit_bot("[lark]", &format!("[lark]\nrender = \"{form}\""));
        stage.start(&[]).await;
        stage.model.set_mode(Mode::script([Turn::text(MARKDOWN)]));
        let chat = stage.sim.p2p("ann").chat_id;
        let question = stage.sim.says("ann", &chat, "how?").unwrap();
        let answers = stage.answers(&question).await;
        assert_eq!(answers[0].msg_type, kind);
    }
}

/// Markdown of every kind, finished or not.
fn markdown_text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        4 => "[a-z]{1,8}",
        2 => "[一-龥]{1,5}",
        1 => prop::sample::select(vec![
            "**bold**", "*it*", "~~gone~~", "`x < y`", "<at id=all></at>", "<font color='red'>",
            "[link](https://x.example/p)", "[file](src/a.rs)", "![pic](https://x.example/a.png)",
            "![](img_v3_none)", "\"q\\\"", ":OK:", "~x~", "&lt;", "``", "[", "](", "<person id=ou_x>",
            "👩‍👩‍👧", "<https://x.example>", "@ann", "$x$", "\\*", "|",
        ]).prop_map(str::to_owned),
    ];
    let line = prop::collection::vec(word, 1..12).prop_map(|words| words.join(" "));
    let row = prop::collection::vec("[a-z<]{0,6}", 1..6)
        .prop_map(|cells| format!("| {} |", cells.join(" | ")));
    let table = (row.clone(), prop::collection::vec(row, 1..30)).prop_map(|(head, rows)| {
        format!("{head}\n|{}\n{}", "---|".repeat(head.matches('|').count() - 1), rows.join("\n"))
    });
    let block = prop_oneof![
        4 => line.clone(),
        1 => line.clone().prop_map(|line| format!("# {line}")),
        1 => line.clone().prop_map(|line| format!("- {line}\n    - {line}\n1. {line}")),
        1 => line.clone().prop_map(|line| format!("> {line}\n> > {line}")),
        1 => line.clone().prop_map(|line| format!("```rust\n{line}\n```")),
        1 => line.clone().prop_map(|line| format!("<div>\n{line}\n</div>")),
        1 => Just("```".to_owned()),
        1 => Just("---".to_owned()),
        2 => table,
    ];
    prop::collection::vec(block, 1..20).prop_map(|blocks| blocks.join("\n\n"))
}

/// Every card that is made is one that the platform takes: the playground checks them as it does.
#[test]
fn every_card_that_is_made_is_taken() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let sim = runtime
        .block_on(Playground::start(Settings::default(), CancellationToken::new(), clock))
        .unwrap();
    sim.switch(|switches| switches.rate_limits = RateLimits::Off);
    let outlet = outlet(&sim);
    let bot = BotName::new("assistant");
    let chats: Vec<String> =
        (0..40).map(|number| sim.group(&format!("g{number}"), &["ann"]).chat_id).collect();
    let count = std::cell::Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig { cases: 200, ..ProptestConfig::default() });
    let outcome = runner.run(&markdown_text(), |text| {
        let number = count.get() + 1;
        count.set(number);
        let chat = ChatId::new(chats[number % chats.len()].as_str());
        let people: Arc<[_]> =
            Arc::from([("ann".to_owned(), larkspur::base::UserId::new(sim.user("ann").open_id))]);
        let mut destination = Destination::reply(
            bot.clone(),
            Channel::Lark,
            chat,
            larkspur::base::MessageId::new("om_none"),
        );
        destination.reply_to = None;
        let deliver = |operation: Operation, what: &str| {
            let uuid = format!("{number}-{what}");
            let delivery = Delivery {
                people: Arc::clone(&people),
                ..Delivery::of(bot.clone(), operation, uuid)
            };
            runtime
                .block_on(outlet.deliver(&delivery))
                .map_err(|error| TestCaseError::fail(format!("{what}: {error}: {text}")))
        };
        for form in [Form::Card, Form::Post] {
            if outlet.text_bytes(&text) > outlet.text_bytes_max() {
                break;
            }
            let (destination, text) = (destination.clone(), text.clone());
            deliver(
                Operation::Create { destination, text, form, card: None },
                &format!("{form:?}"),
            )?;
        }
        // The same while it grows, at a random place and at the end.
        let half: String = text.chars().take(text.chars().count() / 2).collect();
        let draft = |text: &str| Draft {
            title: "1 step".to_owned(),
            steps: vec!["`x` y".to_owned()],
            text: text.to_owned(),
        };
        let growth = deliver(Operation::Prepare { draft: draft(&half) }, "prepare")?.id;
        let growing = Growing::new(&growth, 0, 1);
        deliver(Operation::Grow { growing, draft: draft(&text), only_text: false }, "grow")?;
        let growing = Growing::last(&growth, 0);
        deliver(Operation::Finalise { growing, destination, draft: draft(&text) }, "finalise")?;
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}\n{runner}");
    }
}

/// The smallest PNG: a signature and the head of a picture of one pixel.
fn png() -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR".to_vec();
    bytes.extend([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde]);
    bytes
}

/// A server that gives a picture under `/a.png`, leads elsewhere under `/moved.png`, and counts.
async fn picture_server(asked: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            asked.fetch_add(1, Ordering::SeqCst);
            let mut request = vec![0; 4_096];
            let read = stream.read(&mut request).await.unwrap();
            let is_there = request[..read].starts_with(b"GET /a.png");
            let head = if is_there {
                format!("200 OK\r\nContent-Type: image/png\r\nContent-Length: {}", png().len())
            } else {
                "302 Found\r\nLocation: /a.png\r\nContent-Length: 0".to_owned()
            };
            let mut answer = format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n").into_bytes();
            answer.extend(if is_there { png() } else { Vec::new() });
            stream.write_all(&answer).await.unwrap();
        }
    };
    TaskSet::new("test", CancellationToken::new()).spawn("pictures", serve);
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn pictures_of_hosts_that_the_operator_names_are_shown_and_all_others_are_links() {
    let asked = Arc::new(AtomicUsize::new(0));
    let host = picture_server(Arc::clone(&asked)).await;
    let said = format!(
        "![plan](http://{host}/a.png)\n\n![moved](http://{host}/moved.png)\n\n\
         ![other](http://127.0.0.1:9/a.png)\n\n`![code](http://{host}/a.png)`"
    );
    for (hosts, fetched) in [(format!("[\"{host}\"]"), 2), ("[]".to_owned(), 0)] {
        asked.store(0, Ordering::SeqCst);
        let mut stage = Stage::set(Options::default()).await;
        stage.edit_bot("[lark]", &format!("[lark]\npicture_hosts = {hosts}"));
        stage.start(&[]).await;
        stage.model.set_mode(Mode::script([Turn::text(&said)]));
        let chat = stage.sim.p2p("ann").chat_id;
        let question = stage.sim.says("ann", &chat, "show me").unwrap();
        stage.verdict(&question, "answered").await;
        let answer = stage.answers(&question).await.remove(0);
        let card = answer.card.unwrap().json.to_string();
        assert_eq!(asked.load(Ordering::SeqCst), fetched, "no redirect is followed");
        assert_eq!(stage.sim.calls(Endpoint::UploadImage).len(), fetched / 2);
        assert_eq!(card.contains("![plan](img_"), fetched > 0, "{card}");
        assert!(card.contains(&format!("[moved](http://{host}/moved.png)")), "{card}");
        assert!(card.contains("[other](http://127.0.0.1:9/a.png)"), "{card}");
        assert_eq!(answer.msg_type, "interactive");
    }
}

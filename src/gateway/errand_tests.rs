//! Errands, and questions on buttons: work that begins with no message.

use super::*;
use crate::gateway::cards::kept_card;

fn in_the_terminal() -> Destination {
    Destination {
        bot: BotName::new("b"),
        channel: Channel::Cli,
        chat: ChatId::new("terminal"),
        reply_to: None,
        in_thread: false,
        thread: None,
    }
}

fn errand(id: &str, kind: ErrandKind) -> Arrival {
    let content = if kind == ErrandKind::Work { "/ping" } else { "the disk is full" };
    let id = MessageId::new(id);
    let message = AgentMessage::errand(Channel::Webhook, id.clone(), content, in_the_terminal());
    let message = message.sent_at(SystemClock::default().now());
    let keys = vec![DedupKey::new(Timestamp::default(), &[id.as_str()])];
    Arrival::Errand(Box::new(Errand { bot: BotName::new("b"), message, keys, kind }))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_errand_is_done_once_without_asking_who_may_talk_to_the_bot() {
    let mouth = Arc::new(Mouth::default());
    let gateway = gateway(&mouth);
    let post = || ErrandKind::Post { reason: "the webhook alerts".to_owned(), in_place: None };
    let submitted = gateway.submit(errand("hook-1", post())).await.unwrap();
    assert!(matches!(submitted, Submitted::Accepted(_)));
    assert_eq!(said(&mouth, 1).await[0].1, "the disk is full");
    assert_eq!(closed(&gateway, "hook-1").await.reason, "the webhook alerts");
    assert_eq!(gateway.submit(errand("hook-1", post())).await.unwrap(), Submitted::Duplicate);
    gateway.submit(errand("schedule-1", ErrandKind::Work)).await.unwrap();
    assert_eq!(said(&mouth, 2).await[1].1, Say::Pong.text(Locale::EnUs));
    assert_eq!(closed(&gateway, "schedule-1").await.verdict, Verdict::Command);
}

/// A press of a button of ours that asks `question`, in a card of the terminal.
fn asking(event: &str, operator: &str, question: &str) -> Press {
    let mut press = press("b", operator);
    event.clone_into(&mut press.subject);
    press.keys = vec![DedupKey::new(Timestamp::default(), &[event])];
    press.chat = Some(ChatId::new("terminal"));
    press.message = Some(MessageId::new("om_card"));
    let ask = ButtonPress::Ask { text: question.to_owned() };
    let button = GenuineButton { card: stamp(), number: 0, press: ask };
    press.button = Button::Genuine(Box::new(button));
    press
}

fn stamp() -> CardStamp {
    CardStamp {
        id: "a card".to_owned(),
        chat: ChatId::new("terminal"),
        chat_kind: ChatKind::Group,
        at: Timestamp::from_millis(7),
    }
}

/// Keeps the card of [`asking`] as its sending does.
async fn keep_card(gateway: &Gateway) {
    let ask = ButtonPress::Ask { text: "what?".to_owned() };
    let button = Block::Button { label: "Ask".to_owned(), press: ask };
    let card = Card { stamp: Some(stamp()), ..Card::new("t".to_owned(), vec![button]) };
    let kept = kept_card(Some(&card)).unwrap().into_iter().collect();
    gateway.shared.store.commit(kept).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_on_a_button_is_asked_once_by_whoever_may_ask() {
    let mouth = Arc::new(Mouth::default());
    let gateway = gateway(&mouth);
    let text = |aside| Say::Aside(aside).text(Locale::EnUs);
    let question = |event| asking(event, "terminal", "how do I restart it?");
    let refused = gateway.press(asking("ev_2", "somebody", "and I?")).await.text;
    assert_eq!(refused, text(Aside::PressNotAllowed));
    // A card that nothing is kept of, such as one of an earlier version.
    let first = gateway.press(question("ev_1")).await;
    assert_eq!((first.text, first.card), (text(Aside::PressAsked), None));
    let answer = said(&mouth, 1).await[0].1.clone();
    assert!(answer.starts_with("“how do I restart it?”\n"), "{answer}");
    assert_eq!(closed(&gateway, "ev_1").await.verdict, Verdict::Answered);
    for event in ["ev_1", "ev_3"] {
        assert_eq!(gateway.press(question(event)).await.text, text(Aside::PressAgain), "{event}");
    }
    assert_eq!(said(&mouth, 1).await.len(), 1);
    let command = gateway.press(asking("ev_4", "terminal", "/stop")).await.text;
    assert_eq!(command, text(Aside::PressUnknown));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_that_could_not_be_stored_may_be_pressed_again() {
    let mouth = Arc::new(Mouth::default());
    let failing = Arc::new(AtomicUsize::new(0));
    let gateway = gateway_on(Slow(MemoryEngine::default(), Arc::clone(&failing)), &mouth);
    failing.store(1, Ordering::SeqCst);
    let later = Say::Aside(Aside::PressLater).text(Locale::EnUs);
    let question = || asking("ev_1", "terminal", "how do I restart it?");
    assert_eq!(gateway.press(question()).await.text, later);
    let asked = Say::Aside(Aside::PressAsked).text(Locale::EnUs);
    assert_eq!(gateway.press(question()).await.text, asked);
    assert_eq!(said(&mouth, 1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_whose_answer_came_too_late_changes_the_card_all_the_same() {
    let mouth = Arc::new(Mouth::default());
    let gateway = gateway(&mouth);
    keep_card(&gateway).await;
    // The commit takes 30 ms; whoever waits goes away at once.
    let pressing = gateway.press(asking("ev_1", "terminal", "what?"));
    assert!(tokio::time::timeout(Duration::from_millis(1), pressing).await.is_err());
    let changed = async {
        while mouth.changed.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, changed).await.unwrap();
    let chosen = Block::Chosen { label: "Ask".to_owned(), by: UserId::new("terminal") };
    assert_eq!(mouth.changed.lock().unwrap()[0].blocks, [chosen]);
    let again = gateway.press(asking("ev_2", "terminal", "what?")).await;
    assert_eq!(again.text, Say::Aside(Aside::PressAgain).text(Locale::EnUs));
    assert!(again.card.is_some());
    assert_eq!(said(&mouth, 1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_into_a_full_line_does_not_use_the_button_up() {
    let gateway = gateway(&Arc::new(Mouth::default()));
    keep_card(&gateway).await;
    let press = || asking("ev_1", "terminal", "what?");
    let key = SessionKey::new("b/terminal");
    let mut seats = Vec::new();
    while let Some(seat) = gateway.shared.sessions.reserve(&key, 8) {
        seats.push(seat);
    }
    let busy = gateway.press(press()).await;
    assert_eq!((busy.text, busy.card), (Say::Busy.text(Locale::EnUs), None));
    drop(seats);
    let asked = gateway.press(press()).await;
    assert_eq!(asked.text, Say::Aside(Aside::PressAsked).text(Locale::EnUs));
    assert!(asked.card.is_some());
}

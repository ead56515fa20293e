use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::super::super::identity::IdentityState;
use super::super::super::testing::{
    self, SLOW_CHAT, TestInlet, event_file, private_message, vectors,
};
use super::*;
use crate::base::{ChatId, UserId};
use crate::envelope::{Button, ButtonPress, CardStamp, ChatKind, InletError};

struct Bench {
    inlet: Arc<TestInlet>,
    bot: Arc<LarkBot>,
    reception: Reception,
    frames: u64,
}

impl Bench {
    fn new() -> Self {
        let clock = testing::clock();
        let bot = Arc::new(testing::linked("assistant", "http://127.0.0.1:1", &clock));
        let inlet = Arc::new(TestInlet::default());
        let reception = Reception::new(
            Arc::clone(&bot),
            Arc::<TestInlet>::clone(&inlet),
            Arc::new(clock),
            TaskSet::new("test", CancellationToken::new()),
        );
        Self { inlet, bot, reception, frames: 0 }
    }

    /// An event arrives; its frame's number is returned.
    fn event(&mut self, kind: &str, body: &str) -> u64 {
        self.frames += 1;
        let headers = [("type", kind), ("message_id", "m"), ("sum", "1"), ("seq", "0")];
        self.reception.receive(Frame::data(self.frames, &headers, body).write());
        self.frames
    }

    fn message(&mut self, id: &str, chat: &str) -> u64 {
        self.event("event", &private_message(id, chat, "hello"))
    }

    /// The answer that is ready, if one is.
    fn answer(&mut self) -> Answer {
        match self.reception.next_answer().now_or_never() {
            Some(answer) => Answer::read(answer),
            None => Answer::NotYet,
        }
    }
}

/// An answer by the number of its frame, its code and its reply.
#[derive(Debug, PartialEq)]
enum Answer {
    NotYet,
    Said(u64, u64, Value),
}

impl Answer {
    fn read(answer: Bytes) -> Self {
        let answer = Frame::read(answer).unwrap();
        let last = answer.headers.last().unwrap();
        assert_eq!((&last.key[..], &last.value[..]), (&b"biz_rt"[..], &b"0"[..]));
        assert_eq!(answer.log_id, u64::MAX);
        let said: Value = serde_json::from_slice(&answer.payload.unwrap()).unwrap();
        let reply = said["data"].as_str().map(|data| STANDARD.decode(data).unwrap());
        let reply = reply.map(|reply| serde_json::from_slice(&reply).unwrap());
        Self::Said(answer.seq_id, said["code"].as_u64().unwrap(), reply.unwrap_or_default())
    }
}

fn taken(frame: u64) -> Answer {
    Answer::Said(frame, 200, Value::Null)
}

fn put_off(frame: u64) -> Answer {
    Answer::Said(frame, 500, Value::Null)
}

#[test]
fn an_event_is_answered_after_the_inlet_took_it() {
    let mut bench = Bench::new();
    let frame = bench.message("om_1", SLOW_CHAT);
    assert_eq!(bench.answer(), Answer::NotYet);
    assert_eq!(bench.reception.in_work(), 1);
    bench.inlet.open_gate();
    assert_eq!(bench.answer(), taken(frame));
    assert_eq!((bench.inlet.taken(), bench.reception.in_work()), (vec!["om_1".to_owned()], 0));
    assert!(bench.bot.link_cell().unwrap().link().last_event.is_some());
}

#[test]
fn an_event_that_is_not_taken_is_asked_for_again() {
    let mut bench = Bench::new();
    let errors = [InletError::Unavailable("full".to_owned()), InletError::Draining];
    for error in errors {
        bench.inlet.fails.lock().unwrap().push_back(error);
        let frame = bench.message("om_1", "oc_1");
        assert_eq!(bench.answer(), put_off(frame));
    }
    let frame = bench.event("event", &private_message("om_2", "oc_1", "panic"));
    assert_eq!(bench.answer(), put_off(frame), "a panic is one event's affair");
    let frame = bench.message("om_1", "oc_1");
    assert_eq!(bench.answer(), taken(frame));
    assert_eq!(bench.inlet.taken(), ["om_1"]);
}

#[test]
fn a_group_message_waits_with_the_platform_until_the_bot_knows_itself() {
    let mut bench = Bench::new();
    let body = event_file("002_text_group_at_bot.json");
    let frame = bench.event("event", &body);
    assert_eq!(bench.answer(), put_off(frame));
    let open_id = UserId::new(testing::OWN);
    bench.bot.identity().set(IdentityState::Known { open_id });
    let frame = bench.event("event", &body);
    assert_eq!(bench.answer(), taken(frame));
    assert_eq!(bench.inlet.taken().len(), 1);
}

#[test]
fn events_of_a_chat_keep_their_order_and_other_chats_do_not_wait() {
    let mut bench = Bench::new();
    let first = bench.message("om_1", SLOW_CHAT);
    let second = bench.message("om_2", SLOW_CHAT);
    let other = bench.message("om_3", "oc_other");
    assert_eq!(bench.answer(), taken(other));
    assert_eq!(bench.answer(), Answer::NotYet);
    bench.inlet.open_gate();
    assert_eq!([bench.answer(), bench.answer()], [taken(first), taken(second)]);
    assert_eq!(bench.inlet.taken(), ["om_3", "om_1", "om_2"]);
}

#[test]
fn no_more_than_a_number_of_events_is_worked_on() {
    let mut bench = Bench::new();
    for _ in 1..IN_WORK_MAX {
        bench.message("om_1", SLOW_CHAT);
    }
    assert!(!bench.reception.is_full());
    bench.message("om_1", SLOW_CHAT);
    assert!(bench.reception.is_full());
    bench.inlet.open_gate();
    assert!(bench.answer() != Answer::NotYet && !bench.reception.is_full());
}

#[tokio::test]
async fn a_press_is_answered_with_its_toast_whichever_type_its_frame_has() {
    let mut bench = Bench::new();
    let toast = json!({"toast": {"type": "info", "content": "pressed"}});
    for kind in ["event", "card"] {
        let frame = bench.event(kind, &event_file("094_card_button.json"));
        assert_eq!(bench.answer(), Answer::Said(frame, 200, toast.clone()), "{kind}");
    }
    assert_eq!(bench.inlet.taken(), ["card.action.trigger"; 2]);
}

#[tokio::test]
async fn a_button_is_as_old_over_a_long_connection_as_elsewhere() {
    let mut bench = Bench::new();
    let now = bench.reception.clock.now();
    let life = Duration::from_secs(14 * 24 * 3600);
    for made_at in [now.before(life), now.before(life + Duration::from_millis(1))] {
        let chat = ChatId::new("oc_1");
        let stamp =
            CardStamp { id: "c1".to_owned(), chat, chat_kind: ChatKind::Group, at: made_at };
        let ask = ButtonPress::Ask { text: "what?".to_owned() };
        let mut body: Value = serde_json::from_str(&event_file("094_card_button.json")).unwrap();
        body["event"]["action"]["value"] = bench.bot.buttons().value(&stamp, 0, &ask);
        body["event"]["context"]["open_chat_id"] = json!("oc_1");
        bench.event("event", &body.to_string());
        bench.answer();
    }
    let pressed = bench.inlet.pressed();
    assert!(matches!(pressed[..], [Button::Genuine(_), Button::Expired]), "{pressed:?}");
}

#[test]
fn what_can_never_be_read_is_acknowledged_and_counted() {
    let mut bench = Bench::new();
    let of_another = private_message("om_1", "oc_1", "hello").replace(testing::APP, "cli_other");
    let without_chat = private_message("om_1", "oc_1", "hello").replace("chat_id", "chat");
    let encrypted = "{\"encrypt\":\"AAAA\"}";
    for body in ["", "[]", "{", "null", encrypted, &of_another, &without_chat] {
        let frame = bench.event("event", body);
        assert_eq!(bench.answer(), taken(frame), "{body}");
    }
    let frame = bench.event("new", "{}");
    assert_eq!(bench.answer(), taken(frame), "a type that nobody knows");
    bench.reception.receive(Bytes::from_static(b"no frame"));
    assert_eq!((bench.answer(), bench.inlet.taken().len()), (Answer::NotYet, 0));
    assert!(!bench.bot.link_cell().unwrap().unusable(), "it is not the first");
}

#[test]
fn an_event_of_an_unknown_type_is_noted_and_acknowledged() {
    let mut bench = Bench::new();
    let body = private_message("om_1", "oc_1", "hello").replace("im.message.receive_v1", "new.one");
    let frame = bench.event("event", &body);
    assert_eq!(bench.answer(), taken(frame));
    assert_eq!(bench.inlet.taken(), ["new.one"]);
}

#[test]
fn an_event_in_pieces_is_answered_once_on_the_frame_that_completes_it() {
    let mut bench = Bench::new();
    let vectors = vectors();
    let frames = vectors["ws"]["fragmented"]["frames_hex_in_seq_order"].as_array().unwrap();
    for (place, is_last) in [(2, false), (0, false), (2, false), (1, true)] {
        let frame = Bytes::from(hex::decode(frames[place].as_str().unwrap()).unwrap());
        let asked = Frame::read(frame.clone()).unwrap();
        bench.reception.receive(frame);
        let answer = bench.reception.next_answer().now_or_never();
        let answer = answer.map(|answer| Frame::read(answer).unwrap());
        let expected = is_last.then(|| asked.answer(TAKEN, 0));
        assert_eq!(answer, expected, "{place}");
    }
    assert_eq!(bench.inlet.taken().len(), 1);
    let headers = [("type", "event"), ("message_id", "m"), ("sum", "2"), ("seq", "2")];
    bench.reception.receive(Frame::data(9, &headers, "{}").write());
    assert_eq!(bench.bot.link_cell().unwrap().link().fragments_dropped, 1);
    assert_eq!(bench.answer(), Answer::NotYet);
}

#[test]
fn a_pong_says_what_the_server_wants_and_an_empty_one_says_nothing() {
    let mut bench = Bench::new();
    let vectors = vectors();
    let frames = vectors["ws"]["frames"].as_array().unwrap();
    let mut pong = |name: &str| {
        let frame = frames.iter().find(|frame| frame["name"] == name).unwrap();
        let frame = hex::decode(frame["hex"].as_str().unwrap()).unwrap();
        bench.reception.receive(frame.into())
    };
    assert_eq!(pong("pong_with_config"), Some(ClientConfig::default()));
    assert_eq!(pong("pong_without_payload"), None);
}

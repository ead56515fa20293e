use std::sync::Mutex;

use async_trait::async_trait;
use axum::body::to_bytes;
use axum::http::Method;
use serde_json::Value;
use tower::ServiceExt;

use super::super::identity::IdentityState;
use super::super::testing::{
    self, Draft, NOW_MS, OWN, TOKEN, encrypt, event_file, first_card, vectors,
};
use super::*;
use crate::base::{ManualClock, Timestamp, UserId, Verdict};
use crate::envelope::{Arrival, Card, InletError, Press, PressReply, Submitted, Tone};

const BODY_BYTES_MAX: usize = 1024 * 1024;

#[derive(Default)]
struct FakeInlet {
    taken: Mutex<Vec<Arrival>>,
    pressed: Mutex<Vec<Press>>,
    fails: Mutex<Option<InletError>>,
}

#[async_trait]
impl Inlet for FakeInlet {
    async fn submit(&self, arrival: Arrival) -> Result<Submitted, InletError> {
        if let Some(error) = self.fails.lock().unwrap().take() {
            return Err(error);
        }
        self.taken.lock().unwrap().push(arrival);
        Ok(Submitted::NoWork(Verdict::Filtered))
    }

    async fn press(&self, press: Press) -> PressReply {
        let is_slow = press.pressed.name == "slow";
        self.pressed.lock().unwrap().push(press);
        if is_slow {
            std::future::pending::<()>().await;
        }
        let card = Box::new(Card::new("after".to_owned(), Vec::new()));
        PressReply { tone: Tone::Warning, text: "pressed".to_owned(), card: Some(card) }
    }
}

struct Bench {
    inlet: Arc<FakeInlet>,
    clock: ManualClock,
    bot: Arc<LarkBot>,
    router: Router,
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl Bench {
    fn new() -> Self {
        let clock = testing::clock();
        let bot = Arc::new(testing::bot("http://127.0.0.1:1", &clock));
        let open_id = UserId::new(OWN);
        bot.identity().set(IdentityState::Known { open_id });
        let inlet = Arc::new(FakeInlet::default());
        let router = router(Webhook {
            bots: Arc::new(LarkBots::new([Arc::clone(&bot)])),
            inlet: Arc::<FakeInlet>::clone(&inlet),
            clock: Arc::new(clock.clone()),
            body_bytes_max: BODY_BYTES_MAX,
        });
        Self { inlet, clock, bot, router }
    }

    async fn send(&self, request: Request) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, 1 << 20).await.unwrap();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        }
    }

    /// Expects a refusal in the form of all refusals, with nothing handed to the inlet.
    async fn refused(&self, request: Request, status: u16, code: &str) -> Answer {
        let answer = self.send(request).await;
        assert_eq!(answer.status, status, "{:?}", answer.body);
        assert_eq!(answer.body["code"], code);
        assert_eq!(answer.body["status"], status);
        assert_eq!(answer.headers[CONTENT_TYPE], "application/problem+json");
        let members = answer.body.as_object().unwrap().len();
        assert_eq!(members, 4, "{:?}", answer.body);
        assert!(self.taken().is_empty());
        answer
    }

    fn pressed(&self) -> Vec<Press> {
        std::mem::take(&mut *self.inlet.pressed.lock().unwrap())
    }

    fn taken(&self) -> Vec<Arrival> {
        self.inlet.taken.lock().unwrap().clone()
    }
}

/// The request of a genuine message.
fn genuine() -> Draft {
    Draft::signed(&encrypt(&event_file("002_text_group_at_bot.json")))
}

#[tokio::test]
async fn a_genuine_event_is_handed_over_and_acknowledged() {
    let bench = Bench::new();
    let answer = bench.send(genuine().request()).await;
    assert_eq!((answer.status, answer.body), (200, json!({})));
    let taken = bench.taken();
    let [Arrival::Message(incoming)] = taken.as_slice() else {
        panic!("{taken:?}");
    };
    assert_eq!(incoming.message.content, "部署进度如何?");
    assert!(incoming.addressing.mentions_bot);
}

/// Recorded exchanges of apps without a key. This bot never is without one: what came without a
/// signature is refused.
const WITHOUT_KEY: [&str; 4] = [
    "event_v2_plain_no_key",
    "event_v2_encrypted_but_no_key_configured",
    "event_v1_plain",
    "card_v2_plain_no_key",
];

#[tokio::test]
async fn every_recorded_exchange_ends_as_it_must() {
    let vectors = vectors();
    let cases = vectors["http_exchanges"]["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 22);
    for case in cases {
        let mut draft = Draft::unsigned(case["request"]["body"].as_str().unwrap());
        for (name, value) in case["request"]["headers"].as_object().unwrap() {
            if name != "Content-Type" {
                let name: &'static str = Box::leak(name.clone().into_boxed_str());
                draft.headers.push((name, value.as_str().unwrap().to_owned()));
            }
        }
        let bench = Bench::new();
        let answer = bench.send(draft.request()).await;
        let name = case["name"].as_str().unwrap();
        let heard = bench.taken().len() + bench.pressed().len();
        if WITHOUT_KEY.contains(&name) {
            assert_eq!((answer.status, heard), (401, 0), "{name}");
        } else if case["expect"]["reject"] == true {
            assert!((400..404).contains(&answer.status), "{name}");
            assert_eq!(heard, 0, "{name}");
        } else {
            assert_eq!(answer.status, 200, "{name}");
            let challenge = &case["expect"]["json"];
            if challenge.is_object() {
                assert_eq!(&answer.body, challenge, "{name}");
            }
            assert_eq!(heard, usize::from(challenge.is_null()), "{name}");
        }
    }
}

#[tokio::test]
async fn every_recorded_event_is_acknowledged_encrypted_and_plain_once_it_is_signed() {
    let index: Value = serde_json::from_str(&event_file("INDEX.json")).unwrap();
    for entry in index["events"].as_array().unwrap() {
        let kind = entry["kind"].as_str().unwrap();
        if !matches!(kind, "message" | "event" | "event_v1" | "callback" | "callback_v1") {
            continue;
        }
        let file = entry["file"].as_str().unwrap();
        for body in [encrypt(&event_file(file)), event_file(file)] {
            let bench = Bench::new();
            assert_eq!(bench.send(Draft::signed(&body).request()).await.status, 200, "{file}");
            let is_press = kind.starts_with("callback");
            assert_eq!(bench.taken().len(), usize::from(!is_press), "{file}");
            assert_eq!(bench.pressed().len(), usize::from(is_press), "{file}");
        }
    }
}

#[tokio::test]
async fn a_bot_of_a_long_connection_has_no_webhook_that_its_missing_keys_could_open() {
    let clock = testing::clock();
    let bot = testing::linked("assistant", "http://127.0.0.1:1", &clock);
    let router = router(Webhook {
        bots: Arc::new(LarkBots::new([Arc::new(bot)])),
        inlet: Arc::new(FakeInlet::default()),
        clock: Arc::new(clock),
        body_bytes_max: BODY_BYTES_MAX,
    });
    let answer = router.oneshot(genuine().request()).await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_press_of_either_generation_is_answered_with_a_toast_and_of_the_second_with_a_card() {
    let bench = Bench::new();
    let old = event_file("105_card_v1_button.json");
    let new = event_file("094_card_button.json");
    let drafts = [
        first_card(&old),
        first_card(&encrypt(&old)),
        Draft::signed(&encrypt(&old)),
        Draft::signed(&encrypt(&new)),
        Draft::signed(&new),
    ];
    for draft in drafts {
        let answer = bench.send(draft.request()).await;
        let pressed = bench.pressed().remove(0);
        let toast = json!({"type": "warning", "content": "pressed"});
        assert_eq!((answer.status, &answer.body["toast"]), (200, &toast));
        assert_eq!(pressed.takes_card, pressed.event_type == "card.action.trigger");
        let card = &answer.body["card"];
        if pressed.takes_card {
            assert_eq!((&card["type"], &card["data"]["schema"]), (&json!("raw"), &json!("2.0")));
        } else {
            assert!(card.is_null(), "a card of ours would be an error there");
        }
    }
    let mut again = first_card(&old);
    again.headers.push(("X-Refresh-Token", "r".to_owned()));
    bench.send(again.request()).await;
    assert_eq!(bench.pressed()[0].keys.len(), 2, "the header counts, too");
    assert!(bench.taken().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_press_that_takes_too_long_is_answered_without_a_toast() {
    let bench = Bench::new();
    let slow = event_file("094_card_button.json").replace("btn_ok", "slow");
    let answer = bench.send(Draft::signed(&encrypt(&slow)).request()).await;
    assert_eq!((answer.status, answer.body), (200, json!({})));
    assert_eq!(bench.pressed().len(), 1);
}

#[tokio::test]
async fn the_verification_token_signs_card_callbacks_of_the_first_generation_and_nothing_else() {
    let bench = Bench::new();
    for file in ["001_text_p2p.json", "094_card_button.json", "108_v1_p2p_chat_create.json"] {
        for body in [event_file(file), encrypt(&event_file(file))] {
            bench.refused(first_card(&body).request(), 401, "signature_wrong").await;
        }
    }
    let old = event_file("105_card_v1_button.json");
    bench.refused(Draft::unsigned(&old).request(), 401, "signature_missing").await;
    let mut tampered = first_card(&old);
    tampered.body.push(' ');
    bench.refused(tampered.request(), 401, "signature_wrong").await;
    // With a type or an event it is no card callback, and has to carry the token.
    for more in [json!({"type": "event_callback"}), json!({"event": {}}), json!({"schema": "2.0"})]
    {
        let mut body: Value = serde_json::from_str(&old).unwrap();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let body = body.to_string();
        bench.refused(first_card(&body).request(), 401, "signature_wrong").await;
        bench.refused(Draft::signed(&body).request(), 403, "token_wrong").await;
    }
    assert!(bench.pressed().is_empty());
}

#[tokio::test]
async fn the_recorded_encrypted_event_opens_and_unknown_types_are_acknowledged() {
    let bench = Bench::new();
    for body in
        [event_file("114_message_encrypted.json"), encrypt(&event_file("093_unknown_event.json"))]
    {
        let answer = bench.send(Draft::signed(&body).request()).await;
        assert_eq!(answer.status, 200);
    }
    let taken = bench.taken();
    let [Arrival::Message(message), Arrival::Notice(notice)] = taken.as_slice() else {
        panic!("{taken:?}");
    };
    assert_eq!(message.message.content, "加密 🙂");
    assert_eq!(notice.verdict, Verdict::Filtered);
}

#[tokio::test]
async fn a_wrong_missing_or_doubled_signature_is_401() {
    let bench = Bench::new();
    let mut wrong = genuine();
    wrong.headers[2].1 = "0".repeat(64);
    bench.refused(wrong.request(), 401, "signature_wrong").await;
    let mut tampered = genuine();
    tampered.body.push(' ');
    bench.refused(tampered.request(), 401, "signature_wrong").await;
    for missing in 0..3 {
        let mut draft = genuine();
        draft.headers.remove(missing);
        bench.refused(draft.request(), 401, "signature_missing").await;
    }
    for doubled in 0..3 {
        let mut draft = genuine();
        let again = draft.headers[doubled].clone();
        draft.headers.push(again);
        bench.refused(draft.request(), 401, "signature_missing").await;
    }
    let soon = Draft::signed_at(&genuine().body, "soon");
    bench.refused(soon.request(), 401, "signature_missing").await;
}

#[tokio::test]
async fn a_wrong_token_or_app_is_403() {
    let bench = Bench::new();
    let changed = |field: &str, value: &str| {
        let mut event: Value =
            serde_json::from_str(&event_file("002_text_group_at_bot.json")).unwrap();
        event["header"][field] = json!(value);
        Draft::signed(&encrypt(&event.to_string())).request()
    };
    for token in ["wrong", "", &format!("{TOKEN}x")] {
        bench.refused(changed("token", token), 403, "token_wrong").await;
    }
    bench.refused(changed("app_id", "cli_other"), 403, "app_wrong").await;
    let plain = event_file("001_text_p2p.json").replace(TOKEN, "wrong");
    bench.refused(Draft::signed(&plain).request(), 403, "token_wrong").await;
}

#[tokio::test]
async fn what_cannot_be_decoded_is_400() {
    let bench = Bench::new();
    let sealed: Value = serde_json::from_str(&genuine().body).unwrap();
    let truncated = sealed["encrypt"].as_str().unwrap();
    let truncated = truncated.get(..truncated.len() - 2).unwrap();
    for body in [
        "garbage".to_owned(),
        String::new(),
        "[]".to_owned(),
        "{\"encrypt\":".to_owned(),
        json!({ "encrypt": truncated }).to_string(),
        json!({ "encrypt": "" }).to_string(),
        json!({ "encrypt": "%%%" }).to_string(),
        encrypt("no json"),
        encrypt(&event_file("001_text_p2p.json").replace("chat_id", "x")),
    ] {
        bench.refused(Draft::signed(&body).request(), 400, "undecodable").await;
    }
    let forged = Draft::unsigned(&event_file("001_text_p2p.json"));
    bench.refused(forged.request(), 401, "signature_missing").await;
}

#[tokio::test]
async fn limits_content_type_method_and_name_are_checked_first() {
    let bench = Bench::new();
    let huge = Draft::signed(&"a".repeat(2 * BODY_BYTES_MAX));
    bench.refused(huge.request(), 413, "body_too_large").await;
    for content_type in [None, Some("text/plain"), Some("application/jsonp")] {
        let mut draft = genuine();
        draft.content_type = content_type;
        bench.refused(draft.request(), 415, "unsupported_media_type").await;
    }
    let mut stranger = genuine();
    stranger.path = "/lark/nobody/events".to_owned();
    bench.refused(stranger.request(), 404, "unknown_bot").await;
    for method in [Method::GET, Method::PUT] {
        let mut request = genuine().request();
        *request.method_mut() = method;
        let answer = bench.refused(request, 405, "method_not_allowed").await;
        assert_eq!(answer.headers["allow"], "POST");
    }
}

#[tokio::test]
async fn the_handshake_alone_passes_unsigned() {
    let bench = Bench::new();
    let handshake = json!({
        "challenge": "c", "token": TOKEN, "type": "url_verification",
    });
    for body in [handshake.to_string(), encrypt(&handshake.to_string())] {
        for draft in [Draft::unsigned(&body), Draft::signed(&body)] {
            let answer = bench.send(draft.request()).await;
            assert_eq!((answer.status, answer.body), (200, json!({"challenge": "c"})));
        }
    }
    let encrypted = Draft::unsigned(&event_file("113_url_verification_encrypted.json"));
    let answer = bench.send(encrypted.request()).await;
    assert_eq!(answer.body["challenge"], "c0ffee00-1234-4abc-9def-0123456789ab");
    assert!(bench.taken().is_empty());
}

#[tokio::test]
async fn a_handshake_with_a_wrong_token_is_403() {
    let bench = Bench::new();
    for token in [json!("wrong"), json!(""), Value::Null] {
        let handshake = json!({
            "challenge": "c", "token": token, "type": "url_verification",
        })
        .to_string();
        for body in [handshake.clone(), encrypt(&handshake)] {
            for draft in [Draft::unsigned(&body), Draft::signed(&body)] {
                bench.refused(draft.request(), 403, "token_wrong").await;
            }
        }
    }
}

#[tokio::test]
async fn an_unsigned_body_is_opened_only_while_it_is_short() {
    let bench = Bench::new();
    let handshake = json!({
        "challenge": "c".repeat(9000), "token": TOKEN, "type": "url_verification",
    });
    let draft = Draft::unsigned(&encrypt(&handshake.to_string()));
    bench.refused(draft.request(), 401, "signature_missing").await;
}

#[tokio::test]
async fn a_request_signed_too_long_ago_is_acknowledged_as_stale() {
    let body = genuine().body;
    let later = |seconds: i64| (i64::try_from(NOW_MS / 1000).unwrap() + seconds).to_string();
    let border = 25 * 3600;
    for (offset, stale) in
        [(-border, false), (-border - 1, true), (border, false), (border + 1, true), (0, false)]
    {
        let bench = Bench::new();
        let draft = Draft::signed_at(&body, &later(offset));
        assert_eq!(bench.send(draft.request()).await.status, 200);
        let found = match bench.taken().as_slice() {
            [Arrival::Notice(notice)] => notice.verdict == Verdict::Stale,
            [Arrival::Message(_)] => false,
            other => panic!("{other:?}"),
        };
        assert_eq!(found, stale, "{offset} s");
    }
    let bench = Bench::new();
    bench.clock.set(Timestamp::from_millis(NOW_MS + 26 * 3_600_000));
    assert_eq!(bench.send(genuine().request()).await.status, 200);
    assert!(matches!(bench.taken().as_slice(), [Arrival::Notice(_)]));
}

#[tokio::test]
async fn what_the_inlet_does_not_take_is_not_acknowledged() {
    let bench = Bench::new();
    for (error, code) in [
        (InletError::Unavailable("disk /secret is full".to_owned()), "store_unavailable"),
        (InletError::Draining, "draining"),
    ] {
        *bench.inlet.fails.lock().unwrap() = Some(error);
        let answer = bench.refused(genuine().request(), 503, code).await;
        assert_eq!(answer.headers["retry-after"], "15");
    }
}

#[tokio::test]
async fn a_group_message_that_names_somebody_waits_for_the_identity() {
    let bench = Bench::new();
    let last_error = None;
    bench.bot.identity().set(IdentityState::Unknown { last_error });
    let answer = bench.refused(genuine().request(), 503, "identity_unknown").await;
    assert!(answer.headers.contains_key("retry-after"));
    let private = Draft::signed(&encrypt(&event_file("001_text_p2p.json")));
    assert_eq!(bench.send(private.request()).await.status, 200);
}

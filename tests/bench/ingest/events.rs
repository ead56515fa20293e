//! The events: each with an id of its own, sealed and signed as the platform does it, ready to be
//! written to a socket.

use std::fmt::Write;
use std::sync::Arc;

use larkspur::base::{Clock, SystemClock};
use larkspur::playground::{Settings, crypt};
use serde_json::json;

/// Requests as they go over the wire.
pub(crate) type Requests = Arc<[Vec<u8>]>;

/// Where the events of the first app go.
pub(crate) const PATH: &str = "/lark/assistant/events";

/// How many apps whole turns are spread over: the platform takes fifty messages a second and a
/// thousand a minute of one, and the daemon keeps to that.
pub(crate) const TURN_APPS: usize = 64;

/// The bot and the id of an app by its number. The other SDKs know the first only.
pub(crate) fn app(number: usize) -> (String, String) {
    match number {
        0 => ("assistant".to_owned(), Settings::default().app.app_id),
        _ => (format!("assistant{number}"), format!("cli_bench{number:04}")),
    }
}

const TENANT: &str = "16f0d1a2b3c4d5e6";

const TEXTS: [&str; 4] = [
    "帮我看下今天的日程,下午三点之后还有空吗?",
    "How do I roll back the deployment of the billing service to the version of yesterday?",
    "谢谢!",
    "上周的值班记录在哪里可以找到?我需要整理一份给团队的总结,大概两页左右就够了。",
];

/// Numbers that look random and follow from a seed (splitmix64).
#[derive(Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(1);
        usize::try_from(self.roll() % end).unwrap_or(0)
    }

    fn hex(&mut self) -> String {
        format!("{:016x}{:016x}", self.roll(), self.roll())
    }
}

/// The id of a chat by its number: the big stores hold sessions of these.
pub(crate) fn chat(number: usize) -> String {
    let seed = u64::try_from(number).unwrap_or(0).wrapping_mul(0x2545_F491_4F6C_DD1D);
    format!("oc_{}", Dice(seed).hex())
}

/// `count` requests over the given chats: first one in each, then at random. Each chat belongs to
/// one of `apps`.
pub(crate) fn requests(seed: u64, count: usize, chats: &[usize], apps: usize) -> Requests {
    let mut dice = Dice(seed);
    let now = SystemClock::default().now().as_millis();
    (0..count)
        .map(|index| {
            let place = if index < chats.len() { index } else { dice.below(chats.len()) };
            let number = chats.get(place).copied().unwrap_or(0);
            request(&mut dice, now, number, apps)
        })
        .collect()
}

fn request(dice: &mut Dice, now: u64, number: usize, apps: usize) -> Vec<u8> {
    let (bot, app_id) = app(number % apps);
    let app = Settings::default().app;
    let plain = event(dice, now, number, &app_id).to_string();
    let mut vector = [0; 16];
    for byte in &mut vector {
        *byte = u8::try_from(dice.below(256)).unwrap_or(0);
    }
    let sealed = crypt::seal(&app.encrypt_key, vector, &plain);
    let body = json!({ "encrypt": sealed }).to_string();
    let (timestamp, nonce) = ((now / 1000).to_string(), dice.hex());
    let signature = crypt::sign(&timestamp, &nonce, &app.encrypt_key, body.as_bytes());
    let mut head = String::new();
    write!(
        head,
        "POST /lark/{bot}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json; charset=utf-8\r\n\
         X-Lark-Request-Timestamp: {timestamp}\r\nX-Lark-Request-Nonce: {nonce}\r\n\
         X-Lark-Signature: {signature}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .unwrap_or_default();
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// A private text message, as `tests/fixtures/feishu-events/001_text_p2p.json`.
fn event(dice: &mut Dice, now: u64, number: usize, app_id: &str) -> serde_json::Value {
    let app = Settings::default().app;
    let time = (now - dice.roll() % 1000).to_string();
    // The number keeps two messages of one person in one millisecond apart: the same words would
    // be a redelivery under a new id.
    let text = TEXTS.get(dice.below(TEXTS.len())).copied().unwrap_or_default();
    let text = format!("{text} {}", dice.below(1_000_000));
    json!({
        "schema": "2.0",
        "header": {
            "event_id": dice.hex(), "token": app.verification_token, "create_time": time,
            "event_type": "im.message.receive_v1", "tenant_key": TENANT, "app_id": app_id,
        },
        "event": {
            "sender": {
                "sender_id": {
                    "union_id": format!("on_{number:032x}"), "open_id": format!("ou_{number:032x}"),
                    "user_id": format!("{number:08x}"),
                },
                "sender_type": "user", "tenant_key": TENANT,
            },
            "message": {
                "message_id": format!("om_{}", dice.hex()), "create_time": time,
                "update_time": time, "chat_id": chat(number), "chat_type": "p2p",
                "message_type": "text", "content": json!({ "text": text }).to_string(),
            },
        },
    })
}

//! Sending into a chat and replying to a message (feishu-protocol.md 5.1 to 5.4).
//!
//! Order of a call: who calls, form of the request, rate, `uuid`, target, rights, content. A
//! message exists from the moment its call is carried out, whether or not the caller hears of it.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Extension, Path, Query as Queried, State as Extracted};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde_json::{Map, Value};

use super::cardkit;
use super::content;
use super::limits::{
    API_PER_MINUTE, API_PER_SECOND, CARD_BYTES, CHAT_PER_SECOND, Limit, POST_BYTES, TEXT_BYTES,
    USER_PER_SECOND, UUID_CHARS, UUID_LIFE,
};
use super::refusal::{Refusal, success};
use super::request::{self, Query};
use super::seen;
use super::state::{Shared, State, UuidState};
use super::switches::{RateLimits, UuidRepeat, UuidScope};
use super::tokens::caller;
use super::wire;
use super::world::{Actor, Chat, ChatKind, MESSAGES_MAX, Message};

/// Put into a request by the fault `Slow`: how long carrying it out takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slow(pub(crate) Duration);

/// A send or reply whose form has been checked.
#[derive(Clone, Debug)]
struct Order {
    app_id: String,
    target: Target,
    msg_type: String,
    content: String,
    uuid: Option<String>,
    request_bytes: usize,
}

#[derive(Clone, Debug)]
enum Target {
    Receiver { id_type: String, id: String },
    Message { message_id: String, in_thread: bool },
}

/// `POST /open-apis/im/v1/messages?receive_id_type=`
pub(crate) async fn send(
    Extracted(shared): Extracted<Arc<Shared>>,
    Queried(query): Queried<Query>,
    slow: Option<Extension<Slow>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let app_id = caller(&shared.lock(), &headers, shared.now())?;
    let fields = request::json_object(&headers, &body)?;
    let id_type = query
        .get("receive_id_type")
        .ok_or_else(|| Refusal::field("receive_id_type", "is required"))?;
    let known = ["open_id", "union_id", "user_id", "email", "chat_id"];
    if !known.contains(&id_type.as_str()) {
        return Err(Refusal::field("receive_id_type", "has an unknown value"));
    }
    let target = Target::Receiver {
        id_type: id_type.clone(),
        id: request::string(&fields, "receive_id")?.to_owned(),
    };
    let order = order(app_id, target, &fields, body.len())?;
    carry_out(shared, order, slow).await
}

/// `POST /open-apis/im/v1/messages/:message_id/reply`
pub(crate) async fn reply(
    Extracted(shared): Extracted<Arc<Shared>>,
    Path(message_id): Path<String>,
    slow: Option<Extension<Slow>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let app_id = caller(&shared.lock(), &headers, shared.now())?;
    let fields = request::json_object(&headers, &body)?;
    let target =
        Target::Message { message_id, in_thread: request::flag(&fields, "reply_in_thread")? };
    let order = order(app_id, target, &fields, body.len())?;
    carry_out(shared, order, slow).await
}

fn order(
    app_id: String,
    target: Target,
    fields: &Map<String, Value>,
    request_bytes: usize,
) -> Result<Order, Refusal> {
    let uuid = request::optional_string(fields, "uuid")?;
    if uuid.is_some_and(|uuid| UUID_CHARS.refuses(uuid.chars().count())) {
        return Err(Refusal::field("uuid", "has more than 50 characters"));
    }
    Ok(Order {
        app_id,
        target,
        msg_type: request::string(fields, "msg_type")?.to_owned(),
        content: request::string(fields, "content")?.to_owned(),
        uuid: uuid.map(str::to_owned),
        request_bytes,
    })
}

/// Refuses a request that is too long for its type.
pub(crate) fn check_length(msg_type: &str, request_bytes: usize) -> Result<(), Refusal> {
    let limit = match msg_type {
        "text" => TEXT_BYTES,
        "interactive" => CARD_BYTES,
        _ => POST_BYTES,
    };
    if limit.refuses(request_bytes) {
        let sentence = "The length of the message content reaches its limit.";
        return Err(Refusal::new(limit.code, sentence));
    }
    Ok(())
}

/// Counts one call of an API against the gateway's limits.
pub(crate) fn gateway_rate(
    state: &mut State,
    api: &str,
    app_id: &str,
    now_ms: u64,
) -> Result<(), Refusal> {
    if state.switches.rate_limits == RateLimits::Off {
        return Ok(());
    }
    for (limit, span_ms) in [(API_PER_SECOND, 1_000), (API_PER_MINUTE, 60_000)] {
        let key = format!("{}:{api}:{app_id}", limit.name);
        if let Some(wait_ms) = state.count(key, span_ms, limit.most, now_ms) {
            return Err(Refusal::gateway_rate(limit.most, wait_ms.div_ceil(1_000)));
        }
    }
    Ok(())
}

/// Counts a message against the limit of its group, or of the person it goes to.
fn place_rate(state: &mut State, chat: &Chat, now_ms: u64) -> Result<(), Refusal> {
    let person = chat.members.first().filter(|_| chat.kind == ChatKind::P2p);
    match person {
        Some(person) => business_rate(state, USER_PER_SECOND, person, now_ms),
        None => business_rate(state, CHAT_PER_SECOND, &chat.chat_id, now_ms),
    }
}

/// Counts against a limit of the messages themselves, whose refusal names no time to wait.
pub(crate) fn business_rate(
    state: &mut State,
    limit: Limit,
    of: &str,
    now_ms: u64,
) -> Result<(), Refusal> {
    if state.switches.rate_limits == RateLimits::Off {
        return Ok(());
    }
    match state.count(format!("{}:{of}", limit.name), 1_000, limit.most, now_ms) {
        None => Ok(()),
        Some(_wait) => Err(Refusal::new(limit.code, "The operation triggers the frequency limit.")),
    }
}

/// Claims the `uuid`, then does the work: at once, or in a task that outlives the connection.
async fn carry_out(
    shared: Arc<Shared>,
    order: Order,
    slow: Option<Extension<Slow>>,
) -> Result<Response, Refusal> {
    let now_ms = shared.now_ms();
    let first = claim(&mut shared.lock(), &order, now_ms)?;
    if let Some(first) = first {
        return Ok(success(&first));
    }
    let Some(Extension(Slow(wait))) = slow else {
        return finish(&shared, &order).map(|object| success(&object));
    };
    let (answer, heard) = tokio::sync::oneshot::channel();
    let worker = Arc::clone(&shared);
    shared.tasks.spawn("slow send", async move {
        tokio::select! {
            () = worker.tasks.cancellation().cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
        let made = finish(&worker, &order);
        // A caller that has hung up does not hear of its message.
        drop(answer.send(made));
    });
    let made =
        heard.await.map_err(|_stopped| Refusal::new(230_049, "The message is being sent."))?;
    made.map(|object| success(&object))
}

/// The first message of a repeated `uuid`, if there is one; else the `uuid` is in flight.
fn claim(state: &mut State, order: &Order, now_ms: u64) -> Result<Option<Value>, Refusal> {
    let api = match order.target {
        Target::Receiver { .. } => "send",
        Target::Message { .. } => "reply",
    };
    gateway_rate(state, api, &order.app_id, now_ms)?;
    let Some(uuid) = &order.uuid else {
        return Ok(None);
    };
    let key = (uuid_scope(state, order), uuid.clone());
    let life_ms = UUID_LIFE.most * 1_000;
    match state.uuids.get(&key) {
        Some((_, UuidState::InFlight)) => {
            return Err(Refusal::new(230_049, "The message is being sent."));
        }
        Some((since, UuidState::Done(first))) if since.saturating_add(life_ms) > now_ms => {
            if state.switches.uuid_repeat == UuidRepeat::Error {
                return Err(Refusal::parameter("uuid is repeated"));
            }
            let first = state.world.messages.get(first);
            return Ok(first.map(|first| wire::message_object(&state.world, first)));
        }
        _ => {}
    }
    state.uuids.insert(key, (now_ms, UuidState::InFlight));
    Ok(None)
}

/// Among which calls the `uuid` of this one must be unique.
fn uuid_scope(state: &State, order: &Order) -> String {
    let app_id = &order.app_id;
    match (state.switches.uuid_scope, &order.target) {
        (UuidScope::App, _any) => app_id.clone(),
        (UuidScope::Endpoint, Target::Receiver { .. }) => format!("{app_id}/create"),
        (UuidScope::Endpoint, Target::Message { .. }) => format!("{app_id}/reply"),
        (UuidScope::Chat, Target::Receiver { id, .. }) => format!("{app_id}/{id}"),
        (UuidScope::Chat, Target::Message { message_id, .. }) => {
            let chat = state.world.messages.get(message_id).map(|parent| &parent.chat_id);
            format!("{app_id}/{}", chat.map_or("", String::as_str))
        }
    }
}

fn finish(shared: &Arc<Shared>, order: &Order) -> Result<Value, Refusal> {
    let now_ms = shared.now_ms();
    let mut state = shared.lock();
    let made = create(&mut state, order, now_ms);
    if let Some(uuid) = &order.uuid {
        let key = (uuid_scope(&state, order), uuid.clone());
        match &made {
            Ok(message) => {
                let done = UuidState::Done(message.message_id.clone());
                state.uuids.insert(key, (now_ms, done));
            }
            Err(_) => {
                state.uuids.remove(&key);
            }
        }
    }
    let message = made?;
    let object = wire::message_object(&state.world, &message);
    let message_id = message.message_id.clone();
    cardkit::link(&mut state.world, &message);
    state.world.insert(message);
    seen::note(&mut state.world, &message_id, now_ms);
    drop(state);
    shared.changed();
    Ok(object)
}

fn create(state: &mut State, order: &Order, now_ms: u64) -> Result<Message, Refusal> {
    let (chat, parent) = match &order.target {
        Target::Receiver { id_type, id } => (receiver(state, order, id_type, id)?, None),
        Target::Message { message_id, .. } => {
            let parent = answerable(state, message_id)?;
            let chat = state.world.chat(&parent.chat_id).cloned();
            (chat.ok_or_else(Refusal::message_gone)?, Some(parent))
        }
    };
    may_speak(state, &chat, &order.app_id)?;
    if state.world.messages.len() >= MESSAGES_MAX {
        let refusal = Refusal::new(2_200, "internal error: the playground is full");
        return Err(refusal.with_status(StatusCode::INTERNAL_SERVER_ERROR));
    }
    check_length(&order.msg_type, order.request_bytes)?;
    let received = if let Some(card_id) = cardkit::named(&order.msg_type, &order.content) {
        cardkit::take(state, &card_id, &order.app_id, now_ms)?
    } else {
        content::read(state.author(&order.app_id), &chat, &order.msg_type, &order.content)?
    };
    let thread_id = match (&order.target, &parent) {
        (Target::Message { in_thread, .. }, Some(parent)) => {
            thread_of(state, &chat, parent, *in_thread)?
        }
        _ => None,
    };
    place_rate(state, &chat, now_ms)?;
    let root =
        |parent: &Message| parent.root_id.clone().unwrap_or_else(|| parent.message_id.clone());
    Ok(Message {
        message_id: format!("om_{}", state.dice.hex()),
        chat_id: chat.chat_id,
        sender: Actor::App(order.app_id.clone()),
        msg_type: order.msg_type.clone(),
        content: received.content,
        card: received.card,
        card_id: received.card_id,
        mentions: received.mentions,
        mentions_all: received.mentions_all,
        root_id: parent.as_ref().map(root),
        parent_id: parent.map(|parent| parent.message_id),
        thread_id,
        upper_id: None,
        created_ms: now_ms,
        updated_ms: now_ms,
        edits: 0,
        presses: 0,
        recalled: false,
        reactions: Vec::new(),
    })
}

/// The chat that a receiver stands for; the conversation with a person is opened if need be.
fn receiver(state: &mut State, order: &Order, id_type: &str, id: &str) -> Result<Chat, Refusal> {
    let invalid = || Refusal::new(230_034, "The receive_id is invalid for its receive_id_type.");
    if id_type == "chat_id" {
        let chat = state.world.chats.iter().find(|chat| chat.chat_id == id);
        return chat.cloned().ok_or_else(invalid);
    }
    let user = state.world.users.iter().find(|user| match id_type {
        "open_id" => user.open_id == id,
        "union_id" => user.union_id == id,
        "user_id" => user.user_id.as_deref() == Some(id),
        _ => false,
    });
    let open_id = match user {
        Some(user) => user.open_id.clone(),
        None if id_type == "open_id" && id.starts_with("ou_") => {
            return Err(Refusal::new(99_992_351, "not a valid open_id: the id is unknown"));
        }
        None => return Err(invalid()),
    };
    Ok(state.world.ensure_p2p(&open_id, &order.app_id))
}

/// A message that may be replied to.
fn answerable(state: &State, message_id: &str) -> Result<Message, Refusal> {
    if !message_id.starts_with("om_") {
        return Err(Refusal::parameter("invalid message_id"));
    }
    let message = state.world.messages.get(message_id);
    let message = message.ok_or_else(Refusal::message_gone)?;
    if message.recalled {
        return Err(Refusal::recalled_target());
    }
    Ok(message.clone())
}

/// Whether an app may write into a chat at all.
pub(crate) fn may_speak(state: &State, chat: &Chat, app_id: &str) -> Result<(), Refusal> {
    if chat.dissolved {
        return Err(Refusal::new(232_009, "The chat was dissolved."));
    }
    if !chat.bots.iter().any(|bot| bot == app_id) {
        return Err(Refusal::bot_outside());
    }
    if chat.muted {
        return Err(Refusal::new(230_035, "No permission to send messages to this chat."));
    }
    let hidden = chat.kind == ChatKind::P2p
        && chat
            .members
            .iter()
            .any(|member| state.world.user(member).is_some_and(|user| !user.available));
    if hidden {
        let sentence = "Bot has NO availability to this user.";
        return Err(Refusal::new(230_013, sentence));
    }
    Ok(())
}

/// The thread of a reply: the parent's own, or a new one if the caller opens it.
fn thread_of(
    state: &mut State,
    chat: &Chat,
    parent: &Message,
    in_thread: bool,
) -> Result<Option<String>, Refusal> {
    if parent.thread_id.is_some() || !in_thread {
        return Ok(parent.thread_id.clone());
    }
    if !chat.threads {
        return Err(Refusal::new(230_071, "The chat does not support replying in threads."));
    }
    let thread_id = format!("omt_{}", state.dice.hex().get(..16).unwrap_or_default());
    if let Some(root) = state.world.messages.get_mut(&parent.message_id) {
        root.thread_id = Some(thread_id.clone());
    }
    Ok(Some(thread_id))
}

//! What a person does on the page. Fields come from the query and from the form; what is wrong is
//! said in a toast, with a status of 4xx.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{RawQuery, State as Extracted};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use maud::html;
use serde_json::json;

use super::assets::image_kind;
use super::view::{View, empty, shown, until_nine};
use super::words::{Language, Words};
use crate::playground::callbacks::{self, CardPress, EventPush};
use crate::playground::card::CardButton;
use crate::playground::limits::{FILE_BYTES, IMAGE_BYTES, TEXT_BYTES};
use crate::playground::people::{self, PlaygroundError, Say};
use crate::playground::resources::{self, Sent};
use crate::playground::state::Shared;
use crate::playground::verbs;
use crate::playground::world::{Actor, Chat, ChatKind};

/// The longest name of a user or group.
const NAME_CHARS_MAX: usize = 40;

type Sim = Extracted<Arc<Shared>>;
type Answer = Result<Response, Wrong>;

/// What is wrong: a status and a sentence for the toast.
pub(super) struct Wrong(StatusCode, String);

impl axum::response::IntoResponse for Wrong {
    fn into_response(self) -> Response {
        let mut response = toast("error", &self.1);
        *response.status_mut() = self.0;
        response
    }
}

fn toast(kind: &str, sentence: &str) -> Response {
    shown(
        html! { div class={ "toast " (kind) } data-test="toast" data-kind=(kind) { (sentence) } }.0,
    )
}

/// The fields of one request.
struct Fields(Vec<(String, String)>);

impl Fields {
    fn of(query: Option<&String>, body: &[u8]) -> Self {
        let query = query.map_or("", String::as_str).as_bytes();
        let pairs = [query, body].into_iter().flat_map(url::form_urlencoded::parse);
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn one(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    fn some(&self, name: &str) -> Option<String> {
        Some(self.one(name).to_owned()).filter(|value| !value.is_empty())
    }

    fn words(&self) -> &'static Words {
        Language::chosen(Some(self.one("lang")), None).words()
    }

    fn wrong(&self, error: &PlaygroundError) -> Wrong {
        let words = self.words();
        match error {
            PlaygroundError::NoUser(_)
            | PlaygroundError::NoChat(_)
            | PlaygroundError::NoApp(_)
            | PlaygroundError::NoMessage(_) => {
                Wrong(StatusCode::NOT_FOUND, format!("{} {error}", words.unknown))
            }
            PlaygroundError::NotAllowed(_) => {
                Wrong(StatusCode::FORBIDDEN, words.not_allowed.to_owned())
            }
            PlaygroundError::Bad(_) | PlaygroundError::Start(_) => {
                Wrong(StatusCode::BAD_REQUEST, error.to_string())
            }
        }
    }

    fn bad(sentence: &str) -> Wrong {
        Wrong(StatusCode::BAD_REQUEST, sentence.to_owned())
    }

    /// A name that somebody chose.
    fn name(&self) -> Result<String, Wrong> {
        let name = self.one("name").trim().to_owned();
        let is_plain =
            name.chars().all(|letter| letter.is_alphanumeric() || " _-.".contains(letter));
        let length = name.chars().count();
        if length == 0 || length > NAME_CHARS_MAX || !is_plain {
            return Err(Self::bad(self.words().bad_name));
        }
        Ok(name)
    }

    /// The user who acts is in the chat of the message, which was not taken back.
    fn inside(&self, shared: &Shared) -> Result<Actor, Wrong> {
        let id = self.one("message");
        let state = shared.lock();
        let message = state.world.messages.get(id);
        let message =
            message.ok_or_else(|| self.wrong(&PlaygroundError::NoMessage(id.to_owned())))?;
        let me = state.world.user(self.one("me"));
        let me =
            me.ok_or_else(|| self.wrong(&PlaygroundError::NoUser(self.one("me").to_owned())))?;
        let chat = state.world.chat(&message.chat_id);
        if message.recalled || !chat.is_some_and(|chat| chat.members.contains(&me.open_id)) {
            return Err(self.wrong(&PlaygroundError::NotAllowed(me.alias.clone())));
        }
        Ok(message.sender.clone())
    }
}

pub(super) async fn say(
    Extracted(shared): Sim,
    RawQuery(query): RawQuery,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let words = Fields::of(query.as_ref(), &[]).words();
    let too_long = || Wrong(StatusCode::PAYLOAD_TOO_LARGE, words.too_long.to_owned());
    let body = body.map_err(|_too_large| too_long())?;
    let fields = Fields::of(query.as_ref(), &body);
    let text = fields.one("text").replace("\r\n", "\n");
    if text.trim().is_empty() {
        return Err(Fields::bad(words.empty_text));
    }
    if TEXT_BYTES.refuses(text.len()) {
        return Err(too_long());
    }
    let mentions: String = fields.all("mention").flat_map(|name| ["@{", name, "} "]).collect();
    let mut wanted =
        Say::new(fields.one("me"), fields.one("chat"), &format!("{mentions}{}", text.trim_end()));
    wanted.mention_bot = fields.one("to_bot") == "1";
    wanted.parent = fields.some("parent");
    wanted.in_thread = fields.one("in_thread") == "1";
    in_this_chat(&shared, &fields, wanted.parent.as_deref())?;
    people::say(&shared, &wanted).map_err(|error| fields.wrong(&error))?;
    Ok(empty())
}

/// One answers within the chat.
fn in_this_chat(shared: &Shared, fields: &Fields, parent: Option<&str>) -> Result<(), Wrong> {
    let Some(parent) = parent else {
        return Ok(());
    };
    let state = shared.lock();
    let chat = state.world.chat(fields.one("chat")).map(|chat| &chat.chat_id);
    let known = state.world.messages.get(parent);
    if known.is_some_and(|known| Some(&known.chat_id) == chat) {
        return Ok(());
    }
    Err(fields.wrong(&PlaygroundError::NoMessage(parent.to_owned())))
}

/// The body is the file; its name and kind stand in the query.
pub(super) async fn upload(
    Extracted(shared): Sim,
    RawQuery(query): RawQuery,
    body: Result<Bytes, BytesRejection>,
) -> Answer {
    let fields = Fields::of(query.as_ref(), &[]);
    let words = fields.words();
    let is_image = fields.one("kind") == "image";
    let (limit, sentence) = if is_image {
        (IMAGE_BYTES, words.too_large_image)
    } else {
        (FILE_BYTES, words.too_large_file)
    };
    let too_large = || Wrong(StatusCode::PAYLOAD_TOO_LARGE, sentence.to_owned());
    let body = body.map_err(|_too_large| too_large())?;
    if limit.refuses(body.len()) {
        return Err(too_large());
    }
    if body.is_empty() {
        return Err(Fields::bad(words.empty_file));
    }
    if is_image && image_kind(&body).is_none() {
        return Err(Wrong(StatusCode::UNSUPPORTED_MEDIA_TYPE, words.not_an_image.to_owned()));
    }
    let sent = Sent {
        user: fields.one("me").to_owned(),
        chat: fields.one("chat").to_owned(),
        msg_type: if is_image { "image" } else { "file" }.to_owned(),
        name: fields.one("name").chars().filter(|letter| !letter.is_control()).take(255).collect(),
        bytes: body.to_vec(),
        parent: fields.some("parent"),
        ..Sent::default()
    };
    in_this_chat(&shared, &fields, sent.parent.as_deref())?;
    resources::send(&shared, &sent).map_err(|error| fields.wrong(&error))?;
    Ok(empty())
}

pub(super) async fn react(
    Extracted(shared): Sim,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Answer {
    let fields = Fields::of(query.as_ref(), &body);
    fields.inside(&shared)?;
    people::react(&shared, fields.one("me"), fields.one("message"), fields.one("emoji"))
        .map_err(|error| fields.wrong(&error))?;
    Ok(empty())
}

pub(super) async fn recall(
    Extracted(shared): Sim,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Answer {
    let fields = Fields::of(query.as_ref(), &body);
    let sender = fields.inside(&shared)?;
    let me = shared.lock().world.user(fields.one("me")).map(|me| me.open_id.clone());
    if me.map(Actor::User) != Some(sender) {
        return Err(Wrong(StatusCode::FORBIDDEN, fields.words().not_yours.to_owned()));
    }
    people::recall(&shared, fields.one("message")).map_err(|error| fields.wrong(&error))?;
    Ok(empty())
}

pub(super) async fn press(
    Extracted(shared): Sim,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Answer {
    let fields = Fields::of(query.as_ref(), &body);
    let words = fields.words();
    let place = fields.one("button").parse().map_err(|_no_number| Fields::bad(words.unknown))?;
    let button = CardButton::Place(place);
    let wanted = CardPress::of_button(fields.one("me"), fields.one("message"), button);
    let pressed = callbacks::press(&shared, wanted).await;
    let outcome = pressed.map_err(|error| fields.wrong(&error))?;
    if outcome.client_error != 0 {
        let sentence = format!("{} {}", words.press_failed, outcome.client_error);
        return Ok(toast("error", &sentence));
    }
    Ok(match outcome.toast {
        Some((kind, text)) => {
            let known = ["success", "error", "warning"].into_iter().find(|known| *known == kind);
            toast(known.unwrap_or("info"), &text)
        }
        None => toast("info", words.pressed),
    })
}

/// Tells htmx to open another page.
fn open(address: &str) -> Response {
    let mut response = empty();
    if let Ok(address) = HeaderValue::from_str(address) {
        response.headers_mut().insert("hx-redirect", address);
    }
    *response.status_mut() = StatusCode::OK;
    response
}

fn view(shared: &Shared, fields: &Fields, headers: &HeaderMap) -> View {
    let query = fields.0.iter().cloned().collect();
    View::of(&query, headers, &shared.lock().world)
}

pub(super) async fn add_user(
    Extracted(shared): Sim,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let fields = Fields::of(query.as_ref(), &body);
    let name = fields.name()?;
    if shared.lock().world.user(&name).is_some() || matches!(name.as_str(), "bot" | "all") {
        return Err(Wrong(StatusCode::CONFLICT, fields.words().taken.to_owned()));
    }
    verbs::change_user(&shared, &name, |_as_it_is| {});
    Ok(open(&view(&shared, &fields, &headers).with_me(&name).address("/", &[])))
}

pub(super) async fn add_chat(
    Extracted(shared): Sim,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let fields = Fields::of(query.as_ref(), &body);
    let me = fields.one("me");
    let known = shared.lock().world.user(me).map(|me| me.open_id.clone());
    let open_id = known.ok_or_else(|| fields.wrong(&PlaygroundError::NoUser(me.to_owned())))?;
    let chat = if fields.one("kind") == "group" {
        let name = fields.name()?;
        let members: Vec<&str> = std::iter::once(me)
            .chain(fields.all("member").filter(|member| *member != me))
            .collect();
        let state = shared.lock();
        if let Some(unknown) = members.iter().find(|member| state.world.user(member).is_none()) {
            return Err(fields.wrong(&PlaygroundError::NoUser((*unknown).to_owned())));
        }
        if state.world.chat(&name).is_some() {
            return Err(Wrong(StatusCode::CONFLICT, fields.words().taken.to_owned()));
        }
        drop(state);
        let chat = verbs::add_chat(&shared, &name, ChatKind::Group, &members, None)
            .map_err(|error| fields.wrong(&error))?;
        tell(&shared, &open_id, "im.chat.member.bot.added_v1", &chat);
        chat
    } else {
        let app = verbs::app(&shared, None).map_err(|error| fields.wrong(&error))?;
        let chat = shared.lock().world.ensure_p2p(&open_id, &app.app_id);
        shared.changed();
        tell(&shared, &open_id, "im.chat.access_event.bot_p2p_chat_entered_v1", &chat);
        chat
    };
    Ok(open(&view(&shared, &fields, &headers).with_chat(&chat.chat_id).address("/", &[])))
}

/// Tells the bot, beside the page's answer, that it came into a chat or that one was opened.
fn tell(shared: &Arc<Shared>, open_id: &str, event_type: &str, chat: &Chat) {
    let operator = shared.lock().world.user(open_id).cloned();
    let Some(operator) = operator else { return };
    let event = json!({
        "chat_id": chat.chat_id,
        "operator_id": {"open_id": operator.open_id, "user_id": operator.user_id},
        "operator_tenant_key": operator.tenant_key,
        "external": false,
    });
    let (telling, event) = (Arc::clone(shared), EventPush::new(event_type, event));
    shared.tasks.spawn("told", async move {
        // Without an app that listens nobody is told; the page says so.
        drop(callbacks::push_event(&telling, event).await);
    });
}

/// Moves the simulator's clock on.
pub(super) async fn advance(
    Extracted(shared): Sim,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Answer {
    let fields = Fields::of(query.as_ref(), &body);
    let span_ms = match fields.one("by") {
        "minute" => 60_000,
        "hour" => 3_600_000,
        "nine" => until_nine(shared.now_ms()),
        _ => return Err(Fields::bad(fields.words().unknown)),
    };
    shared.clock.advance(Duration::from_millis(span_ms));
    shared.changed();
    Ok(empty())
}

/// Two users, a private chat and a group, for whoever comes to an empty playground.
pub(super) async fn start(
    Extracted(shared): Sim,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let fields = Fields::of(query.as_ref(), &body);
    let app = verbs::app(&shared, None).map_err(|error| fields.wrong(&error))?;
    let (first, second) = ("lin", "chen");
    if shared.lock().world.users.is_empty() {
        verbs::change_user(&shared, first, |user| "小林".clone_into(&mut user.name));
        verbs::change_user(&shared, second, |user| "小陈".clone_into(&mut user.name));
        verbs::add_chat(&shared, "team", ChatKind::Group, &[first, second], None)
            .map_err(|error| fields.wrong(&error))?;
    }
    let mut state = shared.lock();
    let me = state.world.users.first().map(|me| (me.alias.clone(), me.open_id.clone()));
    let (me, open_id) = me.unwrap_or_default();
    let chat = state.world.ensure_p2p(&open_id, &app.app_id);
    drop(state);
    shared.changed();
    let view = view(&shared, &fields, &headers).with_me(&me).with_chat(&chat.chat_id);
    Ok(open(&view.address("/", &[])))
}

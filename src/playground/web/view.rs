//! What one page shows: who looks, which chat, which thread, in which language; and how the parts
//! of the page are fetched anew.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use jiff::Timestamp as Civil;
use jiff::tz::Offset;
use maud::{DOCTYPE, Markup, html};

use super::words::{Language, Words};
use crate::playground::request::Query;
use crate::playground::world::{Chat, User, World};

/// The zone in which the page shows times.
const HOURS_EAST: i8 = 8;

/// The choices that stand in the address.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    pub(super) language: Language,
    /// The alias of who looks; empty: there is nobody yet.
    pub(super) me: String,
    /// `oc_…`; empty: no chat is open.
    pub(super) chat: String,
}

impl View {
    pub(super) fn of(query: &Query, headers: &HeaderMap, world: &World) -> Self {
        let asked = query.get("lang").map(String::as_str);
        let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let wanted = query.get("me").and_then(|me| world.user(me));
        let me = wanted.or_else(|| world.users.first());
        let chat = query.get("chat").and_then(|chat| world.chat(chat));
        let chat = chat.filter(|chat| me.is_some_and(|me| chat.members.contains(&me.open_id)));
        Self {
            language: Language::chosen(asked, accepted),
            me: me.map_or_else(String::new, |me| me.alias.clone()),
            chat: chat.map_or_else(String::new, |chat| chat.chat_id.clone()),
        }
    }

    pub(super) fn words(&self) -> &'static Words {
        self.language.words()
    }

    /// An address with these choices and more.
    pub(super) fn address(&self, path: &str, more: &[(&str, &str)]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("lang", self.language.code()).append_pair("me", &self.me);
        if !self.chat.is_empty() {
            query.append_pair("chat", &self.chat);
        }
        for (name, value) in more {
            query.append_pair(name, value);
        }
        format!("{path}?{}", query.finish())
    }

    pub(super) fn with_chat(&self, chat_id: &str) -> Self {
        Self { chat: chat_id.to_owned(), ..self.clone() }
    }

    pub(super) fn with_me(&self, alias: &str) -> Self {
        Self { me: alias.to_owned(), ..self.clone() }
    }

    pub(super) fn with_language(&self, language: Language) -> Self {
        Self { language, ..self.clone() }
    }
}

/// A part of the page that fetches itself when something changed.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) id: &'static str,
    /// Where it comes from.
    pub(super) address: String,
    /// When it is fetched, in htmx's words.
    pub(super) trigger: &'static str,
    pub(super) content: Markup,
}

impl Part {
    fn mark(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.content.0.hash(&mut hasher);
        format!("{:x}", hasher.finish())
    }

    pub(super) fn markup(&self) -> Markup {
        let address = format!("{}&have={}", self.address, self.mark());
        html! {
            div id=(self.id) hx-get=(address) hx-trigger=(self.trigger) hx-swap="outerHTML"
                hx-target="this" hx-sync="this:replace" { (self.content) }
        }
    }

    /// The part, or that it is as the caller has it.
    pub(super) fn answer(&self, query: &Query) -> Response {
        if query.get("have") == Some(&self.mark()) {
            return empty();
        }
        shown(self.markup().0)
    }
}

pub(super) fn empty() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

pub(super) fn shown(text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, html);
    response
}

/// The frame around a whole page.
pub(super) fn document(view: &View, body: &Markup) -> Markup {
    // Without evaluating strings as code, and with refusals shown as toasts.
    let config = r##"{"allowEval":false,"includeIndicatorStyles":false,"historyEnabled":false,"responseHandling":[{"code":"204","swap":false},{"code":"[23]..","swap":true},{"code":"[45]..","swap":true,"error":true,"target":"#toasts","swapOverride":"beforeend"}]}"##;
    html! {
        (DOCTYPE)
        html lang=(view.language.tag()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="htmx-config" content=(config);
                title { (view.words().title) }
                link rel="icon" href="/web/assets/favicon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/web/assets/chat.css";
                script src="/web/assets/htmx.min.js" defer {}
                script src="/web/assets/sse.min.js" defer {}
                script src="/web/assets/chat.js" defer {}
            }
            (body)
        }
    }
}

/// A time as people in the page's zone write it.
pub(super) fn civil(at_ms: u64, format: &str) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|at| Civil::from_millisecond(at).ok());
    let shown = at.map(|at| Offset::constant(HOURS_EAST).to_datetime(at));
    shown.map_or_else(String::new, |at| at.strftime(format).to_string())
}

/// How long until it is nine in the morning in the page's zone; a whole day at nine itself.
pub(super) fn until_nine(now_ms: u64) -> u64 {
    const HOUR: u64 = 3_600_000;
    let east = u64::from(HOURS_EAST.unsigned_abs());
    let since_nine = now_ms.saturating_add((24 + east - 9) * HOUR) % (24 * HOUR);
    24 * HOUR - since_nine
}

/// What people call a chat: a group's alias, the bot of a private chat.
pub(super) fn chat_name(world: &World, chat: &Chat) -> String {
    let bot = chat.bots.first().and_then(|bot| world.app(bot));
    match (chat.kind, bot) {
        (crate::playground::ChatKind::P2p, Some(bot)) => bot.name.clone(),
        _ => chat.alias.clone(),
    }
}

/// A coloured square with the first letter of a name.
pub(super) fn avatar(name: &str, is_bot: bool) -> Markup {
    let colour = if is_bot { "bot".to_owned() } else { colour(name) };
    html! { span class={ "avatar " (colour) } aria-hidden="true" { (initial(name)) } }
}

/// The same of a person, small.
pub(super) fn small_avatar(name: &str) -> Markup {
    html! { span class={ "avatar small " (colour(name)) } aria-hidden="true" { (initial(name)) } }
}

fn colour(name: &str) -> String {
    let sum = name.bytes().fold(0_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    format!("a{}", sum % 7)
}

fn initial(name: &str) -> String {
    name.chars().take(1).flat_map(char::to_uppercase).collect()
}

pub(super) fn user_name<'world>(world: &'world World, alias: &'world str) -> &'world str {
    world.user(alias).map_or(alias, |user: &User| user.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_in_the_morning_is_always_ahead() {
        let hour = 3_600_000;
        for (now, expected) in [(hour, 24 * hour), (0, hour), (2 * hour, 23 * hour), (hour - 1, 1)]
        {
            assert_eq!(until_nine(now), expected, "{now}");
        }
        assert_eq!(civil(hour, "%H:%M"), "09:00");
    }
}

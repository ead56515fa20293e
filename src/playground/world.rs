//! What exists on the simulated platform: apps, users, chats, messages, reactions.
//!
//! Plain data and look-ups. Who may do what is decided by the endpoints; what is pushed, by
//! `push`. A user or chat is found by its alias (`u1`) or by its platform id (`ou_…`, `oc_…`).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::cardkit::Entity;
use super::dice::stable_hex;
use super::seen::States;
use super::settings::{AppSettings, GroupMessages, LongConnection, Transport};

/// How many messages one playground keeps; beyond that nobody may speak.
pub(crate) const MESSAGES_MAX: usize = 1_000_000;

/// An app and its bot.
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "the fields are called as on the wire")]
pub(crate) struct App {
    pub(crate) app_id: String,
    pub(crate) app_secret: String,
    pub(crate) encrypt_key: String,
    pub(crate) verification_token: String,
    pub(crate) open_id: String,
    pub(crate) name: String,
    pub(crate) tenant_key: String,
    pub(crate) event_url: Option<String>,
    pub(crate) group_messages: GroupMessages,
    pub(crate) transport: Transport,
    pub(crate) long_connection: LongConnection,
}

impl App {
    pub(crate) fn new(settings: &AppSettings, tenant_key: &str) -> Self {
        let open_id = if settings.bot_open_id.is_empty() {
            format!("ou_{}", stable_hex("bot", &settings.app_id))
        } else {
            settings.bot_open_id.clone()
        };
        Self {
            app_id: settings.app_id.clone(),
            app_secret: settings.app_secret.clone(),
            encrypt_key: settings.encrypt_key.clone(),
            verification_token: settings.verification_token.clone(),
            open_id,
            name: settings.name.clone(),
            tenant_key: tenant_key.to_owned(),
            event_url: (!settings.event_url.is_empty()).then(|| settings.event_url.clone()),
            group_messages: settings.group_messages,
            transport: settings.transport,
            long_connection: settings.long_connection,
        }
    }

    /// Whether its events go anywhere.
    pub(crate) fn is_reachable(&self) -> bool {
        self.transport == Transport::Websocket || self.event_url.is_some()
    }
}

/// A person of the simulated platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The name in tests and in the control API.
    pub alias: String,
    /// `ou_…`, derived from the alias.
    pub open_id: String,
    /// `on_…`, derived from the alias.
    pub union_id: String,
    /// The tenant's short id; `None`: the app may not see it.
    pub user_id: Option<String>,
    /// What people call the user.
    pub name: String,
    /// The user's tenant.
    pub tenant_key: String,
    /// Whether the bots are available to this user; if not, sends answer 230013.
    pub available: bool,
    /// The departments (`od-…`) that the user is directly in.
    #[serde(default)]
    pub departments: Vec<String>,
    /// The user groups that the user belongs to.
    #[serde(default)]
    pub groups: Vec<String>,
}

impl User {
    pub(crate) fn new(alias: &str, tenant_key: &str) -> Self {
        let hex = stable_hex("user", alias);
        Self {
            alias: alias.to_owned(),
            open_id: format!("ou_{hex}"),
            union_id: format!("on_{}", stable_hex("union", alias)),
            user_id: hex.get(..8).map(str::to_owned),
            name: alias.to_owned(),
            tenant_key: tenant_key.to_owned(),
            available: true,
            departments: Vec::new(),
            groups: Vec::new(),
        }
    }
}

/// Two people, or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatKind {
    /// One user and one bot.
    P2p,
    /// A group.
    Group,
}

impl ChatKind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::P2p => "p2p",
            Self::Group => "group",
        }
    }
}

/// A conversation of the simulated platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    /// The name in tests and in the control API.
    pub alias: String,
    /// `oc_…`, derived from the alias.
    pub chat_id: String,
    /// Two people, or many.
    pub kind: ChatKind,
    /// Open ids of the people in it.
    pub members: Vec<String>,
    /// App ids of the bots in it.
    pub bots: Vec<String>,
    /// Whether replies may open threads; if not, 230071.
    pub threads: bool,
    /// Whether bots may not speak here (230035).
    pub muted: bool,
    /// Whether it was dissolved (232009).
    pub dissolved: bool,
    /// The open id of the person it belongs to; `None`: a bot owns it.
    #[serde(default)]
    pub owner: Option<String>,
}

impl Chat {
    pub(crate) fn new(alias: &str, kind: ChatKind) -> Self {
        Self {
            alias: alias.to_owned(),
            chat_id: format!("oc_{}", stable_hex("chat", alias)),
            kind,
            members: Vec::new(),
            bots: Vec::new(),
            threads: kind == ChatKind::Group,
            muted: false,
            dissolved: false,
            owner: None,
        }
    }
}

/// Who wrote or reacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// An open id.
    User(String),
    /// An app id.
    App(String),
}

/// One mention of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    /// `@_user_1`
    pub(crate) key: String,
    pub(crate) open_id: String,
    pub(crate) union_id: Option<String>,
    pub(crate) user_id: Option<String>,
    pub(crate) name: String,
    pub(crate) tenant_key: String,
    pub(crate) is_bot: bool,
}

/// One reaction of one actor to one message.
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "the fields are called as on the wire")]
pub(crate) struct Reaction {
    pub(crate) reaction_id: String,
    pub(crate) emoji_type: String,
    pub(crate) by: Actor,
    pub(crate) at_ms: u64,
}

/// A message as the platform keeps it.
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "the fields are called as on the wire")]
pub(crate) struct Message {
    pub(crate) message_id: String,
    pub(crate) chat_id: String,
    pub(crate) sender: Actor,
    pub(crate) msg_type: String,
    /// The received form: what GET returns and what is pushed.
    pub(crate) content: String,
    /// The card of an interactive message as it was sent.
    pub(crate) card: Option<serde_json::Value>,
    /// The card entity that it shows.
    pub(crate) card_id: Option<String>,
    pub(crate) mentions: Vec<Mention>,
    pub(crate) mentions_all: bool,
    pub(crate) root_id: Option<String>,
    pub(crate) parent_id: Option<String>,
    pub(crate) thread_id: Option<String>,
    /// The merged forward that holds it.
    pub(crate) upper_id: Option<String>,
    pub(crate) created_ms: u64,
    pub(crate) updated_ms: u64,
    pub(crate) edits: u64,
    /// How many times people pressed something in its card.
    pub(crate) presses: u64,
    pub(crate) recalled: bool,
    pub(crate) reactions: Vec<Reaction>,
}

/// A file that a user sent with a message, or that an app uploaded.
#[derive(Clone, Debug)]
pub(crate) struct Upload {
    /// The app that uploaded it; `None`: it came from a user.
    pub(crate) app_id: Option<String>,
    /// What the app said that it is; empty: an image, or a user's.
    pub(crate) kind: String,
    pub(crate) file_name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Everything that exists. Maps are ordered, so that summaries are stable.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) tenant_key: String,
    pub(crate) apps: Vec<App>,
    pub(crate) users: Vec<User>,
    pub(crate) chats: Vec<Chat>,
    pub(crate) messages: std::collections::HashMap<String, Message>,
    /// Message ids of each chat, in the order of arrival.
    pub(crate) order: BTreeMap<String, Vec<String>>,
    /// Direct answers to each message, in the order of arrival.
    pub(crate) answers: BTreeMap<String, Vec<String>>,
    /// What merged forwards hold, in order; such messages stand in no chat.
    pub(crate) held: BTreeMap<String, Vec<String>>,
    /// Uploads by their keys.
    pub(crate) uploads: BTreeMap<String, Upload>,
    /// Card entities by their ids.
    pub(crate) entities: BTreeMap<String, Entity>,
    /// When streams close themselves, and whose.
    pub(crate) streams: BTreeSet<(u64, String)>,
    /// What people saw of each message of a bot.
    pub(crate) states: States,
}

impl World {
    pub(crate) fn app(&self, app_id: &str) -> Option<&App> {
        self.apps.iter().find(|app| app.app_id == app_id)
    }

    pub(crate) fn user(&self, name: &str) -> Option<&User> {
        self.users.iter().find(|user| user.alias == name || user.open_id == name)
    }

    /// What people call the user or the bot that an id of the platform names.
    pub(crate) fn called(&self, id: &str) -> Option<&str> {
        let user = self.users.iter().find(|user| {
            user.open_id == id || user.union_id == id || user.user_id.as_deref() == Some(id)
        });
        let bot = || self.apps.iter().find(|app| app.open_id == id).map(|app| app.name.as_str());
        user.map(|user| user.name.as_str()).or_else(bot)
    }

    pub(crate) fn chat(&self, name: &str) -> Option<&Chat> {
        self.chats.iter().find(|chat| chat.alias == name || chat.chat_id == name)
    }

    pub(crate) fn chat_mut(&mut self, name: &str) -> Option<&mut Chat> {
        self.chats.iter_mut().find(|chat| chat.alias == name || chat.chat_id == name)
    }

    /// The user of that alias, made if there is none.
    pub(crate) fn ensure_user(&mut self, name: &str) -> User {
        if let Some(user) = self.user(name) {
            return user.clone();
        }
        let user = User::new(name, &self.tenant_key);
        self.users.push(user.clone());
        user
    }

    /// The conversation of one user and one bot, made if there is none.
    pub(crate) fn ensure_p2p(&mut self, open_id: &str, app_id: &str) -> Chat {
        let found = self.chats.iter().find(|chat| {
            chat.kind == ChatKind::P2p
                && chat.members.iter().any(|member| member == open_id)
                && chat.bots.iter().any(|bot| bot == app_id)
        });
        if let Some(chat) = found {
            return chat.clone();
        }
        let alias = self.user(open_id).map_or(open_id, |user| &user.alias);
        let first = self.apps.first().is_some_and(|app| app.app_id == app_id);
        let alias = if first { format!("p2p:{alias}") } else { format!("p2p:{alias}:{app_id}") };
        let mut chat = Chat::new(&alias, ChatKind::P2p);
        chat.members.push(open_id.to_owned());
        chat.bots.push(app_id.to_owned());
        self.chats.push(chat.clone());
        chat
    }

    pub(crate) fn insert(&mut self, message: Message) {
        let id = message.message_id.clone();
        if let Some(upper) = &message.upper_id {
            self.held.entry(upper.clone()).or_default().push(id.clone());
            self.messages.insert(id, message);
            return;
        }
        self.order.entry(message.chat_id.clone()).or_default().push(id.clone());
        if let Some(parent) = &message.parent_id {
            self.answers.entry(parent.clone()).or_default().push(id.clone());
        }
        self.messages.insert(id, message);
    }

    /// The messages of a chat in the order of arrival.
    pub(crate) fn messages_of<'world>(
        &'world self,
        chat_id: &str,
    ) -> impl DoubleEndedIterator<Item = &'world Message> {
        let ids = self.order.get(chat_id).map_or(&[][..], Vec::as_slice);
        ids.iter().filter_map(|id| self.messages.get(id))
    }

    /// A message and, of a merged forward, everything it holds: parents first.
    pub(crate) fn whole(&self, message: &Message) -> Vec<Message> {
        let mut whole = vec![message.clone()];
        let mut next = 0;
        while let Some(upper) = whole.get(next).map(|message| message.message_id.clone()) {
            let ids = self.held.get(&upper).map_or(&[][..], Vec::as_slice);
            whole.extend(ids.iter().filter_map(|id| self.messages.get(id)).cloned());
            next += 1;
        }
        whole
    }

    /// A mention of whoever is called `name`: an alias, an open id, an app id, or `bot` for the
    /// chat's first bot.
    pub(crate) fn mention(&self, key: &str, name: &str, chat: &Chat) -> Option<Mention> {
        if let Some(user) = self.user(name) {
            return Some(Mention {
                key: key.to_owned(),
                open_id: user.open_id.clone(),
                union_id: Some(user.union_id.clone()),
                user_id: user.user_id.clone(),
                name: user.name.clone(),
                tenant_key: user.tenant_key.clone(),
                is_bot: false,
            });
        }
        let app_id = if name == "bot" { chat.bots.first()?.as_str() } else { name };
        let app = self.apps.iter().find(|app| app.app_id == app_id || app.open_id == app_id)?;
        Some(Mention {
            key: key.to_owned(),
            open_id: app.open_id.clone(),
            union_id: Some(format!("on_{}", stable_hex("union", &app.app_id))),
            user_id: None,
            name: app.name.clone(),
            tenant_key: app.tenant_key.clone(),
            is_bot: true,
        })
    }
}

//! Faults as data: which endpoint, how often, and what goes wrong.

use axum::http::Method;
use serde::{Deserialize, Serialize};

use super::dice::Dice;

/// One endpoint of the platform API, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// Every endpoint of the platform API, and what opens a long connection.
    Any,
    /// `POST /callback/ws/endpoint`
    Discovery,
    /// `GET /ws/v2`, which becomes a long connection.
    Upgrade,
    /// An event that goes out over a long connection.
    Event,
    /// A ping that comes in over a long connection.
    Ping,
    /// `POST /open-apis/auth/v3/tenant_access_token/internal`
    Token,
    /// `GET /open-apis/bot/v3/info`
    BotInfo,
    /// `POST /open-apis/im/v1/messages`
    Send,
    /// `POST /open-apis/im/v1/messages/:id/reply`
    Reply,
    /// `GET /open-apis/im/v1/messages/:id`
    Get,
    /// `GET /open-apis/im/v1/messages`
    List,
    /// `PUT /open-apis/im/v1/messages/:id`
    Edit,
    /// `PATCH /open-apis/im/v1/messages/:id`
    ChangeCard,
    /// `DELETE /open-apis/im/v1/messages/:id`
    Recall,
    /// `POST /open-apis/im/v1/messages/:id/reactions`
    React,
    /// `GET /open-apis/im/v1/messages/:id/reactions`
    Reactions,
    /// `DELETE /open-apis/im/v1/messages/:id/reactions/:reaction_id`
    Unreact,
    /// `GET /open-apis/contact/v3/users/:id`
    User,
    /// `POST /open-apis/contact/v3/users/basic_batch`
    UserNames,
    /// `GET /open-apis/contact/v3/group/member_belong`
    UserGroups,
    /// `GET /open-apis/im/v1/chats/:id`
    Chat,
    /// `GET /open-apis/im/v1/messages/:id/resources/:key`
    Resource,
    /// `POST /open-apis/cardkit/v1/cards`
    CardCreate,
    /// `PUT /open-apis/cardkit/v1/cards/:card_id`
    CardUpdate,
    /// `PATCH /open-apis/cardkit/v1/cards/:card_id/settings`
    CardSettings,
    /// `POST /open-apis/cardkit/v1/cards/:card_id/batch_update`
    CardBatch,
    /// `POST /open-apis/cardkit/v1/cards/:card_id/elements`
    ElementAdd,
    /// `PUT /open-apis/cardkit/v1/cards/:card_id/elements/:element_id`
    ElementUpdate,
    /// `PATCH /open-apis/cardkit/v1/cards/:card_id/elements/:element_id`
    ElementPatch,
    /// `DELETE /open-apis/cardkit/v1/cards/:card_id/elements/:element_id`
    ElementDelete,
    /// `PUT /open-apis/cardkit/v1/cards/:card_id/elements/:element_id/content`
    ElementContent,
    /// `POST /open-apis/interactive/v1/card/update`
    CardDelayed,
    /// `POST /open-apis/im/v1/images`
    UploadImage,
    /// `POST /open-apis/im/v1/files`
    UploadFile,
    /// `GET /open-apis/im/v1/images/:key`
    Image,
    /// `GET /open-apis/im/v1/files/:key`
    File,
    /// Anything else under `/open-apis`.
    Unknown,
}

impl Endpoint {
    /// The endpoint of a request; `None` outside the platform API.
    pub(crate) fn of(method: &Method, path: &str) -> Option<Self> {
        match (method.as_str(), path) {
            ("POST", "/callback/ws/endpoint") => return Some(Self::Discovery),
            ("GET", "/ws/v2") => return Some(Self::Upgrade),
            _ => {}
        }
        let rest = path.strip_prefix("/open-apis/")?;
        let parts: Vec<&str> = rest.split('/').collect();
        Some(match (method.as_str(), parts.as_slice()) {
            ("POST", ["auth", "v3", "tenant_access_token", "internal"]) => Self::Token,
            ("GET", ["bot", "v3", "info"]) => Self::BotInfo,
            ("POST", ["im", "v1", "messages"]) => Self::Send,
            ("GET", ["im", "v1", "messages"]) => Self::List,
            ("POST", ["im", "v1", "messages", _, "reply"]) => Self::Reply,
            ("GET", ["im", "v1", "messages", _]) => Self::Get,
            ("PUT", ["im", "v1", "messages", _]) => Self::Edit,
            ("PATCH", ["im", "v1", "messages", _]) => Self::ChangeCard,
            ("DELETE", ["im", "v1", "messages", _]) => Self::Recall,
            ("POST", ["im", "v1", "messages", _, "reactions"]) => Self::React,
            ("GET", ["im", "v1", "messages", _, "reactions"]) => Self::Reactions,
            ("DELETE", ["im", "v1", "messages", _, "reactions", _]) => Self::Unreact,
            ("POST", ["contact", "v3", "users", "basic_batch"]) => Self::UserNames,
            ("GET", ["contact", "v3", "users", _]) => Self::User,
            ("GET", ["contact", "v3", "group", "member_belong"]) => Self::UserGroups,
            ("GET", ["im", "v1", "chats", _]) => Self::Chat,
            ("GET", ["im", "v1", "messages", _, "resources", _]) => Self::Resource,
            ("POST", ["im", "v1", "images"]) => Self::UploadImage,
            ("POST", ["im", "v1", "files"]) => Self::UploadFile,
            ("GET", ["im", "v1", "images", _]) => Self::Image,
            ("GET", ["im", "v1", "files", _]) => Self::File,
            ("POST", ["interactive", "v1", "card", "update"]) => Self::CardDelayed,
            (method, ["cardkit", "v1", "cards", rest @ ..]) => Self::of_entity(method, rest),
            _ => Self::Unknown,
        })
    }

    /// Whether it is a call; else it is something on a connection that is open.
    fn is_call(self) -> bool {
        !matches!(self, Self::Event | Self::Ping)
    }

    fn of_entity(method: &str, rest: &[&str]) -> Self {
        match (method, rest) {
            ("POST", []) => Self::CardCreate,
            ("PUT", [_]) => Self::CardUpdate,
            ("PATCH", [_, "settings"]) => Self::CardSettings,
            ("POST", [_, "batch_update"]) => Self::CardBatch,
            ("POST", [_, "elements"]) => Self::ElementAdd,
            ("PUT", [_, "elements", _]) => Self::ElementUpdate,
            ("PATCH", [_, "elements", _]) => Self::ElementPatch,
            ("DELETE", [_, "elements", _]) => Self::ElementDelete,
            ("PUT", [_, "elements", _, "content"]) => Self::ElementContent,
            _ => Self::Unknown,
        }
    }

    /// Whether its calls carry a `uuid` or a `sequence`.
    pub(crate) fn is_marked(self) -> bool {
        matches!(
            self,
            Self::Send
                | Self::Reply
                | Self::CardUpdate
                | Self::CardSettings
                | Self::CardBatch
                | Self::ElementAdd
                | Self::ElementUpdate
                | Self::ElementPatch
                | Self::ElementDelete
                | Self::ElementContent
        )
    }
}

/// What goes wrong on a long connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SocketFault {
    /// The connection is closed in good order before the frame goes out.
    Close,
    /// The platform neither reads nor writes any more, and does not close.
    Freeze,
    /// One frame is lost: of an event one piece, of a ping its pong.
    LoseFrame,
    /// The pieces of an event go out in reversed order.
    Reorder,
    /// The event says that it is a card.
    AsCard,
    /// The log id is larger than a double holds.
    HugeLogId,
}

/// What goes wrong with a call, an event or a ping.
///
/// Of an event on a long connection: `Delay` keeps it back, `Drop` ends the connection abruptly in
/// the place of it, `DropAfter` right after it. Of a ping: `Drop` ends the connection. A `Refuse`
/// of `Discovery` or `Upgrade` has the form of theirs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum FaultAction {
    /// Answers with an error instead of doing the work.
    Refuse {
        /// The HTTP status.
        status: u16,
        /// The platform's code.
        code: i64,
        /// Seconds in `x-ogw-ratelimit-reset`; none: no such header.
        #[serde(default)]
        reset_s: Option<u64>,
    },
    /// Answers with these bytes instead of doing the work.
    Answer {
        /// The HTTP status.
        status: u16,
        /// The bytes.
        body: String,
    },
    /// Does the work, then answers with these bytes in the place of the true answer.
    Garble {
        /// The HTTP status.
        status: u16,
        /// The bytes.
        body: String,
    },
    /// Waits before looking at the request. If the caller hangs up meanwhile, nothing was done.
    Delay {
        /// Real milliseconds.
        ms: u64,
    },
    /// Takes a send or reply at once and carries it out after a while, even if the caller hangs
    /// up. Its `uuid` is in flight meanwhile (230049). On other endpoints: as `Delay`.
    Slow {
        /// Real milliseconds.
        ms: u64,
    },
    /// Closes the connection and does nothing.
    Drop,
    /// Does the work and closes the connection without an answer: the caller is in doubt.
    DropAfter,
    /// Only of `Event` and `Ping`; a call passes unharmed.
    Socket {
        /// What goes wrong.
        how: SocketFault,
    },
}

/// A fault and when it strikes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// Where.
    pub endpoint: Endpoint,
    /// What.
    pub action: FaultAction,
    /// How many matching calls pass unharmed first.
    #[serde(default)]
    pub skip: u32,
    /// How many times it strikes; `None`: for ever.
    #[serde(default)]
    pub times: Option<u32>,
    /// The chance of each call in a thousand; `None`: certain.
    #[serde(default)]
    pub per_mille: Option<u16>,
}

impl FaultRule {
    /// A fault that strikes the next `times` calls.
    pub fn next(endpoint: Endpoint, times: u32, action: FaultAction) -> Self {
        Self { endpoint, action, skip: 0, times: Some(times), per_mille: None }
    }

    /// A fault that strikes each call with a chance of `per_mille` in a thousand.
    pub fn by_chance(endpoint: Endpoint, per_mille: u16, action: FaultAction) -> Self {
        Self { endpoint, action, skip: 0, times: None, per_mille: Some(per_mille) }
    }
}

/// The rules in force. The first that strikes decides.
#[derive(Debug, Default)]
pub(crate) struct FaultTable {
    pub(crate) rules: Vec<FaultRule>,
}

impl FaultTable {
    /// What happens to a call of `endpoint`; counts the rules down.
    pub(crate) fn draw(&mut self, endpoint: Endpoint, dice: &mut Dice) -> Option<FaultAction> {
        let mut struck = None;
        for rule in &mut self.rules {
            let is_meant = match rule.endpoint {
                Endpoint::Any => endpoint.is_call(),
                one => one == endpoint,
            };
            if !is_meant {
                continue;
            }
            if rule.skip > 0 {
                rule.skip -= 1;
                continue;
            }
            if rule.times == Some(0) || rule.per_mille.is_some_and(|chance| !dice.chance(chance)) {
                continue;
            }
            if let Some(times) = &mut rule.times {
                *times -= 1;
            }
            struck = Some(rule.action.clone());
            break;
        }
        self.rules.retain(|rule| rule.times != Some(0));
        struck
    }
}

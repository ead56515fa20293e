//! A local Feishu platform with a chat in the browser: for tests, demonstrations and exploration.
//!
//! It speaks the platform's HTTP API as strictly as the platform does, pushes events as the
//! platform does (encrypted, signed, in order per chat, repeated on the ladder), and shows what a
//! person would see. Its wire code is its own: it shares nothing with the Lark channel, so that
//! the two check each other. Not simulated: cards of schema 1.0, templates of cards, user tokens,
//! what bots say to each other (a bot's message is pushed to nobody).
//!
//! Invariants: time is the simulator's clock alone (except how long a peer may take); everything
//! random follows from one seed; ids of people and chats follow from their aliases; the state's
//! lock is never held across an await.
//!
//! `GET /` is the web chat (`web`): what a person has of the platform, without a build step and
//! without anything from outside.
//!
//! # Control API
//! JSON in and out under `/sim/v1`, on the address of the platform API; errors are 4xx with
//! `{"error":"…"}`. Names in paths are aliases or platform ids.
//!
//! | call | body or query | does |
//! |---|---|---|
//! | `GET /state` | | summary of everything |
//! | `POST /reset` | | back to the default world |
//! | `GET /limits` | | the platform's limits with their sources |
//! | `POST /apps` | [`AppSettings`] | adds or replaces an app |
//! | `PUT /apps/{app}/event_url` | `{url}` | where its events go |
//! | `PUT /apps/{app}/transport` | `{transport: webhook or websocket}` | how its events reach it |
//! | `GET`, `PATCH /apps/{app}/long_connection` | [`LongConnection`] | what its clients are told, how events are cut |
//! | `GET /connections` | | the long connections that are open; [`Connection`]s |
//! | `POST /connections/break` | `{how: close, abort or freeze, app_id?, device_id?}` | breaks them; `{broken}` |
//! | `POST /apps/{app}/verify_url` | | the handshake; [`Handshake`] |
//! | `POST /users` | `{alias, name?, tenant_key?, available?, departments?, groups?}` | makes or changes a user |
//! | `POST /chats` | `{alias, kind: p2p or group, members, bots?}` | makes a chat |
//! | `PATCH /chats/{chat}` | `{members?, bots?, threads?, muted?, dissolved?, owner?}` | changes a chat |
//! | `GET /chats/{chat}/messages` | | what people see; [`SeenMessage`]s |
//! | `POST /say` | [`Say`] | a user says something; `{message_id}` |
//! | `POST /send` | [`Sent`] | a user sends a file; `{message_id, key}` |
//! | `GET /messages/{id}/answers` | | the bots' visible answers |
//! | `GET /messages/{id}/states` | | what people saw of a bot's message, old texts dropped to their lengths; [`SeenState`]s |
//! | `POST /messages/{id}/duplicate` | `{times?, event_id?: same or new}` | delivers it again, all at once |
//! | `POST /messages/{id}/recall` | | its sender takes it back |
//! | `POST /messages/{id}/reactions` | `{user, emoji}` | a user reacts |
//! | `POST /push` | [`RawPush`] | posts any body |
//! | `POST /events` | [`EventPush`] | pushes an event of any type; [`PushRecord`] |
//! | `POST /presses` | [`CardPress`] | a user presses something in a card; [`PressOutcome`] |
//! | `GET /pushes` | `?message_id=` | every try; [`PushRecord`]s |
//! | `GET /calls` | | every call of the platform API; [`CallRecord`]s |
//! | `DELETE /tokens` | | makes all tokens invalid |
//! | `GET`, `POST`, `DELETE /faults` | [`FaultRule`] | lists, adds, clears faults |
//! | `GET`, `PATCH /switches` | [`Switches`] | what is unsure about the platform |
//! | `PUT /daemon` | `{url, token}` | whom the page asks for the way of a message |
//! | `GET`, `POST /time` | `{advance_ms?, time_scale?}` | the simulator's clock |

mod amend;
mod callbacks;
mod card;
mod cardkit;
mod contact;
mod content;
mod control;
pub mod crypt;
mod dice;
mod faults;
mod handle;
mod limits;
mod people;
mod push;
mod reactions;
mod read;
mod refusal;
mod request;
mod resources;
mod seen;
mod send;
mod server;
mod settings;
mod socket;
mod state;
mod switches;
mod time;
mod tokens;
mod uploads;
mod verbs;
mod web;
mod wire;
mod world;

pub use callbacks::{CardGeneration, CardPress, EventPush, PressOutcome};
pub use card::{CardButton, SeenButton, SeenCard};
pub use faults::{Endpoint, FaultAction, FaultRule, SocketFault};
pub use handle::Playground;
pub use limits::{LIMITS, Limit, PUSH_LADDER, QUICK_LADDER};
pub use people::{PlaygroundError, Say};
pub use push::{PushKind, PushRecord};
pub use resources::Sent;
pub use seen::{SeenMessage, SeenReaction, SeenState};
pub use settings::{
    AppSettings, ClientConfig, FragmentOrder, GroupMessages, LongConnection, Settings, Transport,
};
pub use socket::{Break, Connection};
pub use state::CallRecord;
pub use switches::{
    AtAllDelivery, AtAllEntry, BotSender, CardRate, CardUuidRepeat, EarlyUpdates, ErrorStatus,
    FirstCards, ForwardResources, FragmentSize, FullUpdate, LateStream, MarkdownTables,
    OwnReactions, PongPayload, PressFrames, PressedCards, RateLimits, RetryEventId, RetrySignature,
    SocketAcks, SocketEnd, SocketRetries, StreamingAnswers, Switches, UuidRepeat, UuidScope,
};
pub use verbs::{Handshake, RawPush};
pub use world::{Chat, ChatKind, User};

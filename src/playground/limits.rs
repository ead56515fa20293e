//! The platform's limits as data. The sections are those of `feishu-protocol.md`.

use std::time::Duration;

use serde::Serialize;

/// One limit of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// What is limited.
    pub name: &'static str,
    /// The largest value that is still accepted.
    pub most: u64,
    /// What `most` counts.
    pub unit: &'static str,
    /// The section of the fact sheet that says so.
    pub source: &'static str,
    /// The code of the refusal; 0: no refusal of its own.
    pub code: i64,
}

macro_rules! limits {
    ($($name:ident = $most:expr, $unit:literal, $source:literal, $code:expr;)*) => {
        $(pub(crate) const $name: Limit = Limit {
            name: stringify!($name), most: $most, unit: $unit, source: $source, code: $code,
        };)*

        /// Every limit, in the order of the fact sheet.
        pub const LIMITS: &[Limit] = &[$($name),*];
    };
}

limits! {
    // name                   most          unit                        section  code
    HANDSHAKE                = 1_000,       "ms real time",             "1.4",   0;
    PUSH_CONNECT             = 2_000,       "ms real time",             "1.6",   0;
    PUSH_ANSWER              = 3_000,       "ms real time",             "1.6",   0;
    PUSH_RETRIES             = 4,           "retries of one event",     "1.6",   0;
    SOCKET_TICKET_LIFE       = 120,         "s",                        "3.1",   0;
    SOCKET_CONNECTIONS       = 50,          "connections of one app",   "3.5",   1_000_040_350;
    SOCKET_ACK               = 3_000,       "ms real time",             "3.5",   0;
    SOCKET_PING              = 30,          "s real time",              "3.4",   0;
    SOCKET_IDLE              = 300,         "s without a frame",        "11",    0;
    SOCKET_LIFE              = 3_600,       "s of one connection",      "11",    0;
    SOCKET_FRAGMENT          = 1_024,       "bytes of a payload",       "11",    0;
    SOCKET_FRAGMENT_TINY     = 100,         "bytes of a payload",       "11",    0;
    SOCKET_IN                = 1 << 20,     "bytes of a frame",         "11",    0;
    TOKEN_LIFE               = 7_200,       "s",                        "4",     99_991_663;
    TOKEN_REUSED_FROM        = 1_800,       "s of life left",           "4",     0;
    UPDATE_TOKEN_LIFE        = 1_800,       "s since the press",        "1.7",   300_020;
    UPDATE_TOKEN_USES        = 2,           "changes by one press",     "1.7",   300_030;
    EDITS                    = 20,          "edits of one message",     "5.1",   230_072;
    PAGE_SIZE                = 50,          "items",                    "5.1",   99_992_402;
    PAGE_SIZE_DEFAULT        = 20,          "items",                    "5.1",   0;
    UUID_CHARS               = 50,          "characters",               "5.2",   99_992_402;
    UUID_LIFE                = 3_600,       "s",                        "5.2",   0;
    TEXT_BYTES               = 150 * 1024,  "bytes of the request",     "5.3",   230_025;
    POST_BYTES               = 30 * 1024,   "bytes of the request",     "5.3",   230_025;
    CARD_BYTES               = 30 * 1024,   "bytes of the request",     "5.3",   230_025;
    API_PER_SECOND           = 50,          "calls of one API and app", "5.3",   99_991_400;
    API_PER_MINUTE           = 1_000,       "calls of one API and app", "5.3",   99_991_400;
    RESOURCE_BYTES           = 100 << 20,   "bytes of a download",      "5.1",   234_037;
    CHAT_PER_SECOND          = 5,           "messages into one chat",   "5.3",   230_020;
    USER_PER_SECOND          = 5,           "messages to one person",   "5.3",   230_020;
    MESSAGE_PER_SECOND       = 5,           "changes of one message",   "5.1",   230_020;
    CARD_LIFE                = 14 * 86_400, "s in which it changes",    "5.1",   230_031;
    IMAGE_BYTES              = 10 << 20,    "bytes of an image",        "5.1",   234_006;
    FILE_BYTES               = 30 << 20,    "bytes of a file",          "5.1",   234_006;
    IMAGE_SIDE               = 12_000,      "pixels of an image's side", "5.1",  234_039;
    GIF_SIDE                 = 2_000,       "pixels of a GIF's side",   "5.1",   234_039;
    AVATAR_SIDE              = 4_096,       "pixels of an avatar's side", "5.1", 234_039;
    CARD_MD_TABLES           = 3,           "Markdown tables of a card", "5.5",  230_099;
    MD_TABLES                = 4,           "tables of a Markdown text", "5.5",  230_099;
    CARD_TABLES              = 5,           "tables of a card",         "5.5",   230_099;
    CARD_COLUMNS             = 50,          "columns of a table",       "5.5",   230_099;
    CARD_PAGE_SIZE           = 10,          "rows of a table's page",   "5.5",   230_099;
    CARD_ELEMENTS            = 200,         "components of a card",     "6",     230_099;
    CARD_DEPTH               = 5,           "components in each other", "6",     230_099;
    CARD_ID_CHARS            = 20,          "characters of an id",      "6.1",   230_099;
    ENTITY_BYTES             = 30 * 1024,   "bytes of a card entity",   "6.1",   200_860;
    ENTITY_LIFE              = 14 * 86_400, "s of a card entity",       "6.1",   200_750;
    ENTITY_PER_SECOND        = 10,          "changes of a card entity", "5.3",   99_991_400;
    ENTITY_UUID_CHARS        = 64,          "characters",               "6.1",   99_992_402;
    SEQUENCE                 = 2_147_483_647, "the last sequence",      "6.1",   99_992_402;
    STREAM_LIFE              = 600,         "s since it was opened",    "6.1",   200_850;
}

/// The waits before the retries of a push, on the simulator's clock (1.6).
pub const PUSH_LADDER: [Duration; 4] = [
    Duration::from_secs(15),
    Duration::from_secs(5 * 60),
    Duration::from_secs(60 * 60),
    Duration::from_secs(6 * 60 * 60),
];

/// The waits before the retries over the long connection, if they are quick (11).
pub const QUICK_LADDER: [Duration; 4] = [
    Duration::from_secs(5),
    Duration::from_secs(10),
    Duration::from_secs(20),
    Duration::from_secs(40),
];

impl Limit {
    pub(crate) fn refuses(&self, value: usize) -> bool {
        u64::try_from(value).unwrap_or(u64::MAX) > self.most
    }

    pub(crate) const fn seconds(&self) -> Duration {
        Duration::from_secs(self.most)
    }
}

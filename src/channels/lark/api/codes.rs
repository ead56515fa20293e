//! The platform's error codes, as data. The same number can mean different things at different
//! endpoints, so a row may name the endpoints it holds for.

use super::transport::Endpoint;

/// What a code means to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Too fast; nothing was done.
    Slower,
    /// The same request is under way.
    InFlight,
    /// The token is not valid any more: renew it.
    Token,
    /// The app, its rights or its quota: nothing works until somebody acts.
    App,
    /// What the request is about does not exist any more.
    Gone,
    /// What the message says, or how it is written, is not taken.
    Content,
    /// A change that was made already, or that came after a later one.
    Stale,
    /// What the message says is not taken, however it is written.
    Words,
    /// This request will never succeed.
    Never,
}

pub(super) struct Row {
    pub(super) code: i64,
    pub(super) meaning: Meaning,
    endpoints: &'static [Endpoint],
}

const ANY: &[Endpoint] = &[];
const SENDS: &[Endpoint] = &[Endpoint::Create, Endpoint::Reply];

const ENTITY: &[Endpoint] = &[
    Endpoint::CreateEntity,
    Endpoint::UpdateEntity,
    Endpoint::StreamText,
    Endpoint::EntitySettings,
];

const fn row(code: i64, meaning: Meaning, endpoints: &'static [Endpoint]) -> Row {
    Row { code, meaning, endpoints }
}

/// The comment beside each row names the section of the protocol description it comes from.
/// Codes without a row are refusals for good.
#[rustfmt::skip]
pub(super) const ROWS: [Row; 61] = [
    row(10003, Meaning::App, ANY),          // 4: bad parameter of the token request
    row(10012, Meaning::App, ANY),          // 4: app ticket invalid
    row(10014, Meaning::App, ANY),          // 4: app not usable
    row(10015, Meaning::App, ANY),          // 4: wrong secret
    row(99_991_400, Meaning::Slower, ANY),  // 4, 5.3: rate limit of the gateway
    row(99_991_401, Meaning::App, ANY),     // 4: caller's address not allowed
    row(99_991_403, Meaning::App, ANY),     // 4: monthly quota used up
    row(99_991_661, Meaning::App, ANY),     // 4: no token in the header
    row(99_991_662, Meaning::App, ANY),     // 4: app disabled
    row(99_991_663, Meaning::Token, ANY),   // 4: tenant token invalid or expired
    row(99_991_664, Meaning::Token, ANY),   // 4: app token invalid
    row(99_991_665, Meaning::Token, ANY),   // 4: tenant token invalid
    row(99_991_668, Meaning::App, ANY),     // 4: the endpoint does not take such tokens
    row(99_991_671, Meaning::Token, ANY),   // 4: token malformed
    row(99_991_672, Meaning::App, ANY),     // 4: the app lacks a scope
    row(99_991_679, Meaning::App, ANY),     // 4: the user lacks a scope
    row(99_992_351, Meaning::Never, ANY),   // 4: open_id unknown
    row(99_992_361, Meaning::Never, ANY),   // 4: open_id of another app
    row(99_992_402, Meaning::Content, ANY),   // 4: field validation failed
    row(200_220, Meaning::Content, ENTITY), // 6.1: the card is not taken
    row(200_740, Meaning::Gone, ENTITY),    // 6.1: no such entity
    row(200_750, Meaning::Gone, ENTITY),    // 6.1: it is older than fourteen days
    row(200_770, Meaning::Stale, ENTITY),   // 6.1: this uuid was used
    row(200_810, Meaning::InFlight, ENTITY), // 6.1: somebody is pressing something in it
    row(200_850, Meaning::Never, ENTITY),   // 6.1: its texts do not grow any more
    row(200_860, Meaning::Content, ANY),    // 5.2, 6.1: more than 30 KB
    row(230_001, Meaning::Content, ANY),      // 5.4: bad parameter
    row(230_002, Meaning::Never, ANY),      // 5.4: bot not in the group
    row(230_006, Meaning::App, ANY),        // 5.4: bot capability not enabled
    row(230_011, Meaning::Gone, ANY),       // 5.4: message recalled
    row(230_013, Meaning::Never, ANY),      // 5.4: user outside the bot's range
    row(230_017, Meaning::Never, ANY),      // 5.3, 5.4: another app's resource, no rate limit
    row(230_018, Meaning::Never, ANY),      // 5.4: forbidden by group settings
    row(230_019, Meaning::Gone, SENDS),     // 5.4: topic does not exist
    row(230_020, Meaning::Slower, ANY),     // 5.3: rate limit of the messages
    row(230_022, Meaning::Words, ANY),      // 5.4: sensitive content
    row(230_025, Meaning::Content, ANY),      // 5.4: too long
    row(230_027, Meaning::Never, ANY),      // 5.4: missing permission, may hold for one chat only
    row(230_028, Meaning::Words, ANY),      // 5.4: stopped by data loss prevention
    row(230_029, Meaning::Never, ANY),      // 5.4: user resigned
    row(230_034, Meaning::Never, ANY),      // 5.4: receive_id invalid for its type
    row(230_035, Meaning::Never, ANY),      // 5.4: no right to send
    row(230_038, Meaning::Never, ANY),      // 5.4: cross-tenant private chat
    row(230_049, Meaning::InFlight, SENDS), // 5.2, 5.4: same uuid in flight
    row(230_050, Meaning::Never, ANY),      // 5.4: message invisible
    row(230_053, Meaning::Never, ANY),      // 5.4: user stopped this bot's messages
    row(230_071, Meaning::Never, ANY),      // 5.4: no threads here; edit: not the sender
    row(230_072, Meaning::Never, ANY),      // 5.4: aggregated message; edit: twenty edits used
    row(230_075, Meaning::Never, ANY),      // 5.4: encrypted chat; edit: window over
    row(230_099, Meaning::Content, ANY),    // 5.4: the card is not taken
    row(230_110, Meaning::Gone, ANY),       // 5.4: message deleted
    row(231_003, Meaning::Gone, ANY),       // 5.4: reaction: message gone
    row(231_015, Meaning::InFlight, &[Endpoint::React, Endpoint::Unreact]), // 5.4: duplicate
    row(232_009, Meaning::Never, ANY),      // 5.4: chat dissolved
    row(300_120, Meaning::InFlight, ENTITY), // 6.1: internal
    row(300_121, Meaning::InFlight, ENTITY), // 6.1: internal
    row(300_122, Meaning::InFlight, ENTITY), // 6.1: internal
    row(300_305, Meaning::Content, ENTITY), // 6.1: more than 200 components
    row(300_309, Meaning::Never, ENTITY),   // 6.1: its texts do not grow any more
    row(300_311, Meaning::Never, ENTITY),   // 6.1: another app's card
    row(300_317, Meaning::Stale, ENTITY),   // 6.1: a later change was made before
];

/// What an operator can do about a refusal.
const HINTS: [(i64, &str); 8] = [
    (99_991_672, "grant the scope; the event scope_missing of the log has the link"),
    (99_991_679, "grant the scope; the event scope_missing of the log has the link"),
    (99_992_351, "nobody has this open_id"),
    (99_992_361, "this open_id belongs to another app: a person has another one for each app"),
    (230_002, "the bot is not in this chat: add it to the group again"),
    (230_013, "the person is outside of the app's availability range"),
    (230_035, "the bot may not speak here: muted, blocked, or by a rule of the tenant"),
    (232_009, "the chat was dissolved"),
];

/// What can be done about `code`, where that is not plain from the platform's words.
pub(super) fn hint(code: i64) -> Option<&'static str> {
    HINTS.iter().find(|(known, _)| *known == code).map(|(_, hint)| *hint)
}

/// Whether the table says anything about `code` at `endpoint`. What it says of other endpoints
/// alone is no help.
pub(super) fn is_known(endpoint: Endpoint, code: i64) -> bool {
    found(endpoint, code).is_some()
}

/// What `code` means at `endpoint`.
pub(super) fn meaning(endpoint: Endpoint, code: i64) -> Meaning {
    found(endpoint, code).map_or(Meaning::Never, |row| row.meaning)
}

fn found(endpoint: Endpoint, code: i64) -> Option<&'static Row> {
    ROWS.iter().find(|row| {
        row.code == code && (row.endpoints.is_empty() || row.endpoints.contains(&endpoint))
    })
}

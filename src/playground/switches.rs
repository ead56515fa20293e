//! Switches: where the real platform is not documented, each answer that it may give.
//!
//! The tests from outside pass in every position of each switch.

use serde::{Deserialize, Serialize};

macro_rules! switch {
    ($(#[$doc:meta])* $name:ident { $($(#[$arm_doc:meta])* $arm:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$arm_doc])* $arm),* }

        impl $name {
            const POSITIONS: &[Self] = &[$(Self::$arm),*];
        }
    };
}

macro_rules! switches {
    ($($(#[$doc:meta])* $field:ident: $kind:ident,)*) => {
        /// What is settled differently by different tests where the real platform is unsure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Switches {
            $($(#[$doc])* pub $field: $kind,)*
            /// For how long a message may be edited, in seconds; `None`: for ever.
            pub edit_window_s: Option<u64>,
            /// For how long a message may be recalled by its bot, in seconds; `None`: for ever.
            pub recall_window_s: Option<u64>,
        }

        impl Switches {
            /// How many sets of positions [`Switches::in_position`] tells apart.
            pub const POSITIONS: usize = {
                let mut most = 0;
                $(if $kind::POSITIONS.len() > most { most = $kind::POSITIONS.len(); })*
                most
            };

            /// Every switch in its position of that number, counted from 0 and around. Position 0
            /// is the default; all of them together show each switch in each position.
            pub fn in_position(number: usize) -> Self {
                let around = |positions: usize| number % positions;
                Self {
                    $($field: $kind::POSITIONS
                        .get(around($kind::POSITIONS.len()))
                        .copied()
                        .unwrap_or_default(),)*
                    edit_window_s: None,
                    recall_window_s: Some(24 * 60 * 60),
                }
            }
        }
    };
}

impl Default for Switches {
    fn default() -> Self {
        Self::in_position(0)
    }
}

switches! {
    /// How the repeat of a `uuid` is answered.
    uuid_repeat: UuidRepeat,
    /// Among which calls a `uuid` must be unique.
    uuid_scope: UuidScope,
    /// Whether a retried push keeps its event id.
    retry_event_id: RetryEventId,
    /// Whether a retried push is signed again.
    retry_signature: RetrySignature,
    /// Whether rate limits are enforced (5/s per group, person and changed message, 50/s and
    /// 1000/min per API and app).
    rate_limits: RateLimits,
    /// Whether an app is told of the reactions it made itself.
    own_reactions: OwnReactions,
    /// The HTTP status of refusals.
    error_status: ErrorStatus,
    /// Whether @all wakes an app that hears of mentions only.
    at_all_delivery: AtAllDelivery,
    /// How @all stands in `mentions`.
    at_all_entry: AtAllEntry,
    /// What a bot is called as a sender.
    bot_sender: BotSender,
    /// How card callbacks of the first generation come where the app has an encrypt key.
    first_cards: FirstCards,
    /// Whether what the messages of a merged forward carry can be downloaded by the forward's id.
    forward_resources: ForwardResources,
    /// When an event that a long connection did not take comes again.
    socket_retries: SocketRetries,
    /// Whether an acknowledgement with another code than 200 and 500 counts.
    socket_acks: SocketAcks,
    /// As what a press comes over the long connection.
    press_frames: PressFrames,
    /// Whether the platform ends long connections by itself.
    socket_end: SocketEnd,
    /// From which size on the platform cuts what it sends over a long connection.
    fragment_size: FragmentSize,
    /// What a pong carries.
    pong_payload: PongPayload,
    /// Whether the limit of ten changes a second holds for a card entity that is streaming.
    card_rate: CardRate,
    /// How a text is answered that comes after a stream has closed itself.
    late_stream: LateStream,
    /// How the repeat of a `uuid` on a card entity is answered.
    card_uuid_repeat: CardUuidRepeat,
    /// Whether a new card in the place of an entity's decides about streaming.
    full_update: FullUpdate,
    /// What becomes of a card in the answer to a press while the pressed one is streaming.
    streaming_answers: StreamingAnswers,
    /// What the limit of Markdown tables counts.
    markdown_tables: MarkdownTables,
    /// What becomes of a delayed update that comes before the answer to the press.
    early_updates: EarlyUpdates,
    /// Whether a card can be changed by calls while a press of it waits for its answer.
    pressed_cards: PressedCards,
}

switch!(
    /// How the repeat of a `uuid` is answered (section 11, question 4).
    UuidRepeat {
        /// With the first message, as a success.
        #[default]
        First,
        /// With an error (230001).
        Error,
    }
);
switch!(
    /// Among which calls a `uuid` must be unique (section 11, question 4).
    UuidScope {
        /// All of the app's.
        #[default]
        App,
        /// The app's into one chat.
        Chat,
        /// The app's of one endpoint: create and reply do not know each other's.
        Endpoint,
    }
);
switch!(
    /// Whether a retried push keeps its event id (section 11, question 2).
    RetryEventId {
        /// It does.
        #[default]
        Same,
        /// Each try has its own.
        New,
    }
);
switch!(
    /// Whether a retried push is signed again (section 11, question 2). With a new event id it
    /// always is.
    RetrySignature {
        /// New time stamp, nonce, vector and signature.
        #[default]
        Fresh,
        /// Exactly the bytes and headers of the first try.
        Old,
    }
);
switch!(
    /// Whether rate limits are enforced.
    RateLimits {
        /// They are not.
        #[default]
        Off,
        /// They are.
        On,
    }
);
switch!(
    /// Whether an app is told of its own reactions.
    OwnReactions {
        /// It is not.
        #[default]
        Silent,
        /// It is, as the real platform does for apps that subscribe to reactions.
        Pushed,
    }
);
switch!(
    /// The HTTP status of refusals (section 11, question 9).
    ErrorStatus {
        /// 400, 404 and 429, as the documents say of most.
        #[default]
        Documented,
        /// 200 with a code other than 0, as some endpoints do.
        Ok,
    }
);
switch!(
    /// Whether @all wakes an app that hears of mentions only (section 11, question 8).
    AtAllDelivery {
        /// It does not.
        #[default]
        Kept,
        /// It does.
        Pushed,
    }
);
switch!(
    /// How @all stands in `mentions` (section 11, question 8).
    AtAllEntry {
        /// Not at all.
        #[default]
        Absent,
        /// Under the key `@_all`, with empty ids.
        Key,
        /// Under the key `@_all`, its id being the word `all`.
        Word,
    }
);
switch!(
    /// What a bot is called as the sender of a pushed message (section 2.1).
    BotSender {
        /// `bot`, as the document of the event says.
        #[default]
        Bot,
        /// `app`, as the history says.
        App,
    }
);

switch!(
    /// How card callbacks of the first generation come where the app has an encrypt key
    /// (section 11, question 7).
    FirstCards {
        /// As they are, signed with the verification token.
        #[default]
        Plain,
        /// Encrypted, signed with the verification token.
        Encrypted,
        /// Encrypted and signed like events.
        AsEvents,
    }
);

switch!(
    /// Whether what the messages of a merged forward carry can be downloaded (section 5.1).
    ForwardResources {
        /// It cannot, as the documentation says (234043).
        #[default]
        Refused,
        /// It can, by the id of the forward.
        Served,
    }
);

switch!(
    /// When an event that a long connection did not take comes again (section 11, question 2).
    SocketRetries {
        /// As one that was posted.
        #[default]
        Ladder,
        /// Much sooner.
        Quick,
        /// As one that was posted, and at once when the app opens a connection.
        OnConnect,
    }
);
switch!(
    /// Whether an acknowledgement with another code than 200 and 500 counts (section 11,
    /// question 2).
    SocketAcks {
        /// It does not: only 200 does.
        #[default]
        Only200,
        /// It does: only 500 does not.
        AllBut500,
    }
);
switch!(
    /// As what a press comes over the long connection (section 3.5).
    PressFrames {
        /// As an event.
        #[default]
        Event,
        /// As a card, which was seen of apps that were not published again.
        Card,
    }
);
switch!(
    /// Whether the platform ends long connections by itself (section 11, question 3).
    SocketEnd {
        /// It does not.
        #[default]
        Never,
        /// When it has heard nothing for a while.
        Idle,
        /// When they are old.
        Rotated,
    }
);
switch!(
    /// From which size on a payload is cut (section 11, question 3).
    FragmentSize {
        /// Never.
        #[default]
        Whole,
        /// Above a kilobyte.
        Kilobyte,
        /// Above a few words.
        Tiny,
    }
);
switch!(
    /// What a pong carries (section 3.4).
    PongPayload {
        /// What the client was told, if it has changed, else nothing.
        #[default]
        Changes,
        /// It always carries it.
        Always,
    }
);
switch!(
    /// Whether ten changes a second are the most also while a card entity is streaming
    /// (section 11, question 5).
    CardRate {
        /// They are.
        #[default]
        Always,
        /// There is no limit meanwhile.
        NotStreaming,
    }
);
switch!(
    /// How a text is answered that comes after a stream has closed itself (section 6.1).
    LateStream {
        /// Refused as late (200850).
        #[default]
        TimedOut,
        /// Refused as if it had been closed by the app (300309).
        Closed,
        /// As a success, without any effect.
        Ignored,
    }
);
switch!(
    /// How the repeat of a `uuid` on a card entity is answered (section 6.1).
    CardUuidRepeat {
        /// As a success; nothing is done again.
        #[default]
        Done,
        /// With an error (200770).
        Conflict,
    }
);
switch!(
    /// Whether a new card in the place of an entity's decides about streaming (section 6.1).
    FullUpdate {
        /// As its `streaming_mode` says; without one streaming ends.
        #[default]
        Decides,
        /// Streaming goes on, or stays off, as it was.
        Keeps,
    }
);
switch!(
    /// What becomes of a card in the answer to a press while the pressed one is streaming
    /// (section 6.1).
    StreamingAnswers {
        /// Nothing; whoever pressed sees the toast.
        #[default]
        Ignored,
        /// Whoever pressed sees an error (200810).
        Error,
    }
);
switch!(
    /// What the limit of Markdown tables counts (section 11, question 5).
    MarkdownTables {
        /// Three in a whole card, as was measured.
        #[default]
        Card,
        /// Four in each component, as the documents say.
        Component,
    }
);
switch!(
    /// What becomes of a delayed update that comes before the answer to the press (section 1.7).
    EarlyUpdates {
        /// It is refused.
        #[default]
        Refused,
        /// It is answered as a success, and the card is as before.
        Undone,
    }
);
switch!(
    /// Whether a card can be changed by calls while a press of it waits for its answer
    /// (sections 5.4 and 6.1).
    PressedCards {
        /// It can.
        #[default]
        Free,
        /// It cannot (200810; for a message's card 230099 with 11310).
        Locked,
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_positions_together_show_every_switch_in_every_position() {
        assert_eq!(Switches::POSITIONS, 3);
        let all: Vec<Switches> = (0..Switches::POSITIONS).map(Switches::in_position).collect();
        for scope in UuidScope::POSITIONS {
            assert!(all.iter().any(|switches| switches.uuid_scope == *scope));
        }
        for status in ErrorStatus::POSITIONS {
            assert!(all.iter().any(|switches| switches.error_status == *status));
        }
        assert_eq!(Switches::in_position(0), Switches::default());
    }
}

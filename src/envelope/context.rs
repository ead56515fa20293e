//! What stands beside a question: quoted, forwarded, sent along. Each piece keeps whose it is.

use serde::{Deserialize, Serialize};

/// Whose words a text is. It decides how far what a run holds may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The bot's, or the daemon's.
    Own,
    /// Of the person who asks.
    Requester,
    /// Of somebody else of the same organisation.
    Member,
    /// From anywhere else: files, forwards, other organisations, other bots.
    Outside,
}

impl Trust {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Requester => "requester",
            Self::Member => "member",
            Self::Outside => "outside",
        }
    }
}

/// What a piece of context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextKind {
    /// The message that is quoted.
    Quote,
    /// The first message of the thread.
    ThreadRoot,
    /// Messages of another conversation.
    Forward,
    /// The text of a file.
    File,
    /// A picture.
    Image,
    /// Speech or music.
    Audio,
    /// A film.
    Video,
}

impl ContextKind {
    /// What it is called.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Quote => "quoted message",
            Self::ThreadRoot => "first message of the thread",
            Self::Forward => "forwarded messages",
            Self::File => "file",
            Self::Image => "image",
            Self::Audio => "voice message",
            Self::Video => "video",
        }
    }
}

/// One piece of context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// What it is.
    pub kind: ContextKind,
    /// Whose words it holds.
    pub trust: Trust,
    /// The person or the file it comes from, in a few words; may be empty.
    pub from: String,
    /// The text, or a mark in brackets that says why there is none.
    pub text: String,
}

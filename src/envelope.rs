//! The neutral message, and the ports through which channels, gateway and engine meet.
//!
//! A channel turns a foreign event into an [`AgentMessage`] and hands it to an [`Inlet`]; the
//! gateway hands answers to an [`Outlet`]. Neither knows the other. Everything that starts work
//! enters as an [`AgentMessage`], schedules and webhooks too. No I/O here.

mod card;
mod context;
mod draft;
mod failures;
mod jobs;
mod link;
mod message;
mod origin;
mod path;
mod place;
mod ports;
mod press;
mod reply;

pub use card::{Block, ButtonPress, Card, CardStamp};
pub use context::{Context, ContextKind, Trust};
pub use draft::{Draft, Growing};
pub use failures::{FailedPage, FailedTurn, Failures, ReplayError, Replayed};
pub use jobs::{JobLine, Jobs};
pub use link::{Link, LinkState, Links};
pub use message::{
    AgentMessage, Attachment, AttachmentKind, Channel, Exchange, Mention, Part, Sender, SenderKind,
    Session, Speaker,
};
pub use origin::{Addressing, ChatKind, DedupKey, Incoming, Meeting, News, Notice, Relation};
pub use path::{MessagePath, PathKind, PathStep};
pub use place::InPlace;
pub use ports::{
    Arrival, Control, Errand, ErrandKind, Fact, Forwarded, Hit, Ide, IdeTask, Inlet, InletError,
    Knowledge, KnowledgeError, LookedUp, Lookup, LookupError, Memory, MemoryError, MemoryScope,
    People, Quoted, Recipe, RecipeMark, Remembered, Resource, ResourceError, Submitted, Why,
};
pub use press::{Button, GenuineButton, Press, PressReply, Pressed, Tone};
pub use reply::{
    Certainty, DeliverError, Delivered, Delivery, Destination, Form, Operation, Outlet, Reaction,
    ReplyError, ReplyFn, ReplySink, Thread,
};

//! Placeholders for the message types that are not text.

use serde_json::Value;

use super::{Rendered, one_line};
use crate::envelope::{Attachment, AttachmentKind};

/// The longest name in a placeholder, in characters.
const NAME_CHARS_MAX: usize = 120;

/// How a message type is named, which member of its content says more, and what it carries.
#[derive(Clone, Copy)]
struct Kind {
    message_type: &'static str,
    name: &'static str,
    detail: &'static str,
    attachment: Option<(AttachmentKind, &'static str)>,
}

const fn kind(message_type: &'static str, name: &'static str, detail: &'static str) -> Kind {
    Kind { message_type, name, detail, attachment: None }
}

const fn carrier(kind: Kind, attachment: AttachmentKind, key: &'static str) -> Kind {
    Kind { attachment: Some((attachment, key)), ..kind }
}

/// The platform's message types besides text and post. Folders cannot be downloaded, so they
/// carry nothing.
const KINDS: [Kind; 20] = [
    carrier(kind("image", "image", ""), AttachmentKind::Image, "image_key"),
    carrier(kind("file", "file", "file_name"), AttachmentKind::File, "file_key"),
    kind("folder", "folder", "file_name"),
    carrier(kind("audio", "voice message", ""), AttachmentKind::Audio, "file_key"),
    carrier(kind("media", "video", "file_name"), AttachmentKind::Video, "file_key"),
    carrier(kind("sticker", "sticker", ""), AttachmentKind::Sticker, "file_key"),
    kind("interactive", "card", "title"),
    kind("hongbao", "red packet", "text"),
    kind("share_calendar_event", "calendar event", "summary"),
    kind("calendar", "calendar invitation", "summary"),
    kind("general_calendar", "calendar event", "summary"),
    kind("share_chat", "shared group", "chat_id"),
    kind("share_user", "shared contact", "user_id"),
    kind("system", "system message", "template"),
    kind("location", "location", "name"),
    kind("video_chat", "video meeting", "topic"),
    kind("todo", "task", "task_id"),
    kind("vote", "vote", "topic"),
    // What it holds is found by the message's own id.
    carrier(kind("merge_forward", "forwarded messages", ""), AttachmentKind::Forward, ""),
    kind("post", "rich text", ""),
];

pub(super) fn render(message_type: &str, content: &Value) -> Rendered {
    let Some(kind) = KINDS.iter().find(|kind| kind.message_type == message_type) else {
        let name = one_line(message_type, NAME_CHARS_MAX);
        return Rendered { text: format!("[unsupported message: {name}]"), ..Rendered::default() };
    };
    let field = |name: &str| content.get(name).and_then(Value::as_str).unwrap_or("");
    let detail = one_line(field(kind.detail), NAME_CHARS_MAX);
    let text = if detail.is_empty() {
        format!("[{}]", kind.name)
    } else {
        format!("[{}: {detail}]", kind.name)
    };
    let attachments = kind
        .attachment
        .into_iter()
        .filter(|(_, key)| key.is_empty() || !field(key).is_empty())
        .map(|(kind, key)| Attachment {
            name: Some(field("file_name")).filter(|name| !name.is_empty()).map(str::to_owned),
            ..Attachment::of(kind, field(key))
        })
        .collect::<Vec<_>>();
    let only_attachments = attachments.iter().any(|attachment| attachment.kind.can_wait());
    Rendered { text, attachments, only_attachments, ..Rendered::default() }
}

//! From what was found to what the engine is given. Pure.

use std::collections::HashMap;

use super::Beside;
use crate::base::{AboutFiles, Locale, Say, UserId, limit};
use crate::envelope::{
    AgentMessage, Attachment, AttachmentKind, Context, ContextKind, Forwarded, Mention, Quoted,
    ResourceError, Trust,
};

/// Of a quoted message at most this many characters are given on.
const QUOTE_CHARS_MAX: usize = 4000;
/// Of a merged forward.
const FORWARD_CHARS_MAX: usize = 12_000;
/// Of one message of a merged forward.
const FORWARDED_CHARS_MAX: usize = 2000;
/// Of a file.
const FILE_CHARS_MAX: usize = 20_000;
/// Of everything together.
const CONTEXT_CHARS_MAX: usize = 40_000;
/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 120;
/// At most this many attachments are looked at, forwarded ones included.
const ATTACHMENTS_MAX: usize = 20;

/// A message that the question refers to.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) kind: ContextKind,
    /// The message, or why there is none.
    pub(super) outcome: Result<Quoted, String>,
}

/// Something that was sent along, after the try to open it.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) attachment: Attachment,
    pub(super) file: OpenedFile,
}

/// What came of opening it.
#[derive(Debug)]
pub(super) enum OpenedFile {
    /// Its text, or the beginning of it.
    Text { text: String, is_cut: bool },
    /// It holds no text.
    Binary { length: Option<u64> },
    /// It could not be fetched.
    Failed(ResourceError),
    /// Nobody tried: there are too many.
    TooMany,
    /// Nobody tried: it is no file.
    NoText,
}

/// What was sent along with the message and with what it refers to, once each, in order.
pub(super) fn attachments(message: &AgentMessage, fetched: &[Fetched]) -> Vec<Attachment> {
    let quoted = fetched.iter().filter_map(|fetched| fetched.outcome.as_ref().ok());
    let referred = quoted.flat_map(|quoted| {
        let forwarded = quoted.forwarded.iter().flat_map(|line| &line.attachments);
        quoted.attachments.iter().chain(forwarded)
    });
    let mut found: Vec<Attachment> = Vec::new();
    for attachment in message.attachments.iter().chain(referred) {
        let is_known = found.iter().any(|known| known.key == attachment.key);
        if context_kind(attachment.kind).is_some() && !is_known {
            found.push(attachment.clone());
        }
    }
    found.truncate(ATTACHMENTS_MAX);
    found
}

/// Who is to be called by a name that nobody has told yet.
pub(super) fn nameless(message: &AgentMessage, fetched: &[Fetched]) -> Vec<UserId> {
    let quoted = fetched.iter().filter_map(|fetched| fetched.outcome.as_ref().ok());
    let senders = quoted.flat_map(|quoted| {
        let own = quoted.sender.as_ref().filter(|_| !quoted.own && quoted.is_person);
        own.into_iter().chain(quoted.forwarded.iter().filter_map(|line| line.sender.as_ref()))
    });
    let mentioned = message.mentions.iter().filter_map(Mention::unnamed);
    let mut people: Vec<UserId> = Vec::new();
    for person in mentioned.chain(senders) {
        if told_name(message, person).is_none() && !people.contains(person) {
            people.push(person.clone());
        }
    }
    people
}

/// The name of a person as the message itself tells it.
fn told_name<'a>(message: &'a AgentMessage, person: &UserId) -> Option<&'a str> {
    let is_named =
        |mention: &&Mention| mention.id.as_ref() == Some(person) && mention.unnamed().is_none();
    let mention = message.mentions.iter().find(is_named);
    let sender = &message.sender;
    let own = sender.display_name.as_deref().filter(|_| sender.id == *person);
    own.or(mention.map(|mention| mention.name.as_str()))
}

/// Everything that the engine and the person are told.
pub(super) fn beside(
    message: &AgentMessage,
    fetched: &[Fetched],
    opened: &[Opened],
    names: &HashMap<UserId, String>,
    locale: Locale,
) -> Beside {
    let call = |person: &UserId| {
        let told = told_name(message, person).or_else(|| names.get(person).map(String::as_str));
        told.unwrap_or(person.as_str()).to_owned()
    };
    let mut context = Vec::new();
    for fetched in fetched {
        context.extend(of_message(message, fetched, &call));
    }
    context.extend(opened.iter().filter_map(of_attachment));
    bound(&mut context);
    let mut question = message.content.clone();
    for person in message.mentions.iter().filter_map(Mention::unnamed) {
        question = question.replace(&format!("@{person}"), &format!("@{}", call(person)));
    }
    Beside { question, context, notice: notice(opened, locale) }
}

fn of_message(
    message: &AgentMessage,
    fetched: &Fetched,
    call: &impl Fn(&UserId) -> String,
) -> Vec<Context> {
    let kind = fetched.kind;
    let quoted = match &fetched.outcome {
        Ok(quoted) => quoted,
        Err(reason) => {
            let text = format!("[it cannot be read: {reason}]");
            return vec![Context { kind, trust: Trust::Own, from: String::new(), text }];
        }
    };
    let mut pieces = Vec::new();
    if kind != ContextKind::Forward {
        let from = match &quoted.sender {
            _ if quoted.own => "you".to_owned(),
            Some(sender) => call(sender),
            None => String::new(),
        };
        let text = cut(&quoted.text, QUOTE_CHARS_MAX);
        pieces.push(Context { kind, trust: trust(message, quoted), from, text });
    }
    if !quoted.forwarded.is_empty() {
        let text = cut(&forward(quoted, call), FORWARD_CHARS_MAX);
        let (kind, trust) = (ContextKind::Forward, Trust::Outside);
        pieces.push(Context { kind, trust, from: String::new(), text });
    }
    pieces
}

/// Whose words a quoted message is, to the one who asks.
fn trust(message: &AgentMessage, quoted: &Quoted) -> Trust {
    let tenant = message.tenant.as_deref();
    if quoted.own {
        Trust::Own
    } else if !quoted.forwarded.is_empty() {
        Trust::Outside
    } else if quoted.sender.as_ref() == Some(&message.sender.id) {
        Trust::Requester
    } else if quoted.is_person && tenant.is_some() && quoted.tenant.as_deref() == tenant {
        Trust::Member
    } else {
        Trust::Outside
    }
}

/// One line a message, those of inner forwards set in.
fn forward(quoted: &Quoted, call: &impl Fn(&UserId) -> String) -> String {
    let line = |line: &Forwarded| {
        let indent = "    ".repeat(line.depth);
        let name = line.sender.as_ref().map_or_else(|| "?".to_owned(), call);
        let name = limit::one_line(&name, NAME_CHARS_MAX);
        let text = cut(&line.text, FORWARDED_CHARS_MAX);
        format!("{indent}{name}: {}", text.replace('\n', &format!("\n{indent}")))
    };
    let mut lines: Vec<String> = quoted.forwarded.iter().map(line).collect();
    if quoted.left_out > 0 {
        lines.push(format!("[{} more messages]", quoted.left_out));
    }
    lines.join("\n")
}

const fn context_kind(kind: AttachmentKind) -> Option<ContextKind> {
    match kind {
        AttachmentKind::Image => Some(ContextKind::Image),
        AttachmentKind::File => Some(ContextKind::File),
        AttachmentKind::Audio => Some(ContextKind::Audio),
        AttachmentKind::Video => Some(ContextKind::Video),
        AttachmentKind::Sticker | AttachmentKind::Forward => None,
    }
}

fn of_attachment(opened: &Opened) -> Option<Context> {
    let kind = context_kind(opened.attachment.kind)?;
    let text = match &opened.file {
        OpenedFile::Text { text, is_cut } => {
            let shown = cut(text, FILE_CHARS_MAX);
            let marks_itself = shown.len() != text.len() || !is_cut;
            if marks_itself { shown } else { format!("{shown}\n[cut: the file goes on]") }
        }
        OpenedFile::Binary { length } => match length {
            Some(bytes) => format!("[no text in it; {bytes} bytes]"),
            None => "[no text in it]".to_owned(),
        },
        OpenedFile::Failed(error) => format!("[it could not be downloaded: {}]", error.text),
        OpenedFile::TooMany => "[not opened: too many files]".to_owned(),
        OpenedFile::NoText => "[you can neither see nor hear it; say so if it matters]".to_owned(),
    };
    Some(Context { kind, trust: Trust::Outside, from: file_name(&opened.attachment), text })
}

fn file_name(attachment: &Attachment) -> String {
    limit::one_line(attachment.name.as_deref().unwrap_or_default(), NAME_CHARS_MAX)
}

/// Keeps everything together within its limit; what comes later has less room.
fn bound(context: &mut [Context]) {
    let mut room = CONTEXT_CHARS_MAX;
    for piece in context {
        piece.text = cut(&piece.text, room);
        room = room.saturating_sub(piece.text.chars().count());
    }
}

fn cut(text: &str, chars_max: usize) -> String {
    let kept = limit::prefix_chars(text, chars_max);
    if kept.len() == text.len() {
        return text.to_owned();
    }
    format!("{kept}\n[cut: the whole has {} characters]", text.chars().count())
}

/// What the person should know about what they sent.
fn notice(opened: &[Opened], locale: Locale) -> String {
    let mut lines: Vec<String> = Vec::new();
    for opened in opened {
        let name = file_name(&opened.attachment);
        let about = match &opened.file {
            OpenedFile::Failed(error) => AboutFiles::NotRead { name, code: error.code },
            OpenedFile::NoText => AboutFiles::CannotPerceive,
            OpenedFile::TooMany => AboutFiles::NotOpened { name },
            OpenedFile::Text { .. } | OpenedFile::Binary { .. } => continue,
        };
        let line = Say::AboutFiles(about).text(locale);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod tests;

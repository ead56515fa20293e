//! Rich text as it is received: a title and paragraphs of nodes.

use serde_json::Value;

use super::mention::{KEY_ALL, NAME_ALL, Named};
use super::{Rendered, one_line, trim, trim_address};
use crate::base::UserId;
use crate::envelope::{Attachment, AttachmentKind};

/// The longest name of a node type or emoji in a placeholder, in characters.
const TAG_CHARS_MAX: usize = 40;
/// The longest name of a file in a placeholder, in characters.
const NAME_CHARS_MAX: usize = 120;

struct Post<'a> {
    named: &'a [Named],
    own: Option<&'a UserId>,
    rendered: Rendered,
    /// The bot's mention stands in front of everything else.
    addressed: bool,
    /// Something besides attachments was said.
    has_words: bool,
}

pub(super) fn render(content: &Value, named: &[Named], own: Option<&UserId>) -> Rendered {
    let body = unlocalised(content);
    let rendered = Rendered::default();
    let mut post = Post { named, own, rendered, addressed: false, has_words: false };
    let title = body.get("title").and_then(Value::as_str).unwrap_or("");
    if !title.is_empty() {
        post.push(title);
        post.rendered.text.push_str("\n\n");
    }
    for (index, paragraph) in paragraphs(body).into_iter().enumerate() {
        if index > 0 {
            post.rendered.text.push('\n');
        }
        for node in paragraph {
            post.node(node);
        }
    }
    for file in body.get("files").and_then(Value::as_array).into_iter().flatten() {
        post.file(file);
    }
    if post.addressed {
        post.rendered.text = trim_address(&post.rendered.text).to_owned();
    }
    post.rendered.only_attachments = !post.has_words && !post.rendered.attachments.is_empty();
    post.rendered
}

/// The nodes of each paragraph. Some senders leave the paragraphs out and list the nodes alone.
fn paragraphs(body: &Value) -> Vec<&[Value]> {
    let content = body.get("content").and_then(Value::as_array).map(Vec::as_slice);
    let content = content.unwrap_or_default();
    let by_shape = |left: &Value, right: &Value| left.is_object() && right.is_object();
    let mut paragraphs = Vec::new();
    for run in content.chunk_by(by_shape) {
        match run {
            [Value::Array(nodes)] => paragraphs.push(nodes.as_slice()),
            nodes => paragraphs.push(nodes),
        }
    }
    paragraphs
}

/// Received posts have no language level, sent ones do; both are understood.
fn unlocalised(content: &Value) -> &Value {
    if content.get("content").is_some() || content.get("title").is_some() {
        return content;
    }
    let languages = || content.as_object().into_iter().flat_map(|map| map.values());
    content
        .get("zh_cn")
        .or_else(|| languages().find(|value| value.get("content").is_some()))
        .unwrap_or(content)
}

impl Post<'_> {
    fn node(&mut self, node: &Value) {
        let field = |name: &str| node.get(name).and_then(Value::as_str).unwrap_or("");
        match field("tag") {
            "text" if node.get("un_escape").and_then(Value::as_bool) == Some(true) => {
                self.push(&unescape(field("text")));
            }
            "text" | "md" => self.push(field("text")),
            "a" => self.link(field("text"), field("href")),
            "at" => self.at(field("user_id"), field("user_name")),
            "img" => self.attach("[image]", AttachmentKind::Image, field("image_key")),
            "media" => self.attach("[video]", AttachmentKind::Video, field("file_key")),
            "emotion" => {
                let emoji = one_line(field("emoji_type"), TAG_CHARS_MAX);
                self.push(&format!("[{emoji}]"));
            }
            "hr" => self.push("---"),
            "code_block" => {
                let language = one_line(field("language"), TAG_CHARS_MAX).to_lowercase();
                self.push(&fenced(&language, field("text")));
            }
            // A node of a kind that is not known yet: its text, else its name.
            other => {
                let text = field("text");
                if text.is_empty() {
                    self.push(&format!("[{}]", one_line(other, TAG_CHARS_MAX)));
                } else {
                    self.push(text);
                }
            }
        }
    }

    fn push(&mut self, text: &str) {
        self.has_words |= !trim(text).is_empty();
        self.rendered.text.push_str(text);
    }

    fn link(&mut self, text: &str, href: &str) {
        if text.is_empty() || text == href {
            self.push(href);
        } else {
            self.push(&format!("[{text}]({href})"));
        }
    }

    fn at(&mut self, key: &str, name: &str) {
        if key == KEY_ALL || key == "all" {
            self.rendered.mentions_all = true;
            self.push(NAME_ALL);
        } else if let Some(named) = self.named.iter().find(|named| named.key == key) {
            self.addressed |= named.is(self.own) && trim(&self.rendered.text).is_empty();
            // Of the own mention nothing is shown, so it is no word either.
            let shown = named.shown(self.own);
            self.push(&shown);
        } else {
            let shown = if name.is_empty() { key } else { name };
            self.push(&format!("@{}", one_line(shown, TAG_CHARS_MAX)));
        }
    }

    fn attach(&mut self, placeholder: &str, kind: AttachmentKind, key: &str) {
        self.rendered.text.push_str(placeholder);
        if !key.is_empty() {
            self.rendered.attachments.push(Attachment::of(kind, key));
        }
    }

    /// An entry of the list of files that stands beside the paragraphs. A folder cannot be
    /// downloaded: it is named, no more.
    fn file(&mut self, file: &Value) {
        let field = |name: &str| file.get(name).and_then(Value::as_str).unwrap_or("");
        let name = one_line(field("file_name"), NAME_CHARS_MAX);
        if !trim(&self.rendered.text).is_empty() {
            self.rendered.text.push('\n');
        }
        if file.get("is_folder").and_then(Value::as_bool) == Some(true) {
            self.push(&format!("[folder: {name}]"));
            return;
        }
        self.rendered.text.push_str(&format!("[file: {name}]"));
        if !field("file_key").is_empty() {
            let name = Some(field("file_name").to_owned()).filter(|name| !name.is_empty());
            let file =
                Attachment { name, ..Attachment::of(AttachmentKind::File, field("file_key")) };
            self.rendered.attachments.push(file);
        }
    }
}

/// A fenced block whose fence is longer than any inside the code.
fn fenced(language: &str, code: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    let code = code.trim_end_matches('\n');
    format!("{fence}{language}\n{code}\n{fence}")
}

/// Undoes the escaping that a node with `un_escape` announces.
fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&nbsp;", " ")
        .replace("&amp;", "&")
}

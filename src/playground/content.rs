//! The content of a message to send: strict reading, and its translation to the received form.
//!
//! What a bot sends is not what others receive: `<at user_id="ou_…">` becomes `@_user_1` with an
//! entry in `mentions`, a post loses its language level, an `md` node comes back as text.
//! Style tags of text (`<b>`, `<i>`, …) are passed through unchanged.

use serde_json::{Map, Value, json};

use super::card::{self, Author};
use super::refusal::Refusal;
use super::world::{Chat, Mention, World};

const LANGUAGES: [&str; 14] = [
    "zh_cn", "zh_hk", "zh_tw", "en_us", "ja_jp", "ko_kr", "de_de", "fr_fr", "es_es", "it_it",
    "pt_br", "ru_ru", "th_th", "vi_vn",
];
const STYLES: [&str; 4] = ["bold", "underline", "lineThrough", "italic"];

/// Content in the received form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Received {
    pub(crate) content: String,
    pub(crate) mentions: Vec<Mention>,
    pub(crate) mentions_all: bool,
    /// The card as it was sent.
    pub(crate) card: Option<Value>,
    /// The entity that it is made of.
    pub(crate) card_id: Option<String>,
}

/// Reads the `content` of a send, reply or edit into `chat`.
pub(crate) fn read(
    author: Author<'_>,
    chat: &Chat,
    msg_type: &str,
    content: &str,
) -> Result<Received, Refusal> {
    if msg_type == "interactive" {
        let card = card::parse(content).map_err(|flaw| flaw.in_message())?;
        if matches!(card.get("type").and_then(Value::as_str), Some("template" | "card")) {
            return Err(Refusal::parameter(
                "templates are not simulated, and entities cannot be here",
            ));
        }
        card::check(author, &card).map_err(|flaw| flaw.in_message())?;
        return Ok(read_card(card));
    }
    let world = author.world;
    let value: Value = serde_json::from_str(content).map_err(|error| {
        Refusal::parameter(format!("content is not a string in json format: {error}"))
    })?;
    let Value::Object(object) = value else {
        return Err(Refusal::parameter("content is not a JSON object"));
    };
    let mut reader = Reader { author, world, chat, mentions: Vec::new(), mentions_all: false };
    let content = match msg_type {
        "text" => reader.text(&object)?,
        "post" => reader.post(&object)?,
        "image" | "file" | "audio" | "media" => reader.upload(msg_type, &object)?,
        other => {
            let known = ["sticker", "share_chat", "share_user"];
            return Err(Refusal::parameter(if known.contains(&other) {
                format!("msg_type {other} is not simulated by this playground")
            } else {
                format!("invalid msg_type {other}")
            }));
        }
    };
    Ok(Received {
        content: content.to_string(),
        mentions: reader.mentions,
        mentions_all: reader.mentions_all,
        card: None,
        card_id: None,
    })
}

/// A card in the received form.
pub(crate) fn read_card(card: Value) -> Received {
    Received {
        content: card::flattened(&card).to_string(),
        mentions: Vec::new(),
        mentions_all: mentions_all(&card),
        card: Some(card),
        card_id: None,
    }
}

/// Whether a card mentions everyone, also where it would stand in code: nobody should rely on that.
pub(crate) fn mentions_all(card: &Value) -> bool {
    // As an element's text has it, the id may be in quotation marks.
    card.to_string().replace(['\\', '"', '\''], "").contains("<at id=all>")
}

struct Reader<'world> {
    author: Author<'world>,
    world: &'world World,
    chat: &'world Chat,
    mentions: Vec<Mention>,
    mentions_all: bool,
}

impl Reader<'_> {
    fn text(&mut self, object: &Map<String, Value>) -> Result<Value, Refusal> {
        let Some(Value::String(text)) = object.get("text") else {
            return Err(Refusal::parameter("content has no string `text`"));
        };
        if text.is_empty() {
            return Err(Refusal::parameter("text is empty"));
        }
        Ok(json!({"text": self.at_tags(text)}))
    }

    /// Replaces every whole `<at user_id="…">…</at>`; anything broken goes out as it stands.
    fn at_tags(&mut self, text: &str) -> String {
        const OPEN: &str = "<at user_id=\"";
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPEN) {
            out.push_str(before);
            let whole = after
                .split_once("\">")
                .filter(|(id, _)| !id.contains(['"', '<', '>']))
                .and_then(|(id, tail)| Some((id, tail.split_once("</at>")?.1)));
            let placeholder = whole.and_then(|(id, _)| self.at(id));
            if let (Some((_, tail)), Some(placeholder)) = (whole, placeholder) {
                out.push_str(&placeholder);
                rest = tail;
            } else {
                out.push_str(OPEN);
                rest = after;
            }
        }
        out.push_str(rest);
        out
    }

    /// The placeholder of one mention, recorded; `None` if there is no such person.
    fn at(&mut self, id: &str) -> Option<String> {
        if id == "all" {
            self.mentions_all = true;
            return Some("@_all".to_owned());
        }
        let by_other_id = self
            .world
            .users
            .iter()
            .find(|user| user.union_id == id || user.user_id.as_deref() == Some(id));
        let id = by_other_id.map_or(id, |user| user.open_id.as_str());
        // Aliases are a word of the playground; the platform knows only ids.
        if !id.starts_with("ou_") {
            return None;
        }
        let key = format!("@_user_{}", self.mentions.len() + 1);
        let mention = self.world.mention(&key, id, self.chat)?;
        self.mentions.push(mention);
        Some(key)
    }

    /// Files: their keys must be the app's own, and sent as what they were uploaded as.
    fn upload(&self, msg_type: &str, object: &Map<String, Value>) -> Result<Value, Refusal> {
        let string = |name: &'static str| {
            let text = object.get(name).and_then(Value::as_str);
            text.ok_or_else(|| Refusal::parameter(format!("content has no string `{name}`")))
        };
        if msg_type == "image" {
            let key = string("image_key")?;
            self.own(key, "img_")?;
            return Ok(json!({ "image_key": key }));
        }
        let key = string("file_key")?;
        self.own(key, "file_")?;
        let upload = self.world.uploads.get(key);
        let (kind, file_name) = upload.map_or(("", ""), |upload| (&upload.kind, &upload.file_name));
        let wanted = match kind {
            "opus" => "audio",
            "mp4" => "media",
            _ => "file",
        };
        if wanted != msg_type {
            return Err(Refusal::new(230_055, "The type of file upload does not match msg_type."));
        }
        Ok(match msg_type {
            "file" => json!({"file_key": key, "file_name": file_name}),
            "audio" => json!({"file_key": key, "duration": 2000}),
            _ => json!({"file_key": key, "file_name": file_name, "duration": 2000,
                "image_key": object.get("image_key").and_then(Value::as_str).unwrap_or_default()}),
        })
    }

    fn own(&self, key: &str, prefix: &str) -> Result<(), Refusal> {
        match self.author.owns(key).filter(|_| key.starts_with(prefix)) {
            Some(true) => Ok(()),
            Some(false) => Err(Refusal::new(230_017, "Bot is NOT the owner of the resource.")),
            None => Err(Refusal::parameter(format!("there is no key {key}"))),
        }
    }

    fn post(&mut self, object: &Map<String, Value>) -> Result<Value, Refusal> {
        // Some clients still wrap the languages once more, as custom bots must.
        let Some((_, body)) = object.iter().find(|(key, _)| LANGUAGES.contains(&key.as_str()))
        else {
            return Err(Refusal::parameter("post has no language level such as zh_cn"));
        };
        if let Some(stray) = object.keys().find(|key| !LANGUAGES.contains(&key.as_str())) {
            return Err(Refusal::parameter(format!("post has an unknown language `{stray}`")));
        }
        let title = match body.get("title") {
            None => "",
            Some(Value::String(title)) => title,
            Some(_) => return Err(Refusal::parameter("post title is not a string")),
        };
        let Some(Value::Array(paragraphs)) = body.get("content") else {
            return Err(Refusal::parameter("post content is not an array of paragraphs"));
        };
        if paragraphs.is_empty() {
            return Err(Refusal::parameter("post content is empty"));
        }
        let mut received = Vec::with_capacity(paragraphs.len());
        for paragraph in paragraphs {
            received.push(self.paragraph(paragraph)?);
        }
        Ok(json!({"title": title, "content": received}))
    }

    fn paragraph(&mut self, paragraph: &Value) -> Result<Value, Refusal> {
        let Value::Array(nodes) = paragraph else {
            return Err(Refusal::parameter("a post paragraph is not an array"));
        };
        let mut received = Vec::with_capacity(nodes.len());
        for node in nodes {
            let tag = node.get("tag").and_then(Value::as_str).unwrap_or_default();
            if matches!(tag, "img" | "media" | "md" | "hr" | "code_block") && nodes.len() > 1 {
                return Err(Refusal::parameter(format!(
                    "a {tag} node must be alone in its paragraph"
                )));
            }
            received.push(self.node(tag, node)?);
        }
        Ok(Value::Array(received))
    }

    fn node(&mut self, tag: &str, node: &Value) -> Result<Value, Refusal> {
        let string = |name: &str| {
            node.get(name)
                .and_then(Value::as_str)
                .ok_or_else(|| Refusal::parameter(format!("a {tag} node has no string `{name}`")))
        };
        check_style(node)?;
        Ok(match tag {
            "text" => json!({"tag": "text", "text": string("text")?, "style": style_of(node)}),
            "md" => json!({"tag": "text", "text": self.at_tags(string("text")?), "style": []}),
            "a" => {
                json!({"tag": "a", "text": string("text")?, "href": string("href")?, "style": style_of(node)})
            }
            "at" => {
                let id = string("user_id")?;
                let placeholder = self.at(id).ok_or_else(|| {
                    Refusal::parameter(format!("at node names an unknown user {id}"))
                })?;
                let name =
                    self.mentions.last().filter(|_| id != "all").map_or("", |last| &last.name);
                json!({"tag": "at", "user_id": placeholder, "user_name": name, "style": []})
            }
            "img" => {
                let key = string("image_key")?;
                self.own(key, "img_")?;
                json!({"tag": "img", "image_key": key})
            }
            "media" => json!({"tag": "media", "file_key": string("file_key")?}),
            "emotion" => json!({"tag": "emotion", "emoji_type": string("emoji_type")?}),
            "hr" => json!({"tag": "hr"}),
            "code_block" => json!({
                "tag": "code_block",
                "language": node.get("language").and_then(Value::as_str).unwrap_or_default(),
                "text": string("text")?,
            }),
            other => return Err(Refusal::parameter(format!("unknown post tag `{other}`"))),
        })
    }
}

fn style_of(node: &Value) -> Value {
    node.get("style").cloned().unwrap_or_else(|| json!([]))
}

fn check_style(node: &Value) -> Result<(), Refusal> {
    let Some(style) = node.get("style") else {
        return Ok(());
    };
    let known = style.as_array().is_some_and(|styles| {
        styles.iter().all(|style| style.as_str().is_some_and(|style| STYLES.contains(&style)))
    });
    if known {
        return Ok(());
    }
    Err(Refusal::parameter(format!("unknown style {style}")))
}

/// What a person reads: placeholders replaced by names, a post flattened to lines.
pub(crate) fn shown(content: &str, mentions: &[Mention]) -> String {
    let value: Value = serde_json::from_str(content).unwrap_or(Value::Null);
    let mut text = match (value.get("text"), value.get("content")) {
        (Some(Value::String(text)), _) => text.clone(),
        (_, Some(Value::Array(paragraphs))) => {
            let title = value.get("title").and_then(Value::as_str).unwrap_or_default();
            let lines = paragraphs.iter().map(line);
            let title = (!title.is_empty()).then(|| title.to_owned());
            title.into_iter().chain(lines).collect::<Vec<_>>().join("\n")
        }
        _ => content.to_owned(),
    };
    // The longest keys first: `@_user_1` is a prefix of `@_user_10`.
    for mention in mentions.iter().rev() {
        text = text.replace(&mention.key, &format!("@{}", mention.name));
    }
    text
}

fn line(paragraph: &Value) -> String {
    let nodes = paragraph.as_array().map_or(&[][..], Vec::as_slice);
    nodes
        .iter()
        .map(|node| {
            let field = |name| node.get(name).and_then(Value::as_str);
            match field("tag") {
                Some("at") => field("user_id").unwrap_or_default(),
                Some("img") => "[image]",
                Some("hr") => "---",
                _ => field("text").unwrap_or_default(),
            }
        })
        .collect()
}
